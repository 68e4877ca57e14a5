"""Catalog: a store's products, pushed, stored and read.

It has no knowledge of events, orders or HTTP.
"""
