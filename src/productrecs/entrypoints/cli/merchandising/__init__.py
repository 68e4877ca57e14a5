"""Commands for rules, synonyms and looks."""
