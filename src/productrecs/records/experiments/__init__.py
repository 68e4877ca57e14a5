"""Experiments: holdout tests, which measure the effect of recommendations.

A shopper has the same arm of a test in every process and on every linked device.
Assignments are buffered and stored in the background, so that replies do not wait.
"""
