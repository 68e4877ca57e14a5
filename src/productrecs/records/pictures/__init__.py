"""Pictures: fetched, decoded in a sandboxed process, described and stored.

It has no knowledge of events, orders or HTTP routes.
"""
