"""How does a catalog become a search index? One process writes, any number read.

Never answers a shopper: `features/search` does.
"""
