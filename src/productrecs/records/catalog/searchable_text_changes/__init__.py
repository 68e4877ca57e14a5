"""Changes of the texts that a search index reads."""
