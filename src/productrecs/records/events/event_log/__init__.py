"""Event log: what training, attribution, tests and relevance read of a log."""
