"""Broken variant: processes end the moment they are told to stop."""

from __future__ import annotations

import os

from productrecs.http.transport.server import _Server


def _end(*_: object) -> None:
    os._exit(0)


setattr(_Server, "_on_signal", _end)  # noqa: B010 - the fault itself
setattr(_Server, "_on_parent_message", _end)  # noqa: B010 - the fault itself
