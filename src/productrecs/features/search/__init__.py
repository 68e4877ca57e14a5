"""Search for shoppers: which products a query finds, and in which order.

It neither writes an index nor counts searches: `training/search` and the records do.
"""
