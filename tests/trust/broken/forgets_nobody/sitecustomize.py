"""Broken variant: keeps a little of every list, a slow memory leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.http.dispatch.list_fast_path import ListFastPath

if TYPE_CHECKING:
    from productrecs.http.transport.request_parser import RequestHeaders

_kept: list[bytearray] = []
_answer = ListFastPath.try_reply_and_meter


def _hoarding(
    self: ListFastPath, target: bytes, head: RequestHeaders, address: str
) -> bytes | None:
    _kept.append(bytearray(b"x" * 60_000))
    return _answer(self, target, head, address)


ListFastPath.try_reply_and_meter = _hoarding  # type: ignore[method-assign]  # the fault itself
