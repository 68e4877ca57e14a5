"""Privacy requests: export of everything stored about a shopper, and its erasure.

A shopper is a person with all names that lead to them. Who may ask is decided elsewhere.
"""
