"""The store's pictures: fetched, decoded in a child process, described and kept.

Knows nothing of events, orders or HTTP routes.
"""
