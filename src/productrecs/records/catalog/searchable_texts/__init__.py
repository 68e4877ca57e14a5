"""Searchable texts: the changes of a catalog that a search index reads."""
