"""Audit log page: the changes that users of the dashboard made, newest first.

A page has 50 lines; the link to older ones carries the id of the last line shown.
"""

from typing import Final

from productrecs.entrypoints.http.dashboard.page_and_visit import Group, Page, Reply, Visit
from productrecs.storage.audit_log import AuditRepository

AUDIT_PATH: Final = "/dashboard/audit"
PAGE_SIZE: Final = 50


def show_log(visit: Visit) -> Reply:
    """Show a page of the log of changes, the newest line first."""
    before = visit.query["before"]
    with visit.database.reading() as connection:
        log = AuditRepository(connection, visit.store.store_id)
        found = log.page(PAGE_SIZE + 1, before)
    shown = found[:PAGE_SIZE]
    older = shown[-1].entry_id if len(found) > PAGE_SIZE else ""
    return visit.render("audit.html", entries=shown, older=older, is_first=not before)


PAGES: Final = (Page(AUDIT_PATH, "Audit log", show_log, group=Group.SETTINGS),)
