"""ProductRecs: recommendations for online stores, self-hosted, many in one process."""

__version__ = "0.1.0"
