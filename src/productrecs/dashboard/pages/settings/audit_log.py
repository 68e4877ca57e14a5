"""Audit log page: the changes that users of the dashboard made, newest first.

A page has 50 lines; the link to older ones carries the id of the last line shown. A line
that removed something brings it back with Undo.
"""

from typing import Final

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.storage.sql.audit_log import AuditLogRepository
from productrecs.storage.sql.removed_rows import (
    RemovedRows,
    RowsNotRestorableError,
    parse_removed_rows,
)

AUDIT_PATH: Final = "/dashboard/audit"
PAGE_SIZE: Final = 50
_PLACES: Final = {
    "placements": "/dashboard/placements",
    "bundles": "/dashboard/bundles",
    "synonyms": "/dashboard/search#rules",
    "search_rules": "/dashboard/search#rules",
    "rules": "/dashboard/merchandising",
    "experiments": "/dashboard/tests",
}


def show_audit_log(visit: Visit) -> Reply:
    """Show a page of the log of changes, the newest line first."""
    before = visit.query["before"]
    with visit.database.reading() as connection:
        log = AuditLogRepository(connection, visit.store.store_id)
        entries = log.page(PAGE_SIZE + 1, before)
    shown = entries[:PAGE_SIZE]
    older = shown[-1].entry_id if len(entries) > PAGE_SIZE else ""
    return visit.render("audit.html", entries=shown, older=older, is_first=not before)


def undo_removal(visit: Visit) -> Reply:
    """Bring back what a line of the log removed.

    Raises:
        PageOrRecordNotFoundError: when the line is unknown, or was undone already.
    """
    with visit.database.reading() as connection:
        entry = AuditLogRepository(connection, visit.store.store_id).find(
            visit.form["entry"]
        )
    if entry is None or not entry.undo:
        message = "This was undone already."
        raise PageOrRecordNotFoundError(message)
    removed = parse_removed_rows(entry.undo)
    try:
        _restore_rows_and_mark_undone(visit, removed, entry.entry_id)
    except RowsNotRestorableError as error:
        return visit.redirect(_PLACES[removed.table], sentence(error))
    visit.refresh_store()
    visit.refresh_accounts()
    message = "Undone. Your shop follows within a second."
    return visit.redirect(_PLACES[removed.table], message)


def _restore_rows_and_mark_undone(
    visit: Visit, removed: RemovedRows, entry_id: str
) -> None:
    store_id = visit.store.store_id
    if removed.table == "rules":  # their own history must record the undo too
        rule_id = removed.rows[0]["rule_id"]
        editor = RuleEditor(
            visit.database, visit.store, visit.context.clock, visit.user.email or ""
        )
        last = next(change for change in editor.history() if change.rule.rule_id == rule_id)
        if last.what != "removed":
            message = "this was undone already"
            raise RowsNotRestorableError(message)
        editor.undo(last.change_id)
    with visit.database.transaction() as transaction:
        if removed.table != "rules":
            removed.restore(transaction, store_id)
        AuditLogRepository(transaction, store_id).mark_undone(entry_id)


PAGES: Final = (
    Page(AUDIT_PATH, "Audit log", show_audit_log, group=NavigationGroup.SETTINGS),
    *form_pages(AUDIT_PATH, "Audit log", ("undo", undo_removal, "Undid a removal")),
)
