"""A service that takes in every body, however large, and waits for it without end."""

from productrecs.http.transport.connection import HttpConnection
from productrecs.storage.memory_budget import ByteBudget

ByteBudget.reserve = lambda *_, **__: None  # type: ignore[method-assign]  # the fault itself
HttpConnection.is_overdue = lambda *_: False  # type: ignore[method-assign]  # the other
