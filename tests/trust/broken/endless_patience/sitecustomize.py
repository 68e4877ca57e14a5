"""Broken variant: no timeouts for slow clients."""

from productrecs.http.transport.connection import HttpConnection

HttpConnection.is_overdue = lambda *_: False  # type: ignore[method-assign]  # the fault itself
