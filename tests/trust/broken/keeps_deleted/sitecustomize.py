"""Broken variant: the database does not overwrite deleted content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from productrecs.storage.sql import sqlite_connection, sqlite_dialect

if TYPE_CHECKING:
    from productrecs.storage.sql.apsw_dbapi import ApswConnection

_prepare = sqlite_connection.configure_connection


def _careless(connection: ApswConnection, *pages: int, **limits: int) -> None:
    _prepare(connection, *pages, **limits)
    connection.apsw.execute("PRAGMA secure_delete = OFF").fetchall()


for _module in (sqlite_connection, sqlite_dialect):
    setattr(_module, "configure_connection", _careless)  # noqa: B010 - the fault itself
