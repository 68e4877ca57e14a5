"""Audited changes: a form's change with its audit log line, and what undo brings back."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from productrecs.dashboard.change_descriptions import (
    ValueSnapshot,
    describe_difference,
    snapshot_changeable_values,
)
from productrecs.dashboard.cookies import FLASH, UNDO_MARK
from productrecs.dashboard.page import Handler, Page, Reply, Visit
from productrecs.http.pipeline.route_declaration import DASHBOARD_PATH
from productrecs.storage.sql.audit_log import AuditLogRepository, new_entry_id
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.removed_rows import RemovedRows
from productrecs.tenancy.accounts.store_management import UnknownStoreError

_MAX_AUDITED: Final = 120  # characters of a form's field
_UNAUDITED: Final = frozenset(
    {
        "then",  # the action names it
        "file",  # the import's id: what changed says its name
        "address",  # a webhook's may hold its receiver's token
        "customer",  # an erased customer's id would stay in the log
        "confirm",
    }
)
_SENSITIVE: Final = re.compile("csrf|password|token|secret|code", re.IGNORECASE)


def run_audited_change(
    visit: Visit,
    page: Page,
    handler: Handler,
    check: Callable[[Any], None] | None = None,
) -> Reply:
    """Let a handler change the store; the audit log's line is in its transaction.

    What changed, with old and new values, is added to the line afterwards. `check` gets the
    connection at the end of the transaction: an error that it raises undoes the change.
    """
    undo, before = (
        _new_entry_id_and_undo_rows(visit, page),
        snapshot_changeable_values(visit),
    )
    database = _database_with_audit_entry(visit, page, undo)
    if check is not None:
        database = database.with_extra_write(check)
    reply = handler(replace(visit, services=replace(visit.services, database=database)))
    if database.has_extra_write and reply.status < 400:  # noqa: PLR2004 - HTTP
        with database.transaction():
            """Write the audit log line of a change without a transaction."""
    if reply.status < 400:  # noqa: PLR2004 - HTTP
        _add_difference_to_audit_log(visit, undo[0], before)
    if undo[1] and FLASH in reply.cookies:
        flash = f"{reply.cookies[FLASH]}{UNDO_MARK}{undo[0]}"
        return replace(reply, cookies={**reply.cookies, FLASH: flash})
    return reply


def _add_difference_to_audit_log(
    visit: Visit, entry_id: str, before: ValueSnapshot
) -> None:
    try:
        changed = describe_difference(visit, before, snapshot_changeable_values(visit))
    except UnknownStoreError:  # the change deleted the store
        return
    if changed:
        with visit.database.transaction() as transaction:
            AuditLogRepository(transaction, visit.store.store_id).set_detail(
                entry_id, changed
            )


def _new_entry_id_and_undo_rows(visit: Visit, page: Page) -> tuple[str, str]:
    """Return the id of the audit log line, and the rows that the form removes as JSON."""
    entry_id = new_entry_id(visit.system_ms)
    for removal in page.removes:
        key = {column: visit.form[name] for column, name in removal.key.items()}
        if all(key.values()) and removal.then in {"", visit.form["then"]}:
            with visit.database.reading() as connection:
                rows = RemovedRows.read(
                    connection, visit.store.store_id, removal.table, removal.counter, key
                )
            if rows is not None:
                return entry_id, rows.as_json()
    return entry_id, ""


def _database_with_audit_entry(visit: Visit, page: Page, undo: tuple[str, str]) -> Database:
    """Return a database whose next transaction writes the audit log line."""
    steps = page.path.removeprefix(f"{DASHBOARD_PATH}/").split("/")[1:]
    action = page.action or f"{page.title}: {' '.join(steps) or 'changed'}"
    action = page.actions.get(visit.form["then"], action)
    sent = [
        f"{_field_label(name)}: {text.strip()[:_MAX_AUDITED]}"
        for name, text in visit.form.pairs()
        if text.strip() and name not in _UNAUDITED and not _SENSITIVE.search(name)
    ]
    if visit.file is not None:
        sent.append(f"File: {visit.file.name[:_MAX_AUDITED]}")
    return visit.database_with_audit_entry(action, "; ".join(sent), undo=undo)


def _field_label(name: str) -> str:
    """Return a field's name in words, such as `Lead time days`."""
    text = name.replace("_", " ").replace("-", " ")
    return f"{text[:1].upper()}{text[1:]}"
