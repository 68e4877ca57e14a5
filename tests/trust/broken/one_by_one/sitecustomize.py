"""Broken variant: each write waits for the lock by itself."""

from __future__ import annotations

from typing import Any

from productrecs.core.errors import StorageBusyError
from productrecs.storage.sql.group_commit import GroupCommit

_commit = GroupCommit._commit  # noqa: SLF001 - the fault itself


def _hides_why(self: GroupCommit, batch: Any) -> Any:
    try:
        return _commit(self, batch)
    except StorageBusyError as error:
        if len(batch) == 1:
            raise
        raise RuntimeError from error


def _take_none(_self: GroupCommit, _keys: Any, _groups: Any) -> list[Any]:
    return []


setattr(GroupCommit, "_commit", _hides_why)  # noqa: B010 - the fault itself
setattr(GroupCommit, "_take_blocked_writes", _take_none)  # noqa: B010 - the fault itself
