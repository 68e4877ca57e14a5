"""The store's products: what an item is, pushed, kept and seen.

Knows nothing of events, orders or HTTP.
"""
