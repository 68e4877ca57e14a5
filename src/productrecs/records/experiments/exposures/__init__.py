"""Exposures: which arm of a test a shopper was shown."""
