"""Searches: counts by intent and day, without the shoppers' ids.

It has no knowledge of indexes and results: the search feature reports them.
"""
