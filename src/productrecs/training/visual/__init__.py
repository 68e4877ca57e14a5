"""Visual training: turns a store's pictures into a model of visual similarity.

It does not answer shoppers.
"""
