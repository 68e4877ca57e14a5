"""Experiments: tests of variants, and holdout tests of lists against no lists.

A shopper has the same arm of a test in every process and on every linked device.
Assignments are buffered and stored in the background, so that replies do not wait.
"""
