"""Key misuse log: leaked keys and unknown origins are stored for the owner."""

from productrecs.application import create_application
from productrecs.core.clock import HOUR_MS, system_ms
from productrecs.services import Services, build_services
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.key_misuse.repository import (
    MAX_STORED,
    KeyMisuse,
    KeyMisuseRepository,
    MisuseKind,
    store_key_misuse,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_origins,
    register_store,
    rotate_secret,
)
from tests.api.inside import Inside
from tests.support.stores import new_store

OWN, FOREIGN = "https://shop.example", "https://m.shop.example"


def seen(database: Database, store: Store) -> set[tuple[MisuseKind, str]]:
    with database.reading() as connection:
        misuses = KeyMisuseRepository(connection, store.store_id).all()
    return {(one.kind, one.value) for one in misuses}


def test_a_foreign_page_and_a_key_in_the_open_are_noted(services: Services) -> None:
    store, secret = register_store(
        services.database, Registration("shop.example"), system_ms
    )
    change_origins(services.database, store, add=[OWN])
    target = f"/v1/trending?key={store.publishable_key}"
    with Inside(create_application(build_services(services.settings), draining=0)) as app:
        for origin in (OWN, FOREIGN, "null", "no origin at all"):
            assert app.ask("GET", target, headers={"origin": origin}).status == 200
        assert app.ask("GET", target).status == 200
        status = {"x-api-key": secret, "origin": OWN}
        assert app.ask("GET", "/integration/status", headers=status).status == 200
        leaked = app.ask("GET", f"/v1/trending?key={secret}")
        assert leaked.json["code"] == "secret_key_in_address"
        assert app.ask("GET", "/v1/trending?key=sk_nobodys").status == 401

    # Whatever was on its way is stored when the process ends.
    assert seen(services.database, store) == {
        (MisuseKind.FOREIGN_ORIGIN, FOREIGN),
        (MisuseKind.FOREIGN_ORIGIN, ""),
        (MisuseKind.LEAKED_SECRET, OWN),
        (MisuseKind.LEAKED_SECRET, ""),
    }
    rotate_secret(services.database, store)
    assert {sign for sign, _ in seen(services.database, store)} == {
        MisuseKind.FOREIGN_ORIGIN
    }


def test_a_foreign_page_is_left_to_the_gate_which_notes_it(services: Services) -> None:
    store = new_store(services.database)
    change_origins(services.database, store, add=[OWN])
    target = f"/v1/recommendations?key={store.publishable_key}"
    with Inside(create_application(build_services(services.settings), draining=0)) as app:
        assert app.ask("GET", target).status == 200
        assert app.fast_reply(target, {}) is not None
        assert app.fast_reply(target, {"origin": OWN}) is not None
        assert app.fast_reply(target, {"origin": FOREIGN}) is None


def test_a_store_without_a_list_has_no_foreign_pages(services: Services) -> None:
    store = new_store(services.database)
    target = f"/v1/trending?key={store.publishable_key}"
    with Inside(create_application(build_services(services.settings), draining=0)) as app:
        assert app.ask("GET", target, headers={"origin": FOREIGN}).status == 200

    assert seen(services.database, store) == set()


def test_strangers_fill_no_table(database: Database) -> None:
    store = new_store(database)
    batch = [
        KeyMisuse(
            store.store_id, MisuseKind.FOREIGN_ORIGIN, f"https://{n}.example", HOUR_MS
        )
        for n in range(2 * MAX_STORED)
    ]
    with database.transaction() as transaction:
        store_key_misuse(transaction, batch)
        again = [
            KeyMisuse(store.store_id, MisuseKind.FOREIGN_ORIGIN, "https://0.example", 9)
        ]
        store_key_misuse(transaction, again)
        misuses = KeyMisuseRepository(transaction, store.store_id).all()
        lately = KeyMisuseRepository(transaction, store.store_id).all(since_ms=10)

    assert len(misuses) == MAX_STORED
    assert len(lately) == MAX_STORED - 1
