"""Experiment units: one per shopper, whichever id is seen."""

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.experiments.arm_assignment import Exposure, HoldoutArm
from productrecs.records.experiments.exposures.repository import (
    StoredIdentity,
    read_stored_identity,
    store_exposures,
)
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import exposures
from productrecs.tenancy.accounts.store_management import (
    delete_store,
    find_store,
)
from tests.support.stores import new_store

NOON = 1_000


def sign_in(database: Database, store_id: StoreId, session: str, customer: str) -> None:
    event = NewEvent(
        EventKind.DETAIL_PAGE_VIEW, item_id="a", session_id=session, user_id=customer
    )
    with database.transaction() as transaction:
        ingest_events(StoreLogTransaction(database, transaction, store_id), [[event]], NOON)


def expose(
    database: Database, store_id: StoreId, name: str, unit: str, at: int = NOON
) -> None:
    exposure = Exposure(store_id, name, "holdout", HoldoutArm.SHOWN, unit, at)
    with database.transaction() as transaction:
        store_exposures(transaction, [exposure])


def met(database: Database, store_id: StoreId, *identities: str) -> StoredIdentity:
    reader = database.raw_reader()
    try:
        return read_stored_identity(reader, store_id, identities)
    finally:
        reader.close()


def rows(database: Database) -> list[tuple[str, str, str, int]]:
    query = sa.select(
        exposures.c.identity, exposures.c.arm, exposures.c.unit, exposures.c.first_at
    ).order_by(exposures.c.identity, exposures.c.arm)
    with database.reading() as connection:
        return [(row[0], row[1], row[2], row[3]) for row in connection.execute(query)]


def test_a_customer_keeps_the_unit_of_the_session_that_led_to_them(
    database: Database, store_id: StoreId
) -> None:
    expose(database, store_id, "s_1", "s_1")
    sign_in(database, store_id, "s_1", "anna")

    assert met(database, store_id, "anna") == StoredIdentity(("anna",), "s_1", None)
    assert met(database, store_id, "s_1") == StoredIdentity(("anna",), "s_1", None)
    assert met(database, store_id, "anna", "s_1").unit == "s_1"


def test_a_session_not_stored_yet_leads_to_its_customer_all_the_same(
    database: Database, store_id: StoreId
) -> None:
    sign_in(database, store_id, "s_1", "anna")
    sign_in(database, store_id, "s_2", "anna")

    assert met(database, store_id, "anna") == StoredIdentity(("anna",), None, "s_1")
    assert met(database, store_id, "s_2") == StoredIdentity(("anna",), None, "s_1")


def test_another_device_joins_its_customer_once_it_is_theirs(
    database: Database, store_id: StoreId
) -> None:
    expose(database, store_id, "s_1", "s_1", at=1)
    sign_in(database, store_id, "s_1", "anna")
    expose(database, store_id, "anna", "s_1", at=2)
    expose(database, store_id, "s_2", "s_2", at=0)
    assert met(database, store_id, "s_2").unit == "s_2"

    sign_in(database, store_id, "s_2", "anna")

    assert met(database, store_id, "s_2").unit == "s_1"
    assert met(database, store_id, "anna").unit == "s_1"  # though s_2 was met earlier


def test_of_two_identities_the_first_that_is_known_decides(
    database: Database, store_id: StoreId
) -> None:
    expose(database, store_id, "s_1", "s_1")
    assert met(database, store_id, "anna", "s_1") == StoredIdentity(
        ("anna", "s_1"), "s_1", None
    )

    expose(database, store_id, "anna", "s_0")
    assert met(database, store_id, "anna", "s_1") == StoredIdentity(("anna",), "s_0", None)


def test_the_first_exposure_is_kept(database: Database, store_id: StoreId) -> None:
    expose(database, store_id, "s_1", "s_1", at=5)
    expose(database, store_id, "s_1", "s_9", at=6)

    assert rows(database) == [("s_1", "shown", "s_1", 5)]


def test_a_name_that_stood_in_both_arms_shows_it(
    database: Database, store_id: StoreId
) -> None:
    expose(database, store_id, "s_1", "s_1")
    other = Exposure(store_id, "s_1", "holdout", HoldoutArm.HELD_OUT, "s_1", 9)
    with database.transaction() as transaction:
        store_exposures(transaction, [other])

    assert [row[1] for row in rows(database)] == ["held_out", "shown"]


def test_each_store_has_its_own(database: Database, store_id: StoreId) -> None:
    other = new_store(database, "other.example").store_id
    expose(database, store_id, "anna", "s_1")
    sign_in(database, store_id, "s_1", "anna")

    assert met(database, other, "anna") == StoredIdentity(("anna",), None, None)
    assert met(database, other, "s_1") == StoredIdentity(("s_1",), None, None)


def test_exposures_of_a_deleted_store_are_dropped_and_those_of_others_stored(
    database: Database, store_id: StoreId
) -> None:
    other = new_store(database, "other.example").store_id
    delete_store(database, find_store(database, "shop.example"))
    batch = [
        Exposure(one, f"s_{n}", "holdout", HoldoutArm.SHOWN, f"s_{n}", n)
        for n in range(2)
        for one in (store_id, other)
    ]

    with database.transaction() as transaction:
        store_exposures(transaction, batch)

    assert [row[0] for row in rows(database)] == ["s_0", "s_1"]
