"""A service that lets go of nothing it opened: what the soak must see."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from productrecs.entrypoints.http.dispatch.fast_path import FastPath

if TYPE_CHECKING:
    from productrecs.entrypoints.http.transport.header_cache import RequestHead

_kept: list[tuple[bytearray, list[IO[bytes]]]] = []
_answer = FastPath.answer


def _hoarding(
    self: FastPath, target: bytes, head: RequestHead, address: str
) -> bytes | None:
    if len(_kept) < 800:
        files: list[IO[bytes]] = []
        files += [Path("/dev/null").open("rb") for _ in range(5)]  # noqa: SIM115 - the fault
        _kept.append((bytearray(b"x" * 200_000), files))
    return _answer(self, target, head, address)


FastPath.answer = _hoarding  # type: ignore[method-assign]  # the fault itself
