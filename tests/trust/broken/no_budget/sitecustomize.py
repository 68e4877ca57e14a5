"""A service that takes in whatever is sent, however much that is."""

from productrecs.storage.byte_budget import ByteBudget

ByteBudget.take = lambda *_, **__: None  # type: ignore[method-assign]  # the fault itself
