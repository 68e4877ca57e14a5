"""Search counts: how often each query was searched, by intent and day."""
