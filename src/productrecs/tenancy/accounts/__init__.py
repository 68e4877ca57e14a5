"""Accounts: a store's domain, keys, allowed origins and settings.

Registers, finds and changes stores. Knows nothing of what a store sells.
"""
