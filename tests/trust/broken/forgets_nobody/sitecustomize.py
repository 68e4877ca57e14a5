"""Broken variant: keeps a little of every list, a slow memory leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.http.dispatch.fast_path import FastPath

if TYPE_CHECKING:
    from productrecs.http.transport.request_parser import RequestHeaders

_kept: list[bytearray] = []
_answer = FastPath.try_reply


def _hoarding(
    self: FastPath, target: bytes, head: RequestHeaders, address: str
) -> bytes | None:
    _kept.append(bytearray(b"x" * 60_000))
    return _answer(self, target, head, address)


FastPath.try_reply = _hoarding  # type: ignore[method-assign]  # the fault itself
