"""Erasure: no trace of the shopper on disk, also after restoring an older backup.

The shopper comes in by every way there is, under names as odd as no other text is; then
the raw bytes of the data folder are searched for them: database, its log, models, trails,
uploads, logs. On PostgreSQL the rows of every table are.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from productrecs.features.attribution.attributor import Attributor
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import erasures, metadata
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.service import Merchant, Service, eventually
from tests.support.uploads import ended, upload

BROKEN: Final = Path(__file__).parent / "broken"
CUSTOMER: Final = "customer-zq91x"
SESSION: Final = "s_zq92xSession"
PHONE: Final = "s_zq93xPhone"
SEARCHED: Final = "zq94x in the oak street"
NAMES: Final = (CUSTOMER, SESSION, PHONE, "zq94x")
OTHER: Final = "customer-zq95x"  # who must stay
ME: Final = {"user_id": CUSTOMER, "session_id": SESSION}


def come_in(service: Service, merchant: Merchant) -> None:
    """Let the shopper in by every way: events of all kinds, orders, files, lists, tests."""
    assert merchant.push({"id": "a", "title": "Oak"}, {"id": "b"}).status == 200
    one = {"event": "detail-page-view", "item_id": "a"}
    anonymous = one | {"session_id": PHONE}
    shown = {"item_ids": ["a", "b"], "sources": ["buy", "buy"], "positions": [1, 2]}
    assert merchant.track(anonymous).status == 200  # before anybody knew who it was
    for event in (
        one | ME,
        one | {"user_id": CUSTOMER, "session_id": PHONE, "event_id": "e-1"},
        {"event": "add-to-cart", "item_id": "a", "value": 5.0} | ME,
        {"event": "buy", "item_id": "a", "order_id": "o-1"} | ME,
        {"event": "category-view", "item_id": "Beds"} | ME,
        {"event": "metadata-pref", "item_id": "oak"} | ME,
        {"event": "search-pref", "search_query": SEARCHED} | ME,
        {"event": "search-click", "item_id": "a", "search_query": SEARCHED} | ME,
        {"event": "image-search-click", "item_id": "a"} | ME,
        {"event": "rec-impression"} | shown | ME,
        {"event": "rec-click", "item_id": "b", "source": "buy", "position": 2} | ME,
        one | {"user_id": OTHER, "session_id": "s_of-the-other"},
    ):
        assert merchant.track(event).status == 200, event
    assert merchant.track(one | ME, one | ME).status == 200  # an array
    assert merchant.track(one | ME | {"event": "odd"}).status == 422
    assert merchant.order("o-2", "a", "b", **ME).status == 200
    assert merchant.order("o-3", "a", user_id=OTHER).status == 200
    assert merchant.recommend(user_id=CUSTOMER, customer_id=CUSTOMER).status == 200
    assert merchant.recommend(session_id=SESSION, item_id="a").status == 200
    assert merchant.recommend(user_id=CUSTOMER, num="many").status == 422
    assert merchant.trending(user_id=CUSTOMER).status == 200
    assert merchant.search("oak", user_id=CUSTOMER, session_id=SESSION).status == 200
    handed_in = upload(merchant, f"order_id,item_id,customer_id\nold,a,{CUSTOMER}\n")
    past = service.folder.parent / "past.jsonl"
    line = one | {"user_id": CUSTOMER, "timestamp": "2026-01-01"}
    past.write_text(json.dumps(line) + "\n")
    domain = merchant.account.domain
    service.run("import-events", domain, str(past))
    if service.command == "serve":
        assert ended(merchant, handed_in.json["upload_id"])["status"] == "done"
    service.train(merchant)


def on_disk(folder: Path, names: tuple[str, ...] = NAMES) -> dict[str, list[str]]:
    """Return which of the names stand in which files below a folder."""
    contents = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    names_by_file = {
        path: [name for name in names if name.encode() in content]
        for path, content in contents.items()
    }
    return {path: hits for path, hits in names_by_file.items() if hits}


def in_tables(service: Service) -> list[str]:
    """Return the rows of every table that hold one of the names."""
    with service.database() as database, database.reading() as connection:
        rows = [
            f"{table.name} {tuple(row)}"
            for table in metadata.sorted_tables
            for row in connection.execute(sa.select(table))
        ]
    assert any(OTHER in row for row in rows)
    return [row for row in rows if any(name in row for name in NAMES)]


def erasure_of(service: Service, merchant: Merchant) -> dict[str, object]:
    erasures = json.loads(
        service.run("shopper", "erasures", merchant.account.domain, "--json")
    )
    last: dict[str, object] = erasures[-1]
    return last


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a running service on each database."""
    with Service(data_folder, database_url).prepare() as service:
        yield service


def test_an_erased_shopper_is_nowhere_also_after_a_restore(
    service: Service, merchant: Merchant, tmp_path: Path
) -> None:
    domain = merchant.account.domain
    come_in(service, merchant)
    eventually(lambda: any("exposures" in row for row in in_tables(service)))
    service.run("backup", str(tmp_path / "before.tar"))

    service.run("shopper", "erase", domain, "--user", PHONE)
    assert merchant.track({"event": "detail-page-view", "item_id": "a"} | ME).status == 200
    service.train(merchant)  # which the background does within a minute, and counts:
    with service.database() as database:
        attributor = Attributor(database, service.folder / "trails")
        assert attributor.catch_up(find_store(database, domain))
        store = merchant.account.store_id
        eventually(lambda: is_done(database, store), 60, pause=0.2)
    erasure = erasure_of(service, merchant)
    service.stop()

    assert erasure["state"] == "done"
    assert (erasure["events"], erasure["lines"]) == (15, 4)
    assert in_tables(service) == []
    assert on_disk(service.folder) == {}
    if service.database_url is None:
        assert on_disk(service.folder, (OTHER,)) != {}  # whatever is there is found

    service.run("restore", str(tmp_path / "before.tar"), "--force")
    with service.database() as database:  # which a service that starts does at once
        attributor = Attributor(database, service.folder / "trails")
        assert attributor.catch_up(find_store(database, domain))

    assert in_tables(service) == []
    if service.database_url is None:
        service.train(merchant)
        service.run("shopper", "erase", domain, "--user", CUSTOMER)
        assert on_disk(service.folder) == {}


def is_done(database: Database, store_id: str) -> bool:
    query = sa.select(erasures.c.done_at).where(erasures.c.store_id == store_id)
    with database.reading() as connection:
        return all(connection.execute(query).scalars())


@pytest.fixture
def merchant(service: Service) -> Merchant:
    """Return a store with a holdout test: it remembers in which arm shoppers are."""
    return service.register(holdout_percent="50")


def test_control_deleted_content_that_is_left_on_the_disk_is_found(
    data_folder: Path,
) -> None:
    careless = Service(data_folder, command="api", broken=BROKEN / "keeps_deleted")
    with careless.prepare():
        merchant = careless.register(holdout_percent="50")
        come_in(careless, merchant)
        careless.run("shopper", "erase", merchant.account.domain, "--user", CUSTOMER)
        careless.stop()

    assert in_tables(careless) == []
    assert "productrecs.db" in on_disk(data_folder)
