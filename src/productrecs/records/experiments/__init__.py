"""Experiments: holdout tests, which measure what recommendations are worth.

A shopper is in one arm of a test in every process and on every device that is linked.
Assignments are noted in memory and stored in the background; no reply waits for that.
"""
