"""Search, as merchants buy it: what a shopper's words find in a store, and in which order.

Never writes an index and never counts: `training/search` and the records do.
"""
