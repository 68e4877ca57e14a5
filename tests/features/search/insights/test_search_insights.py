"""Search report: counts and clicks, on both databases."""

from pathlib import Path

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import visitor_hash
from productrecs.core.report import ReportQuery
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.search.insights.search_insights import (
    ListedQueries,
    SearchInsights,
    count_searches,
    search_insights,
    search_insights_by_filter,
    search_report,
)
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders.ingest_events_and_orders import ingest_events
from productrecs.records.search_counts import repository as limits
from productrecs.records.search_counts.repository import SearchCount, SearchCountRepository
from productrecs.records.search_counts.search_counter import SearchCounter, count_by_intent
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store import Store
from tests.support.stores import new_store

NOON = 1_772_366_400_000  # 2026-03-01T12:00Z
DAY = "2026-03-01"


def searched(
    database: Database, store: Store, day: str = DAY, **counts: SearchCount
) -> None:
    add(database, store, day, counts)


def add(database: Database, store: Store, day: str, counts: dict[str, SearchCount]) -> None:
    with database.transaction() as transaction:
        SearchCountRepository(transaction, store.store_id).add(day, counts)


def clicked(
    database: Database, store: Store, *clicks: tuple[str | None, str, int | None]
) -> None:
    """Let shoppers click on results: words (None: of a picture), who, position."""
    events = [
        [
            NewEvent(
                EventKind.SEARCH_CLICK if term else EventKind.IMAGE_SEARCH_CLICK,
                item_id="tent",
                term=term,
                session_id=who,
                position=position,
            )
        ]
        for term, who, position in clicks
    ]
    receive(database, store, events)


def receive(database: Database, store: Store, events: list[list[NewEvent]]) -> None:
    """Receive events, and let attribution read the log on."""
    with database.transaction() as transaction:
        ingest_events(
            StoreLogTransaction(database, transaction, store.store_id), events, NOON
        )
    Attributor(database, Path("not-needed")).catch_up(store)  # writes whole stretches only


def insights_of(
    database: Database, store: Store, which: ListedQueries = ListedQueries.ALL
) -> SearchInsights:
    return search_insights(database, store, (DAY, DAY), which)


def test_searches_and_clicks_of_an_intent_come_together(
    database: Database, store: Store
) -> None:
    searched(
        database,
        store,
        tent=SearchCount("Tents", 8, 0, 8),
        lamp=SearchCount("lamp", 2, 2, 2),
    )
    counter = SearchCounter()
    counter.count_photo(store.store_id)
    counter.count_photo(store.store_id)
    photos = count_by_intent(counter.take_counts(), LanguageAnalyzer("en"))
    add(database, store, DAY, photos)
    clicked(
        database,
        store,
        ("tent", "a", 1),
        ("Tents", "a", 4),
        ("tents ", "b", None),
        ("stove", "a", 3),
        (None, "a", None),
    )

    insights = insights_of(database, store)

    assert [one.text for one in insights.queries] == ["Tents", "lamp", "stove"]
    tent, lamp, stove = insights.queries
    assert (tent.searches, tent.clicks, tent.searchers_clicked) == (8, 3, 2)
    assert (tent.click_through, tent.mean_position, tent.empty_share) == (0.25, 2.5, 0.0)
    assert (lamp.click_through, lamp.mean_position, lamp.empty_share) == (0.0, None, 1.0)
    assert (stove.click_through, stove.empty_share) == (None, None)
    assert (insights.image_searches, insights.image_clicks) == (2, 1)
    assert insights.intents == 3
    assert (insights.total.searches, insights.total.clicks) == (10, 4)
    assert insights.total.searchers_clicked == 2
    assert count_searches(database, store, (DAY, DAY)) == (10, 2)
    assert insights.total.mean_position == pytest.approx(8 / 3)


def shoppers(*names: str) -> frozenset[int]:
    return frozenset(map(visitor_hash, names))


@pytest.mark.parametrize(
    ("searches", "clickers", "rate"),
    [
        # Those who are named clicked, or did not; others' clicks say nothing of them.
        (SearchCount("tent", 3, 0, 0, shoppers("a", "b", "c")), "ab", (3, 2)),
        (SearchCount("tent", 3, 0, 0, shoppers("a", "b", "c")), "xyz", (3, 0)),
        (SearchCount("tent", 9, 0, 0, shoppers("a")), "abcdefg", (1, 1)),
        # A search that names nobody is one clicker's, and a clicker's is one search.
        (SearchCount("tent", 6, 0, 6), "ab", (6, 2)),
        (SearchCount("tent", 1, 0, 1), "abcdef", (1, 1)),
        (SearchCount("tent", 3, 0, 1, shoppers("a", "b")), "acd", (3, 2)),
        (SearchCount("tent", 0, 0, 0), "ab", (0, 0)),
    ],
)
def test_a_rate_is_of_searchers_and_never_more_than_all_of_them(
    database: Database,
    store: Store,
    searches: SearchCount,
    clickers: str,
    rate: tuple[int, int],
) -> None:
    searched(database, store, tent=searches)
    clicked(database, store, *(("tent", who, 1) for who in clickers))

    total = insights_of(database, store).total

    assert (total.searchers, total.searchers_clicked) == rate
    assert total.click_through == (rate[1] / rate[0] if rate[0] else None)


def test_clicks_of_other_days_and_of_imported_history_are_in_no_rate(
    database: Database, store: Store
) -> None:
    searched(database, store, "2026-02-28", tent=SearchCount("tent", 2, 0, 2))
    clicked(database, store, ("tent", "a", 1), ("tent", "b", 1))
    old = [NewEvent(EventKind.SEARCH_CLICK, "tent", "lamp", session_id="c", ts_ms=NOON)]
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store.store_id)
        ingest_events(log, [old], NOON, imported=True)
    Attributor(database, Path("not-needed")).catch_up(store)

    insights = search_insights(database, store, ("2026-02-28", DAY))

    assert [one.text for one in insights.queries] == ["tent"]
    assert (insights.total.clicks, insights.total.click_through) == (2, 0.0)
    period = ReportQuery("2026-02-28", DAY)
    assert (
        "2 shoppers and days with a click"
        in search_report(database, store, period).notes[-1]
    )


def test_who_searches_again_on_a_day_is_one_searcher(
    database: Database, store: Store
) -> None:
    for who in ("a", "b", "a"):
        searched(database, store, tent=SearchCount("tent", 1, 0, 0, shoppers(who)))
    searched(
        database, store, "2026-02-28", tent=SearchCount("tent", 1, 0, 0, shoppers("a"))
    )

    insights = search_insights(database, store, ("2026-02-28", DAY))

    assert (insights.total.searches, insights.total.searchers) == (4, 3)


def test_queries_without_results_or_clicks_can_be_listed(
    database: Database, store: Store
) -> None:
    searched(
        database,
        store,
        tent=SearchCount("tent", 5, 0),
        lamp=SearchCount("lamp", 4, 4),
        stove=SearchCount("stove", 3, 1),
        pan=SearchCount("pan", 2, 0),
    )
    clicked(database, store, ("tent", "a", 1))

    empty = insights_of(database, store, ListedQueries.NO_RESULTS)
    ignored = insights_of(database, store, ListedQueries.NO_CLICKS)

    assert [one.text for one in empty.queries] == ["lamp", "stove"]
    assert [one.text for one in ignored.queries] == ["stove", "pan"]
    both = search_insights_by_filter(database, store, (DAY, DAY))
    assert (both[ListedQueries.NO_RESULTS], both[ListedQueries.NO_CLICKS]) == (
        empty,
        ignored,
    )
    assert count_searches(database, store, (DAY, DAY)) == (empty.total.searches, 5)


def test_days_are_summed_and_others_left_out(database: Database, store: Store) -> None:
    searched(database, store, "2026-02-28", tent=SearchCount("tent", 5, 0))
    searched(database, store, tent=SearchCount("tents", 1, 1))
    searched(database, store, tent=SearchCount("Tent", 1, 0))

    assert insights_of(database, store).queries[0].searches == 2
    both = search_insights(database, store, ("2026-02-28", DAY))
    assert (both.queries[0].text, both.queries[0].searches) == ("Tent", 7)


def test_a_store_without_searches_has_no_rates(database: Database, store: Store) -> None:
    insights = insights_of(database, store)

    assert insights.queries == []
    assert insights.total.click_through is None
    assert insights.total.empty_share is None


def test_nonsense_fills_no_disk(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_INTENTS_PER_DAY", 3)
    searched(database, store, a=SearchCount("a", 1, 0), b=SearchCount("b", 1, 0))
    add(database, store, DAY, {f"x{n}": SearchCount(f"x{n}", 2, 1) for n in range(5)})
    searched(database, store, a=SearchCount("a", 1, 0))

    insights = insights_of(database, store)

    assert [one.text for one in insights.queries] == ["a", "x0", "b"]
    assert (insights.total.searches, insights.total.empty) == (13, 5)


def test_old_days_are_forgotten(database: Database, store: Store) -> None:
    searched(database, store, "2026-02-28", tent=SearchCount("tent", 5, 0))
    searched(database, store, tent=SearchCount("tent", 1, 0))
    with database.transaction() as transaction:
        SearchCountRepository(transaction, store.store_id).delete_before(DAY)

    assert insights_of(database, store).total.searches == 1
    assert search_insights(database, store, ("2026-01-01", DAY)).total.searches == 1


def test_another_stores_searches_stay_its_own(database: Database, store: Store) -> None:
    other = new_store(database, "other.example")
    searched(database, store, tent=SearchCount("tent", 5, 0))
    clicked(database, store, ("tent", "a", 1))

    assert insights_of(database, other).total.searches == 0
    assert insights_of(database, other).total.clicks == 0
    assert NOON % DAY_MS == DAY_MS // 2


def test_what_is_bought_after_a_click_is_the_searchs_revenue(
    database: Database, store: Store
) -> None:
    searched(
        database, store, tent=SearchCount("Tents", 4, 0), lamp=SearchCount("lamp", 2, 2)
    )
    clicked(database, store, ("tent", "a", 1), ("lamp", "a", 2), ("tent", "b", 2))
    bought = {"item_id": "tent", "order_id": "A-1", "quantity": 2, "value": 30.0}
    receive(
        database,
        store,
        [
            [NewEvent(EventKind.ADD_TO_CART, item_id="tent", session_id="b", value=15.0)],
            [NewEvent(EventKind.BUY, session_id="b", **bought)],  # type: ignore[arg-type]  # a test's shorthand
            [NewEvent(EventKind.BUY, session_id="c", **bought | {"order_id": "A-2"})],  # type: ignore[arg-type]  # a test's shorthand
            [NewEvent(EventKind.BUY, session_id="a", **bought | {"order_id": "A-3"})],  # type: ignore[arg-type]  # a test's shorthand
            [NewEvent(EventKind.BUY, session_id="b", **bought | {"item_id": "mug"})],  # type: ignore[arg-type]  # a test's shorthand
        ],
    )

    tent, lamp = insights_of(database, store).queries

    # Shopper a clicked on the tent in both lists: the later click counts.
    assert (tent.carts, tent.sales, tent.units, tent.revenue) == (1, 1, 2, 30.0)
    assert (lamp.carts, lamp.sales, lamp.revenue, lamp.revenue_per_search) == (0, 1, 30, 15)
    made = search_report(database, store, ReportQuery(DAY, DAY))
    total = {one.definition.name: one.value for one in made.figures}
    assert (total["revenue"], total["revenue_per_search"]) == (60.0, 10.0)
    assert [row[0] for row in made.rows] == ["Tents", "lamp"]


def test_the_report_notes_records_that_are_not_counted_yet(
    database: Database, store: Store
) -> None:
    clicked(database, store, ("tent", "a", 1))
    with database.transaction() as transaction:
        event = NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="tent", session_id="a")
        ingest_events(
            StoreLogTransaction(database, transaction, store.store_id), [[event]], NOON
        )

    made = search_report(database, store, ReportQuery(DAY, DAY))

    assert "The newest 1 records are not counted yet." in made.notes
