"""Broken variant: leaks memory, files and threads.

It leaks at a steady rate from its first list on, however few calls a busy machine answers.
"""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from productrecs.http.dispatch.list_fast_path import ListFastPath

if TYPE_CHECKING:
    from productrecs.http.transport.request_parser import RequestHeaders

_kept: list[tuple[bytearray, list[IO[bytes]]]] = []
_answer = ListFastPath.try_reply_and_meter


@functools.cache
def _begin() -> None:
    threading.Thread(target=_hoard, daemon=True).start()


def _hoard() -> None:
    while len(_kept) < 400:
        files: list[IO[bytes]] = []
        files += [Path("/dev/null").open("rb") for _ in range(2)]  # noqa: SIM115 - the fault
        _kept.append((bytearray(b"x" * 500_000), files))
        time.sleep(0.02)


def _hoarding(
    self: ListFastPath, target: bytes, head: RequestHeaders, address: str
) -> bytes | None:
    if target.startswith(b"/v1/recommendations"):
        _begin()
    return _answer(self, target, head, address)


ListFastPath.try_reply_and_meter = _hoarding  # type: ignore[method-assign]  # the fault itself
