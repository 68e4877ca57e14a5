"""Search relevance: the set, its measure by the live search, and the alarm; both databases.

The shop sells lamps and tents, and its search index is that of the service.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS, HOUR_MS
from productrecs.core.ids import visitor_hash
from productrecs.core.timestamps import iso
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.search.product_search import SearchableStore
from productrecs.features.search.relevance.configuration_changes import AUDITED_ACTIONS
from productrecs.features.search.relevance.query_set import (
    MAX_TAIL,
    MAX_TOP,
    RefusedQuerySetChangeError,
    add_query_by_hand,
    intent_of,
    refresh_query_set,
    remove_query,
    store_or_delete_hand_judgement,
)
from productrecs.features.search.relevance.relevance_measure import (
    MIN_JUDGED,
    JudgedQuery,
    RelevanceGrade,
    RelevanceMeasure,
    compare_configurations,
    measure_relevance,
)
from productrecs.features.search.relevance.relevance_monitoring import (
    alarm_text,
    judge_clicks_and_store_measure,
    newest_unresolved_alarm,
    read_measures,
    stores_to_measure_relevance,
)
from productrecs.features.search.relevance.repository import (
    HAND,
    TAIL,
    TOP,
    ConfigurationChange,
    QuerySetEntry,
    RelevanceRepository,
    StoredMeasure,
)
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.features.search.search_rule_set import SearchRuleSet
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction
from productrecs.records.catalog.catalog_push import remove_item, upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.records.search_counts.repository import SearchCount, SearchCountRepository
from productrecs.services import Services, build_services
from productrecs.serving.cached_store import load_store, searchable_store
from productrecs.settings import Settings
from productrecs.storage.sql.audit_log import AuditEntry, AuditLogRepository
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import Registration, register_store
from productrecs.training.search.indexer import Indexer
from tests.support.migrated import bring

NOON = 1_772_366_400_000  # 2026-03-01T12:00Z
TODAY = iso(NOON)[:10]
WORDS = [
    "lamp",
    "tent",
    "chair",
    "spoon",
    "carpet",
    "mirror",
    "kettle",
    "bucket",
    "ladder",
    "guitar",
    "helmet",
    "candle",
]
"""Enough kinds of products that an alarm has its evidence; their ids are numbers."""


@dataclass
class RelevanceStore:
    """One store, and what a test does with it."""

    services: Services
    store: Store

    def push(self, **titles: str) -> None:
        """Put products into the catalog and into the index."""
        patches = [
            ItemPatch(name, {"title": title, "price": 9.0})
            for name, title in titles.items()
        ]
        with self.services.database.transaction() as transaction:
            log = self._log(transaction)
            upsert_items(log, patches, NOON, None)
        log.cache_committed_numbers()
        self.index()

    def delete(self, item_id: str) -> None:
        """Remove a product from the catalog and from the index."""
        with self.services.database.transaction() as transaction:
            log = self._log(transaction)
            remove_item(log, item_id, NOON)
        log.cache_committed_numbers()
        self.index()

    def _log(self, transaction: object) -> StoreLogTransaction:
        services = self.services
        return StoreLogTransaction(
            services.database,
            transaction,  # type: ignore[arg-type]  # a connection
            self.store.store_id,
            services.numbers,
        )

    def index(self) -> None:
        """Bring the index up to the catalog."""
        services = self.services
        accounts = AccountDirectory(services.database)
        indexer = Indexer(services.settings.data / "search", accounts)
        reader = services.database.raw_reader()
        while indexer.run_next_batches(reader):
            pass
        indexer.close()
        reader.close()

    def search(self) -> SearchableStore:
        """Return the live search, as a process would load it now."""
        return searchable_store(load_store(self.services, self.store))

    def number(self, item_id: str) -> int:
        """Return a product's number."""
        found = self.search().catalog.number(item_id)
        assert found is not None
        return found

    def count(self, **searches: int) -> None:
        """Let two shoppers and more search for queries of one word."""
        shoppers = frozenset(map(visitor_hash, ("ann", "bob")))
        counts = {
            intent_of(self.store, word): SearchCount(
                word, count, 0, 0, shoppers if count > 1 else frozenset()
            )
            for word, count in searches.items()
        }
        with self.services.database.transaction() as transaction:
            SearchCountRepository(transaction, self.store.store_id).add(TODAY, counts)

    def click(self, term: str, item: str, shoppers: range) -> None:
        """Let shoppers click on the first result."""
        events = [
            [
                NewEvent(
                    EventKind.SEARCH_CLICK,
                    item_id=item,
                    term=term,
                    session_id=f"s_{n}",
                    position=1,
                )
            ]
            for n in shoppers
        ]
        with self.services.database.transaction() as transaction:
            ingest_events(self._log(transaction), events, NOON)
        Attributor(self.services.database, self.services.touchpoint_folder).catch_up(
            self.store
        )

    def add(self, text: str, **grades: RelevanceGrade) -> None:
        """Add a query by hand, and judge products for it."""
        database = self.services.database
        added = add_query_by_hand(database, self.store, text, NOON)
        for item, grade in grades.items():
            number = self.number(item)
            store_or_delete_hand_judgement(
                database, self.store, added.text, number, grade, NOON
            )

    def measure(self, now_ms: int = NOON) -> StoredMeasure:
        """Measure the live search."""
        return judge_clicks_and_store_measure(
            self.services.database, self.store, self.search(), now_ms
        )

    def queries(self) -> Mapping[str, QuerySetEntry]:
        """Return the set by its texts, also removed queries."""
        with self.services.database.reading() as connection:
            repository = RelevanceRepository(connection, self.store.store_id)
            return {one.text: one for one in repository.queries()}


@pytest.fixture
def services(data_folder: Path, database_url: str | None) -> Iterator[Services]:
    bring(data_folder, database_url)
    settings = Settings(data=data_folder, database_url=database_url, now_ms=NOON)
    built = build_services(settings)
    yield built
    built.close()


@pytest.fixture
def shop(services: Services) -> RelevanceStore:
    wanted = Registration("shop.example")
    return RelevanceStore(
        services, register_store(services.database, wanted, services.clock)[0]
    )


def full(shop: RelevanceStore) -> RelevanceStore:
    """Fill a shop whose every query finds its one good product first."""
    shop.push(**{f"0{n}": f"{word} thing" for n, word in enumerate(WORDS)})
    for n, word in enumerate(WORDS):
        shop.add(word, **{f"0{n}": RelevanceGrade.GOOD})
    return shop


def test_the_set_is_the_frequent_queries_and_a_sample_of_the_others(
    shop: RelevanceStore,
) -> None:
    frequent = {f"top{n}": 100 for n in range(MAX_TOP)}
    rare = {f"rare{n}": 2 for n in range(2 * MAX_TAIL)}
    shop.count(**frequent, **rare, once=1)
    database = shop.services.database

    first = refresh_query_set(database, shop.store, NOON)

    by_origin = {
        origin: [one for one in first if one.origin == origin] for origin in (TOP, TAIL)
    }
    assert {one.text for one in by_origin[TOP]} == frequent.keys()
    assert {one.text for one in by_origin[TAIL]} < rare.keys()
    assert len(by_origin[TAIL]) == MAX_TAIL
    assert {one.weight for one in by_origin[TOP]} == {100.0}
    # The sample stands for all rare queries together.
    assert sum(one.weight for one in by_origin[TAIL]) == pytest.approx(2 * len(rare))
    assert refresh_query_set(database, shop.store, NOON) == first


def test_a_refresh_keeps_what_the_merchant_added_and_removed(shop: RelevanceStore) -> None:
    shop.count(lamps=9, tents=5)
    database, store = shop.services.database, shop.store
    refresh_query_set(database, store, NOON)
    assert remove_query(database, store, "tents", NOON)
    assert not remove_query(database, store, "tents", NOON)
    shop.add("garden chair")
    with pytest.raises(RefusedQuerySetChangeError):
        add_query_by_hand(database, store, "  ", NOON)

    shop.count(chairs=3)
    found = refresh_query_set(database, store, NOON)

    assert {one.text for one in found} == {"lamps", "chairs"}
    assert shop.queries()["garden chair"].origin == HAND
    shop.add("tents")
    assert shop.queries()["tents"].origin == HAND
    assert shop.queries()["tents"].searches == 5


def test_ndcg_is_that_of_the_definition(shop: RelevanceStore) -> None:
    shop.push(a="lamp lamp lamp", b="lamp red glass", c="lamp of blue glass in a box")
    found = [
        shop.search().catalog.ids[item]
        for item in measure_relevance(
            shop.search(), [JudgedQuery("lamp", "lamp", 1.0, {})], NOON
        )
        .scores[0]
        .results.items
    ]
    grades = dict(
        zip(
            found,
            (RelevanceGrade.FAIR, RelevanceGrade.BAD, RelevanceGrade.GOOD),
            strict=True,
        )
    )
    shop.add("lamp", **{str(item): grade for item, grade in grades.items()})

    measure = shop.measure()

    best = 3 + 1 / log2(3)
    assert measure.ndcg == pytest.approx((1 + 3 / log2(4)) / best)
    assert (measure.queries, measure.judged_queries) == (1, 1)
    assert shop.queries()["lamp"].ndcg == measure.ndcg


def test_queries_count_by_their_traffic(shop: RelevanceStore) -> None:
    shop.push(lamp="lamp", tent="tent")
    shop.count(lamp=9, nothing=3)
    shop.add("lamp", lamp=RelevanceGrade.GOOD)
    shop.add("nothing")
    shop.add("tent", lamp=RelevanceGrade.GOOD)

    measure = shop.measure()

    assert measure.no_results == pytest.approx(3 / 13)
    assert measure.ndcg == pytest.approx(9 / 10)  # the tent's ten searches find no lamp


def test_clicks_judge_and_a_judgement_by_hand_replaces_them(shop: RelevanceStore) -> None:
    shop.push(lamp="lamp", box="lamp box")
    shop.count(lamp=30)
    shop.click("lamp", "lamp", range(10))
    shop.click("Lamps", "box", range(10, 16))

    by_clicks = shop.measure()
    shop.add("lamp", lamp=RelevanceGrade.BAD, box=RelevanceGrade.BAD)
    by_hand = shop.measure()

    assert by_clicks.judged_queries == 1
    assert by_clicks.ndcg == pytest.approx(1.0)
    assert (by_hand.judged_queries, by_hand.ndcg) == (0, None)
    with shop.services.database.reading() as connection:
        repository = RelevanceRepository(connection, shop.store.store_id)
        found = {(one.by_hand, one.grade) for one in repository.judgements()}
    assert found == {(False, RelevanceGrade.GOOD), (True, RelevanceGrade.BAD)}


def test_the_clicks_of_a_long_query_judge_it(shop: RelevanceStore) -> None:
    shop.push(lamp="lamp")
    long = " ".join(f"lamp{n}" for n in range(60))
    shop.count(**{long: 30})
    shop.click(long, "lamp", range(10))

    refresh_query_set(shop.services.database, shop.store, NOON)

    assert shop.measure().judged_queries == 1


def test_a_change_that_costs_relevance_raises_an_alarm_that_names_it(
    shop: RelevanceStore,
) -> None:
    full(shop)
    first = shop.measure(NOON)
    editor = SearchRuleEditor(shop.services.database, shop.store, shop.services.clock)
    hidden = SearchRule(SearchRuleAction.HIDE, WORDS[0], ("00",))
    number, _ = editor.add_rule(hidden)

    second = shop.measure(NOON + DAY_MS)
    measures = read_measures(shop.services.database, shop.store.store_id)

    assert first.ndcg == pytest.approx(1.0)
    assert not first.is_alarm
    assert second.is_alarm
    assert second.changes == (
        ConfigurationChange("synonyms or search rules were changed", "search"),
    )
    assert "fell from 1.00 to 0.92, by 8%" in alarm_text(second)
    assert newest_unresolved_alarm(measures, NOON + DAY_MS) == second

    editor.remove_rule(number)
    assert not shop.measure(NOON + 2 * DAY_MS).is_alarm
    measures = read_measures(shop.services.database, shop.store.store_id)
    assert newest_unresolved_alarm(measures, NOON + 2 * DAY_MS) is None


def test_a_catalog_whose_titles_are_ruined_raises_an_alarm(shop: RelevanceStore) -> None:
    full(shop)
    shop.measure(NOON)
    shop.push(**{f"0{n}": "Imported product" for n in range(3)})

    second = shop.measure(NOON + DAY_MS)

    assert second.is_alarm
    titles = ", ".join(["Imported product"] * 3)
    (change,) = second.changes
    assert change.text == f"3 products were changed or removed ({titles})"
    assert change.kind == "catalog"


def test_a_change_is_named_by_its_line_of_the_audit_log(shop: RelevanceStore) -> None:
    database, store = shop.services.database, shop.store
    full(shop)
    shop.measure(NOON)
    SearchRuleEditor(database, store, shop.services.clock).add_synonym("lamp", "light")
    shop.push(**{"00": "Imported product"})
    details = {"Removed a rule": "Lamps", **dict.fromkeys(_of_search(), "lamp, light")}
    with database.transaction() as transaction:
        log = AuditLogRepository(transaction, store.store_id)
        log.add(AuditEntry(NOON - 1, "ann", _of_search()[0], "before the last measure"))
        for action, detail in details.items():
            log.add(AuditEntry(NOON + 1, "ann", action, detail))

    changes = shop.measure(NOON + DAY_MS).changes

    # The merchandising rules did not change: their line explains nothing.
    assert [one.text for one in changes] == [
        *(f"{action} (lamp, light)" for action in reversed(_of_search())),
        "1 product was changed or removed (Imported product)",
    ]
    with database.reading() as connection:
        log = AuditLogRepository(connection, store.store_id)
        for one in changes[:-1]:
            entry = log.find(one.entry_id)
            assert entry is not None
            assert entry.at == NOON + 1


def _of_search() -> tuple[str, ...]:
    return AUDITED_ACTIONS["search"]


def test_only_a_loss_of_search_raises_an_alarm(shop: RelevanceStore) -> None:
    full(shop)
    shop.measure(NOON)
    # Judgements that the present results do not fulfil, and a product that is sold no more.
    for word in WORDS[:4]:
        shop.add(word, **{"05": RelevanceGrade.GOOD})
    gone = shop.number("06")
    shop.delete("06")

    second = shop.measure(NOON + DAY_MS)

    assert second.ndcg is not None
    assert second.ndcg < 0.97
    assert second.ndcg_before == pytest.approx(second.ndcg_same)
    assert not second.is_alarm
    with shop.services.database.reading() as connection:
        judgements = RelevanceRepository(connection, shop.store.store_id).judgements()
    assert gone not in {one.item for one in judgements}
    assert len(judgements) == len(WORDS) - 1 + 4


def test_few_judged_queries_are_no_evidence(shop: RelevanceStore) -> None:
    full(shop)
    for word in WORDS[MIN_JUDGED - 1 :]:
        remove_query(shop.services.database, shop.store, word, NOON)
    shop.measure(NOON)
    shop.push(**{f"0{n}": "Imported product" for n in range(len(WORDS))})

    second = shop.measure(NOON + DAY_MS)

    assert second.ndcg == 0.0
    assert not second.is_alarm


def test_an_effect_names_wins_losses_and_moves_and_saves_nothing(
    shop: RelevanceStore,
) -> None:
    shop.push(lamp="lamp", light="lamp light", tent="tent", bag="bag")
    queries = [
        JudgedQuery("lamp", "lamp", 5.0, {shop.number("light"): RelevanceGrade.GOOD}),
        JudgedQuery("tent", "tent", 2.0, {shop.number("tent"): RelevanceGrade.GOOD}),
        JudgedQuery("bag", "bag", 1.0, {}),
        JudgedQuery("box", "box", 1.0, {}),
    ]
    pin, hide = SearchRuleAction.PIN, SearchRuleAction.HIDE
    rules = {
        1: SearchRule(pin, "lamp", ("light",)),
        2: SearchRule(hide, "tent", ("tent",)),
        3: SearchRule(SearchRuleAction.REDIRECT, "bag", address="/bags"),
    }
    now = shop.search()
    changed = replace(now, search_rules=SearchRuleSet(1, {}, rules))

    effect = compare_configurations(now, changed, queries, NOON)

    assert [one.before.query.text for one in effect.wins] == ["lamp"]
    assert [one.before.query.text for one in effect.losses] == ["tent"]
    assert [one.before.query.text for one in effect.changed_queries] == [
        "tent",
        "lamp",
        "bag",
    ]
    assert effect.changed_queries[2].change is None
    assert not SearchRuleEditor(
        shop.services.database, shop.store, shop.services.clock
    ).rules()


def test_a_store_is_measured_at_night_and_after_a_change(shop: RelevanceStore) -> None:
    night = NOON + 14 * HOUR_MS

    def due(now_ms: int) -> bool:
        return bool(
            stores_to_measure_relevance(shop.services.database, [shop.store], now_ms)
        )

    without_queries = due(night)
    shop.count(lamps=9)
    assert (without_queries, due(NOON), due(night)) == (False, False, True)
    shop.measure(night)
    assert not due(night + HOUR_MS)
    SearchRuleEditor(shop.services.database, shop.store, shop.services.clock).add_synonym(
        "lamp", "light"
    )
    assert due(night + HOUR_MS)
    shop.measure(night + HOUR_MS)
    assert not due(night + HOUR_MS)
    assert due(night + DAY_MS)


def test_stores_do_not_share_queries_judgements_or_measures(
    shop: RelevanceStore, services: Services
) -> None:
    wanted = Registration("other.example")
    other = RelevanceStore(
        services, register_store(services.database, wanted, services.clock)[0]
    )
    for one in (shop, other):
        one.push(lamp="lamp")
    shop.count(lamp=9)
    shop.add("lamp", lamp=RelevanceGrade.GOOD)
    shop.measure()

    assert not other.queries()
    assert other.measure().queries == 0
    assert len(read_measures(services.database, shop.store.store_id)) == 1
    with pytest.raises(RefusedQuerySetChangeError):
        store_or_delete_hand_judgement(
            services.database, other.store, "lamp", 0, RelevanceGrade.BAD, NOON
        )


def test_an_erased_rare_search_leaves_the_set(shop: RelevanceStore) -> None:
    shop.count(lamps=12, mysecret=2)
    refresh_query_set(shop.services.database, shop.store, NOON)
    shop.add("mysecret by hand")

    with shop.services.database.transaction() as transaction:
        counts = SearchCountRepository(transaction, shop.store.store_id)
        counts.delete_rare_queries(["mysecret"], ["mysecret"], 10)

    assert shop.queries().keys() == {"lamps", "mysecret by hand"}


def test_a_measure_without_queries_knows_nothing() -> None:
    empty = RelevanceMeasure(())

    assert (empty.ndcg, empty.no_results) == (None, None)
