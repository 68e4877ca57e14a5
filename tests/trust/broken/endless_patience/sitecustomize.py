"""Broken variant: no timeouts for slow clients."""

from productrecs.http.transport.connection import HttpConnection

HttpConnection.update_wait_and_check_overdue = lambda *_: False  # type: ignore[method-assign]  # the fault itself
