"""A store and how it proves who it is: domain, keys, origins, settings.

Useful for registering, finding and changing a store. Not for what a store sells.
"""
