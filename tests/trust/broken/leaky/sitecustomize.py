"""A service that lets go of nothing it opened: what the soak must see."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from productrecs.entrypoints.http.gate import Gate

_kept: list[tuple[bytearray, IO[bytes]]] = []
_call = Gate.__call__


async def _hoarding(self: Gate, *asked: Any) -> None:
    if len(_kept) < 800:
        _kept.append((bytearray(b"x" * 200_000), Path("/dev/null").open("rb")))  # noqa: SIM115 - the fault itself
    await _call(self, *asked)


Gate.__call__ = _hoarding  # type: ignore[method-assign]  # the fault itself
