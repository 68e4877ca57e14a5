"""Who, and how much: the stores, their keys, their settings.

Never knows what an item, an event or a recommendation is.
"""
