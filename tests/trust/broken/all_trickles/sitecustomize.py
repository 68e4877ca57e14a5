"""A service that takes in every body, however large, and waits for it without end."""

from productrecs.core.memory_budget import ByteBudget
from productrecs.http.transport.connection import HttpConnection

ByteBudget.reserve = lambda *_, **__: None  # type: ignore[method-assign]  # the fault itself
HttpConnection.update_wait_and_check_overdue = lambda *_: False  # type: ignore[method-assign]  # the other
