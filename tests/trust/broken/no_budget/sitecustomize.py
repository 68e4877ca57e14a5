"""Broken variant: no limit on bytes received at once."""

from productrecs.core.memory_budget import ByteBudget

ByteBudget.reserve = lambda *_, **__: None  # type: ignore[method-assign]  # the fault itself
