"""Searches: counts by intent and day, without the shoppers' ids.

Knows no index and no results: the search feature reports them.
"""
