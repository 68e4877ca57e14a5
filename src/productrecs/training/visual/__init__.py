"""Visual training: turns a store's pictures into a model of visual similarity.

Never answers shoppers.
"""
