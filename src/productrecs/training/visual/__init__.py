"""How do a store's pictures become a model of what looks alike?

Never answers a shopper.
"""
