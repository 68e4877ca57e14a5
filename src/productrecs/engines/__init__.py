"""Recommendation, search, forecast and image engines: numbers in, numbers out.

Items are dense numbers 0..n_items-1. No engine uses the database, HTTP, the clock or
randomness without a fixed seed, and no engine imports another.
"""
