"""Demo store: a shop with a year of orders and visits, generated from a seed.

It returns plain values in the shapes of the public interface and never writes to a store:
the demo is imported as any merchant's data is. The entry point is `generator.generate`.
"""
