"""Broken variant: writes before it shows a list, once `broken` is beside its data."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import apsw

from productrecs.http.dispatch.dispatcher import Dispatcher

if TYPE_CHECKING:
    from starlette.types import Receive

    from productrecs.http.dispatch.http_exchange import HttpExchange

_PATIENCE_MS = 1_500
_handle = Dispatcher._admit_and_answer  # noqa: SLF001 - the fault itself


async def _writing(self: Dispatcher, visit: HttpExchange, receive: Receive) -> None:
    assert self._context is not None
    file = self._context.services.settings.database_file
    if file.with_name("broken").exists():
        with contextlib.closing(apsw.Connection(str(file))) as own:
            own.set_busy_timeout(_PATIENCE_MS)
            own.execute("BEGIN IMMEDIATE").fetchall()
            own.execute("ROLLBACK").fetchall()
    await _handle(self, visit, receive)


setattr(Dispatcher, "_admit_and_answer", _writing)  # noqa: B010 - the fault itself
