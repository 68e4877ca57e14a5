"""Pictures: fetched, decoded in a sandboxed process, described and stored.

Knows nothing of events, orders or HTTP routes.
"""
