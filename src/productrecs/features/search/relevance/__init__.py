"""Search relevance: how good a store's search is, by queries of its own shoppers.

A query set is taken from the search log, weighted by traffic. Products are judged for its
queries by clicks, purchases and hand. The code that serves search runs the queries, with
the live configuration or with one that is not saved.
"""
