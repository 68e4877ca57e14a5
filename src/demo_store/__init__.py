"""Demo store: a generated shop with a year of orders and visits, reproducible from its seed.

It returns plain values in the shapes of the public interface and never writes to a store:
the demo is imported as any merchant's data is. The entry point is `generator.generate`.
"""
