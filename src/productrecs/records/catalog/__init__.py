"""Catalog: a store's products, pushed, stored and read.

Knows nothing of events, orders or HTTP.
"""
