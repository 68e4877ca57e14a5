"""Broken variant: processes read the accounts only once."""

from __future__ import annotations

from productrecs.tenancy.accounts.account_directory import AccountDirectory


def _nothing_new(*_: object) -> bool:
    return False


setattr(AccountDirectory, "refresh", _nothing_new)  # noqa: B010 - the fault itself
