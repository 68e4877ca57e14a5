"""Dispatch: the ASGI dispatcher, its fast path, and the request-response exchange."""
