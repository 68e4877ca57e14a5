"""A believable shop with a year of custom, invented by a seed: for demos and first looks.

It makes plain values in the shapes of the interface and never touches a store: what it
makes goes in through the same doors as any merchant's data. The way in is `store.generate`.
"""
