"""Holdout tests: what recommendations are worth, in a result valid at any time."""
