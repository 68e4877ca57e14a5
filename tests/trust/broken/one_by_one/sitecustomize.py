"""A service that tries each write of a refused batch again, with a wait of its own."""

from __future__ import annotations

from typing import Any

from productrecs.core.errors import StorageBusyError
from productrecs.storage.group_commit import GroupCommit

_commit = GroupCommit._commit  # noqa: SLF001 - the fault itself


def _hides_why(self: GroupCommit, batch: Any) -> Any:
    try:
        return _commit(self, batch)
    except StorageBusyError as error:
        if len(batch) == 1:
            raise
        raise RuntimeError from error


setattr(GroupCommit, "_commit", _hides_why)  # noqa: B010 - the fault itself
