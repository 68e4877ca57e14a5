"""Holdout tests: measure the effect of recommendations, with always-valid results."""
