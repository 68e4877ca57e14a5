"""Search indexing: one process writes a store's index, any number read it.

Indexing does not answer shoppers: `features/search` does.
"""
