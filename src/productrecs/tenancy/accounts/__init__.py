"""Accounts: a store's domain, keys, allowed origins and settings.

It registers, finds and changes stores. It has no knowledge of a store's products.
"""
