"""Store cache: an open store follows its settings and its catalog, or leaves memory."""

import asyncio
import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.merchandising.rule import (
    ListKind,
    RuleAction,
    RuleContent,
    RuleTarget,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.search_counts.repository import (
    QuestionCount,
    SearchCountRepository,
)
from productrecs.services import Services, build_services
from productrecs.serving.cached_store import (
    CachedStore,
    load_store,
    refresh_changed_views,
    searchable_store,
)
from productrecs.serving.open_stores import MAX_PRELOADED, OpenStores
from productrecs.settings import Settings
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.store_counters_and_versions import view_versions_by_store
from productrecs.storage.sql.tables import jobs, store_heads
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    change_settings,
)
from productrecs.worker.missing_snapshots import request_missing_snapshots
from tests.support.service import eventually
from tests.support.stores import new_store


@pytest.fixture
def store(services: Services) -> Store:
    return new_store(services.database)


@pytest.fixture
def accounts(services: Services, store: Store) -> AccountDirectory:
    directory = AccountDirectory(services.database)
    assert directory.by_id(store.store_id) == store
    return directory


@pytest.fixture
def shops(services: Services, accounts: AccountDirectory) -> Iterator[OpenStores]:
    opened = OpenStores(services, accounts)
    yield opened
    opened.close()


def look(services: Services, accounts: AccountDirectory) -> None:
    """Let the accounts look again, as a request with an unknown key does."""
    reader = services.database.raw_reader()
    assert accounts.refresh(reader)
    reader.close()


def follows(opened: CachedStore, num: int) -> bool:
    return opened.state.settings.rec_num == num


def test_a_setting_is_followed_though_a_request_looked_first(
    services: Services, store: Store, accounts: AccountDirectory, shops: OpenStores
) -> None:
    opened = asyncio.run(shops.open(store))
    change_settings(services.database, store, {"rec_num": "3"})
    look(services, accounts)

    shops.start()

    eventually(lambda: follows(opened, 3), 10)


def test_a_setting_that_changed_while_the_shop_was_read_is_followed(
    services: Services, store: Store, accounts: AccountDirectory, shops: OpenStores
) -> None:
    shops.start()
    change_settings(services.database, store, {"rec_num": "3"})
    eventually(lambda: accounts.by_id(store.store_id) != store)

    opened = asyncio.run(shops.open(store))  # as a request that began before the change

    eventually(lambda: follows(opened, 3), 10)


def test_what_a_shop_remembers_later_makes_another_leave(
    services: Services, accounts: AccountDirectory, store: Store
) -> None:
    other = new_store(services.database, "other.example")
    shops = OpenStores(services, accounts, budget_bytes=100_000)
    asyncio.run(shops.open(store))
    busy = asyncio.run(shops.open(other))
    shops.start()
    assert shops.count == 2

    moment = (object(),)
    assert busy.searches.get(moment, "tent") is None
    busy.searches.put(moment, "tent", bytes(200_000))

    eventually(lambda: shops.count == 1, 10)
    assert shops.get(other) is busy
    shops.close()


def test_unused_stores_leave_memory(
    services: Services, accounts: AccountDirectory, store: Store
) -> None:
    passing = itertools.count(step=1_800)  # half an hour passes whenever the cache looks
    shops = OpenStores(services, accounts, seconds=lambda: float(next(passing)))
    others = [
        new_store(services.database, f"shop{n}.example") for n in range(MAX_PRELOADED + 2)
    ]
    for one in (store, *others):
        asyncio.run(shops.open(one))

    shops.start()

    eventually(lambda: shops.get(store) and shops.count == MAX_PRELOADED, 10)
    shops.close()


def test_an_unused_store_follows_its_changes(
    services: Services, store: Store, shops: OpenStores
) -> None:
    opened = asyncio.run(shops.open(store))
    shops.start()

    with services.database.transaction() as transaction:
        log = StoreLogTransaction(services.database, transaction, store.store_id)
        upsert_items(log, [ItemPatch("A", {"title": "Tent"})], system_ms())

    eventually(lambda: len(opened.state.catalog) == 1, 10)


def test_a_damaged_visual_model_is_built_again(
    services: Services, store: Store, shops: OpenStores
) -> None:
    (services.visual_model_folder / store.store_id / "00000001-of-before").mkdir(
        parents=True
    )
    heads = store_heads.update().where(store_heads.c.store_id == store.store_id)
    with services.database.transaction() as transaction:
        values = {"picture_seq": 7, "visual_seq": 7, "visual_id": "00000001-of-before"}
        transaction.execute(heads.values(**values))

    asyncio.run(shops.open(store))

    with services.database.reading() as connection:
        progress = PictureRepository(connection, store.store_id).progress()
    assert (progress.visual_id, progress.visual_seq) == (None, 0)


def test_only_a_server_database_can_have_models_that_a_folder_lacks(
    database: Database,
    database_kind: str,
    database_url: str | None,
    data_folder: Path,
) -> None:
    settings = Settings(data=data_folder, database_url=database_url)
    services = build_services(settings)
    store = new_store(database)
    heads = store_heads.update().where(store_heads.c.store_id == store.store_id)
    with database.transaction() as transaction:
        values = {"model_id": "00000001-there", "visual_id": "00000001-there"}
        transaction.execute(heads.values(**values))

    def requested() -> tuple[bool, bool]:
        with database.reading() as connection:
            kinds = connection.execute(sa.select(jobs.c.kind)).scalars().all()
            progress = PictureRepository(connection, store.store_id).progress()
        return "train" in kinds, progress.visual_id is None

    shops = OpenStores(services, AccountDirectory(database))
    asyncio.run(shops.open(store))
    is_one_folder = database_kind == "sqlite"
    assert requested() == (is_one_folder, is_one_folder)
    assert shops.lacking_models_count == int(not is_one_folder)

    request_missing_snapshots(services)  # as a worker with this folder does at its start
    assert requested() == (True, True)
    services.close()


def test_answers_to_questions_count_in_their_store_once_it_is_trained_again(
    services: Services, store: Store
) -> None:
    other = new_store(services.database, "b.example")
    opened = load_store(services, store)
    today = datetime.fromtimestamp(system_ms() / 1000, UTC).date().isoformat()
    counts = [QuestionCount("color", 900, 300), QuestionCount("size", 900, 9)]
    with services.database.transaction() as transaction:
        SearchCountRepository(transaction, store.store_id).add_questions(today, counts)
        heads = store_heads.update().where(store_heads.c.store_id == store.store_id)
        transaction.execute(heads.values(model_id="00000001-of-tonight"))
    assert searchable_store(opened).question_weights == {}

    reader = services.database.raw_reader()
    versions = view_versions_by_store(reader, [store.store_id])[store.store_id]
    refresh_changed_views(services, store.store_id, opened, reader, versions)
    reader.close()

    weights = searchable_store(opened).question_weights
    assert weights["color"] > 1.3
    assert weights["size"] < 0.7
    assert searchable_store(load_store(services, store)).question_weights == weights
    assert searchable_store(load_store(services, other)).question_weights == {}


def test_a_new_product_is_hidden_by_a_new_rule_from_its_first_moment(
    services: Services, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = load_store(services, store)
    catalog, rules = opened.state.catalog, opened.state.rules
    assert rules is not None
    target = RuleTarget(categories=("spares",))
    editor = RuleEditor(services.database, store, system_ms, "somebody")
    editor.add(RuleContent(RuleAction.EXCLUDE, target))
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(services.database, transaction, store.store_id)
        upsert_items(log, [ItemPatch("A", {"categories": ["Spares"]})], system_ms())
    between: list[bool] = []
    refresh = catalog.refresh

    def refresh_and_look(reader: RawReader, seq: int) -> None:
        refresh(reader, seq)
        assert len(catalog) == 1
        shown = catalog.visible(system_ms(), hide_sold_out=False)
        assert rules.in_force is not None
        between.append(
            bool(rules.in_force.effects_on_list(ListKind.PRODUCT).shown_mask(shown)[0])
        )

    monkeypatch.setattr(catalog, "refresh", refresh_and_look)
    reader = services.database.raw_reader()
    versions = view_versions_by_store(reader, [store.store_id])[store.store_id]
    refresh_changed_views(services, store.store_id, opened, reader, versions)
    reader.close()

    assert between == [False]
