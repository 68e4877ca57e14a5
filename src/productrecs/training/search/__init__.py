"""Search indexing: one process writes a store's index, any number read it.

Never answers shoppers: `features/search` does.
"""
