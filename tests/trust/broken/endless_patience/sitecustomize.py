"""A service that waits for every client as long as it likes, however slow that is."""

from productrecs.entrypoints.http.transport.connection import HttpConnection

HttpConnection.is_overdue = lambda *_: False  # type: ignore[method-assign]  # the fault itself
