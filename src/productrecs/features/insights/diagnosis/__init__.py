"""Data diagnosis: why a store's figures may be wrong, found in its newest records."""
