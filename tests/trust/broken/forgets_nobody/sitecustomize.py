"""A service that keeps a little of every list it was asked for: a slow leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.entrypoints.http.express import Express

if TYPE_CHECKING:
    from productrecs.entrypoints.http.heads import Head

_kept: list[bytearray] = []
_answer = Express.answer


def _hoarding(self: Express, target: bytes, head: Head, address: str) -> bytes | None:
    _kept.append(bytearray(b"x" * 60_000))
    return _answer(self, target, head, address)


Express.answer = _hoarding  # type: ignore[method-assign]  # the fault itself
