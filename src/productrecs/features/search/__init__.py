"""Search for shoppers: finds and ranks the products of a query.

It neither writes an index nor counts searches: `training/search` and `records` do.
"""
