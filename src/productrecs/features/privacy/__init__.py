"""Privacy requests: export of everything stored about a shopper, and its erasure.

A shopper is a person with all their linked ids. The callers check who may request it.
"""
