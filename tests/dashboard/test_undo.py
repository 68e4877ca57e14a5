"""Undo: what a form removed comes back, from the message and from the audit log."""

import re

import pytest
import sqlalchemy as sa

from productrecs.dashboard.page_registry import PAGES
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.storage.sql.tables import metadata
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of
from tests.support.filled_store import Filled, fill, open_store

REMOVALS = {
    "placements": "/dashboard/placements/remove",
    "bundles": "/dashboard/bundles/remove",
    "synonyms": "/dashboard/search/remove",
    "search_rules": "/dashboard/search/remove",
    "rules": "/dashboard/merchandising/remove",
    "experiments": "/dashboard/tests/test",
}


@pytest.fixture(scope="module")
def filled(office: Office) -> Filled:
    services = office.services
    made = open_store(services.database, services.clock, office.inside, "undo.example")
    return fill(made, ["lamp", "chair", "table"])


@pytest.fixture
def owner(office: Office, filled: Filled) -> Member:
    return office.member(filled.store)


def rows_of(office: Office, filled: Filled, table: str) -> list[dict[str, object]]:
    found = metadata.tables[table]
    query = sa.select(found).where(found.c.store_id == filled.store.store_id)
    with office.services.database.reading() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def test_every_removal_can_be_undone() -> None:
    declared = {one.table: page.path for page in PAGES for one in page.removes}

    assert declared == REMOVALS


@pytest.mark.parametrize("table", REMOVALS)
@pytest.mark.parametrize("place", ["message", "audit"])
def test_what_was_removed_comes_back_once(
    office: Office, filled: Filled, owner: Member, table: str, place: str
) -> None:
    (removal,) = (one for page in PAGES for one in page.removes if one.table == table)
    before = rows_of(office, filled, table)
    row = before[0]
    fields = {name: str(row[column]) for column, name in removal.key.items()}

    page = REMOVALS[table]
    reply = owner.post(page, page="/dashboard", **fields, then=removal.then)
    assert reply.status == 303, text_of(reply)
    assert len(rows_of(office, filled, table)) == len(before) - 1
    shown = owner.get("/dashboard" if place == "message" else "/dashboard/audit")
    entry = re.search(r'name="entry" value="([^"]+)"', shown.body.decode())
    assert entry is not None
    undone = owner.post("/dashboard/audit/undo", page="/dashboard", entry=entry[1])
    again = owner.post("/dashboard/audit/undo", page="/dashboard", entry=entry[1])

    assert (undone.status, again.status) == (303, 404)
    after = rows_of(office, filled, table)
    ignored = {"updated_at", "version"} if table == "rules" else set()
    assert [strip(one, ignored) for one in after] == [strip(one, ignored) for one in before]


def strip(row: dict[str, object], names: set[str]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in names}


def test_undo_does_not_replace_what_took_the_name(
    office: Office, filled: Filled, owner: Member
) -> None:
    services = office.services
    editor = PlacementEditor(services.database, filled.store, services.clock)
    placement = editor.all()[0]
    gone = {"placement": placement.name}
    owner.post("/dashboard/placements/remove", page="/dashboard", **gone)
    shown = owner.get("/dashboard/audit").body.decode()
    entry = re.search(r'name="entry" value="([^"]+)"', shown)
    assert entry is not None
    editor.add(placement.name, placement.content)

    owner.post("/dashboard/audit/undo", page="/dashboard", entry=entry[1])

    assert "It cannot be undone any more" in text_of(owner.get("/dashboard/placements"))
