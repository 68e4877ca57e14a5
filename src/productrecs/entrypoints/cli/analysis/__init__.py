"""Commands that report, explain and evaluate."""
