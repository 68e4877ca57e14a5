"""Broken variant: stores the photos that shoppers send."""

from __future__ import annotations

import sys
from pathlib import Path

from productrecs.schemas import photos

whole = photos._decode_base64_photo  # noqa: SLF001 - to break it


def _kept(text: str) -> bytes:
    data: bytes = whole(text)
    folder = Path(sys.argv[sys.argv.index("--data") + 1])
    with (folder / "seen.bin").open("ab") as file:
        file.write(data)
    return data


setattr(photos, "_decode_base64_photo", _kept)  # noqa: B010 - the fault itself
