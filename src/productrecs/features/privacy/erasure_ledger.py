"""Erasure ledger: a file of erased shoppers that survives the restore of a backup.

A backup from before an erasure brings the shopper back. The file `erased.jsonl` in the data
folder is in no backup and no restore replaces it: after a restore, every shopper in it who
is stored again is erased again. It holds digests, as the database does, and no names.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from productrecs.core.ids import StoreId

LEDGER_FILE: Final = "erased.jsonl"


def append_erasure(folder: Path, store_id: StoreId, moments: Mapping[str, int]) -> None:
    """Append erased ids, by digest, with the times of their erasure; durable at return.

    An id may occur several times: the latest counts.

    Raises:
        OSError: when the disk fails.
    """
    lines = [
        json.dumps({"store_id": store_id, "name": name, "erased_at": moment}) + "\n"
        for name, moment in sorted(moments.items())
    ]
    with (folder / LEDGER_FILE).open("a", encoding="utf-8") as file:
        file.write("".join(lines))
        file.flush()
        os.fsync(file.fileno())


def read_erasures(folder: Path) -> dict[StoreId, dict[str, int]]:
    """Return the erasures by store and digest; empty without any.

    An incomplete last line (a crash) is ignored: its erasure was not finished, and
    continues.

    Raises:
        OSError: when the file exists and cannot be read.
    """
    found: dict[StoreId, dict[str, int]] = {}
    try:
        lines = (folder / LEDGER_FILE).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        moments = found.setdefault(StoreId(entry["store_id"]), {})
        name, moment = str(entry["name"]), int(entry["erased_at"])
        moments[name] = max(moment, moments.get(name, moment))
    return found
