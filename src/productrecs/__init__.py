"""ProductRecs: recommendations for an online store, self-hosted, many stores in one process."""

__version__ = "0.1.0"
