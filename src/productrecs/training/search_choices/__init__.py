"""What people chose after searches: read from the log, as arrays to learn from.

Knows no index: what a query finds is `training/search`'s business.
"""
