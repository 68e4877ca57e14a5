"""Search choices: what shoppers chose after searches, read from the log as arrays.

Knows no index: `training/search` knows which products a query finds.
"""
