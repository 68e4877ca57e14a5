"""Order history import: each line once, overwritten by a later file."""

import contextlib
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import parse_timestamp
from productrecs.records.events.append_and_link_events import link_customer_ids
from productrecs.records.events.event import EventKind, NewEvent
from productrecs.records.orders import order_history_import
from productrecs.records.orders.ingest_events_and_orders import ingest_events, ingest_order
from productrecs.records.orders.order_and_purchase_ledger import NewOrder, NewOrderLine
from productrecs.records.orders.order_history_import import OrderHistoryImport, SkippedRow
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import (
    ItemNumberCache,
    StoreDeletedError,
    StoreLogTransaction,
)
from productrecs.storage.sql.tables import imports, purchase_lines
from tests.records.orders.import_support import (
    MIDNIGHT,
    NOON,
    StoredLine,
    import_text,
    new_store_id,
    rows_of,
    standing,
)
from tests.support.migrated import ON_SQLITE

HEADER = "order_id,item_id,customer_id,timestamp,quantity,price\n"
FEBRUARY = 1_769_947_200_000  # 2026-02-01 12:00 UTC


def test_lines_are_stored_with_their_revenue(database: Database) -> None:
    store = new_store_id(database)

    report = import_text(
        database,
        store,
        HEADER
        + "B-1,tent,c-1,2026-02-01T12:00:00Z,2,99.5\n"
        + "B-1,pegs,c-1,2026-02-01T12:00:00Z,,4\n"
        + "B-2,tent,,2026-02-01T12:00:00Z,-1,99.5\n"
        + "B-3,lamp,c-2,2026-02-01T12:00:00Z,3,\n",
    )

    assert (report.rows, report.lines_imported, report.lines_updated) == (4, 4, 0)
    assert standing(database, store) == [
        StoredLine("B-1", "pegs", None, 4.0, 4.0, FEBRUARY, "c-1"),
        StoredLine("B-1", "tent", 2, 99.5, 199.0, FEBRUARY, "c-1"),
        StoredLine("B-2", "tent", -1, 99.5, -99.5, FEBRUARY, None),
        StoredLine("B-3", "lamp", 3, None, None, FEBRUARY, "c-2"),
    ]


def test_lines_of_one_order_share_a_basket_over_chunks(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_history_import, "MAX_LINES", 2)
    store = new_store_id(database)
    rows = "".join(f"B-{number % 3},item-{number}\n" for number in range(15))

    import_text(database, store, "order_id,item_id\n" + rows)

    place = {column.name: at for at, column in enumerate(purchase_lines.columns)}
    found = {
        (row[place["order_id"] - 1], row[place["basket"] - 1])
        for row in rows_of(database, store, purchase_lines)
    }
    assert len(found) == len({basket for _, basket in found}) == 3


def test_within_a_file_the_last_of_a_line_wins(database: Database) -> None:
    store = new_store_id(database)

    report = import_text(
        database, store, "order_id,item_id,qty,price\nB,a,2,5\nB,a,3,\nB,a,,7\n"
    )

    assert (report.lines_imported, report.lines_updated) == (1, 2)
    assert standing(database, store) == [StoredLine("B", "a", 3, 7.0, 21.0, MIDNIGHT)]


def test_unreadable_rows_are_reported_and_the_rest_is_imported(database: Database) -> None:
    store = new_store_id(database)

    report = import_text(
        database, store, HEADER + 'B,a,,,1,2\n,b,,,1,2\nB,c,,,x,2\nB,"d,,,1,2\nB,e,,,1,2\n'
    )

    assert (report.rows, report.rows_skipped, report.lines_imported) == (5, 3, 2)
    assert report.errors == [
        SkippedRow(3, "order_id is empty; every row needs one"),
        SkippedRow(
            4,
            "quantity 'x' is not a number; write it like 2",
            "quantity",
            "x",
            "is not a number; write it like 2",
        ),
        SkippedRow(5, "a quotation mark is opened on this line and not closed"),
    ]


def test_a_quantity_of_0_removes_a_line_until_another_brings_it_back(
    database: Database,
) -> None:
    store = new_store_id(database)
    rows = "B,a,c-1,2025-10-03,2,5\nB,b,c-1,2025-10-03,1,9\n"
    import_text(database, store, HEADER + rows)
    before = standing(database, store)

    report = import_text(database, store, HEADER + "B,a,,,0,\nB,unknown,,,0,\n")

    assert (report.lines_imported, report.lines_updated) == (0, 1)
    assert standing(database, store) == [one for one in before if one.item_id == "b"]
    import_text(database, store, HEADER + "B,a,,,2,5\n")
    assert standing(database, store) == before


def test_a_live_order_stays_live_when_its_lines_are_removed_and_come_back(
    database: Database,
) -> None:
    store = new_store_id(database)
    tell(database, store, ("order", 3))

    import_text(database, store, "order_id,item_id,qty\nA,x,0\n")
    assert standing(database, store) == []
    import_text(database, store, "order_id,item_id,qty,price\nA,x,2,2\n")

    assert standing(database, store) == [StoredLine("A", "x", 2, 2.0, 4.0, NOON, "c")]
    imported = [column.name for column in purchase_lines.columns].index("imported") - 1
    assert [row[imported] for row in standing_rows(database, store)] == [False]


def test_a_hundred_of_many_bad_rows_are_reported_and_all_are_counted(
    database: Database,
) -> None:
    store = new_store_id(database)

    report = import_text(database, store, "order_id,item_id\n" + ",a\n" * 1_000)

    assert (len(report.errors), report.rows_skipped) == (100, 1_000)


@ON_SQLITE
@pytest.mark.parametrize(
    ("zone", "day"),
    [("UTC", MIDNIGHT), ("Pacific/Auckland", MIDNIGHT + DAY_MS - 13 * 3_600_000)],
)
def test_a_row_without_a_readable_time_gets_the_day_of_submission(
    database: Database, zone: str, day: int
) -> None:
    store = new_store_id(database)

    content = "order_id,item_id,timestamp\nB,a,\nB,b,soon\nB,c,03/10/2025\n"
    report = import_text(database, store, content, zone=zone)

    assert report.rows_undated == 3
    assert report.undated == [
        SkippedRow(3, "'soon' is not a readable date or time"),
        SkippedRow(
            4,
            "'03/10/2025' may have the day or the month first, and no other row of the "
            "file shows which",
        ),
    ]
    assert {line.ts for line in standing(database, store)} == {day}


@ON_SQLITE
@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("Oct 3, 2025", "2025-10-03"),
        ("October 3rd, 2025 4:52 pm", "2025-10-03T16:52"),
        ("Sept. 3 2025", "2025-09-03"),
        ("3 Oct 2025", "2025-10-03"),
        ("03-Oct-2025 16:52", "2025-10-03T16:52"),
        ("Fri, 03 Oct 2025 16:52:01", "2025-10-03T16:52:01"),
    ],
)
def test_english_names_of_months_are_read(
    database: Database, written: str, moment: str
) -> None:
    store = new_store_id(database)

    content = f'order_id,item_id,timestamp\nB,a,"{written}"\n'
    report = import_text(database, store, content)

    assert not report.rows_undated
    assert [one.ts for one in standing(database, store)] == [parse_timestamp(moment)]


@ON_SQLITE
@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("25/10/25", "has a year of two digits; write all four, such as 2026-12-31"),
        ("03-Oct-25", "has a year of two digits; write all four, such as 2026-12-31"),
        ("Okt 3, 2025", "is not a readable date or time"),
        ("Feb 30, 2025", "is not a readable date or time"),
    ],
)
def test_a_date_that_may_be_misread_is_named_with_its_row(
    database: Database, written: str, problem: str
) -> None:
    store = new_store_id(database)

    content = f'order_id,item_id,timestamp\nB,a,"{written}"\n'
    report = import_text(database, store, content)

    assert report.undated == [SkippedRow(2, f"{written!r} {problem}")]


@ON_SQLITE
@pytest.mark.parametrize(
    ("other", "day"),
    [
        ("25/10/2025", "2025-10-03"),
        ("10/25/2025 4:52 PM", "2025-03-10"),
        ("25.10.2025", None),  # with points the day is first, with slashes it may not be
        ("2025-10-25", None),
    ],
)
def test_another_row_decides_whether_the_day_or_the_month_is_first(
    database: Database, other: str, day: str | None
) -> None:
    store = new_store_id(database)

    content = f"order_id,item_id,timestamp\nB,a,03/10/2025\nB,b,{other}\n"
    report = import_text(database, store, content)

    assert report.rows_undated == (day is None)
    (found,) = (line.ts for line in standing(database, store) if line.item_id == "a")
    assert found == (MIDNIGHT if day is None else parse_timestamp(day))


def test_only_lines_that_change_count_as_updated(database: Database) -> None:
    store = new_store_id(database)
    import_text(database, store, HEADER + "B,a,c-1,2026-02-01,2,5\nB,b,,,1,\n")

    report = import_text(
        database, store, HEADER + "B,a,c-1,2026-02-01,2,5\nB,b,,,3,\nB,c,,,1,\n"
    )

    assert (report.rows, report.lines_imported, report.lines_updated) == (3, 1, 1)


def test_a_file_that_comes_again_changes_nothing(database: Database) -> None:
    store = new_store_id(database)
    content = HEADER + "B,a,c-1,2026-02-01,2,5\nB,b,,,,\nB,a,c-1,2026-02-01,2,5\n"
    import_text(database, store, content)
    before = rows_of(database, store, purchase_lines)

    report = import_text(database, store, content, at=NOON + DAY_MS)

    assert (report.rows, report.lines_imported, report.lines_updated) == (3, 0, 0)
    assert rows_of(database, store, purchase_lines) == before
    assert rows_of(database, store, imports) == []


def test_a_file_that_comes_again_overwrites_what_came_between(database: Database) -> None:
    store = new_store_id(database)
    first = "order_id,item_id,quantity\nB,a,2\n"
    import_text(database, store, first)
    import_text(database, store, "order_id,item_id,quantity\nB,a,5\n")

    import_text(database, store, first)

    assert [line.quantity for line in standing(database, store)] == [2]


def test_of_an_endless_order_only_what_the_file_names_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_history_import, "MAX_LINES", 500)
    store = new_store_id(database)
    rows = "".join(f"B,item-{number},1\n" for number in range(3_000))
    import_text(database, store, "order_id,item_id,qty\n" + rows)

    report = import_text(database, store, "order_id,item_id,qty\nB,item-7,4\nB,new,1\n")

    found = standing(database, store)
    assert (report.lines_imported, report.lines_updated) == (1, 1)
    assert len(found) == 3_001
    assert next(line.quantity for line in found if line.item_id == "item-7") == 4
    place = [column.name for column in purchase_lines.columns].index("basket") - 1
    assert len({row[place] for row in rows_of(database, store, purchase_lines)}) == 1


# ---------------------------------------------------- an upload again: rule 6 of the CSV

SYNONYMS = {
    "customer_id": ["customer_id", "Customer ID"],
    "timestamp": ["timestamp", "Timestamp"],
    "quantity": ["quantity", "qty", "units", "Units"],
    "price": ["price", "unit_price", "item price"],
}
CELLS = {
    "customer_id": st.sampled_from(["", "c-1", "c-2"]),
    "timestamp": st.sampled_from(["", "soon", "2026-02-01", "2026-02-02T03:04:05Z"]),
    "quantity": st.sampled_from(["", "1", "2", "-3"]),
    "price": st.sampled_from(["", "0.5", "7", "2.25"]),
}
TIMES = {"2026-02-01": 1_769_904_000_000, "2026-02-02T03:04:05Z": 1_770_001_445_000}


@st.composite
def uploads(draw: st.DrawFn) -> tuple[str, list[dict[str, str]]]:
    """Return a CSV with some columns in some order, and its rows by their own names."""
    carried = draw(st.lists(st.sampled_from(sorted(SYNONYMS)), unique=True))
    columns = draw(st.permutations(["order_id", "item_id", *carried]))
    header = [draw(st.sampled_from(SYNONYMS.get(name, [name]))) for name in columns]
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "order_id": st.sampled_from(["A", "B"]),
                    "item_id": st.sampled_from(["x", "y"]),
                    **{name: CELLS[name] for name in carried},
                }
            ),
            min_size=1,
            max_size=6,
        )
    )
    lines = [header, *([row[name] for name in columns] for row in rows)]
    return "".join(",".join(cells) + "\n" for cells in lines), rows


def overwritten(
    books: dict[tuple[str, str], StoredLine], rows: Sequence[Mapping[str, str]]
) -> None:
    """Do to `books` what an upload of `rows` should, in the plainest way."""
    for row in rows:
        place = row["order_id"], row["item_id"]
        old = books.get(place) or StoredLine(*place, None, None, None, MIDNIGHT)
        quantity, price, total = old.quantity, old.price, old.total
        if row.get("quantity"):
            quantity = int(row["quantity"])
        if row.get("price"):
            price = float(row["price"])
        if price is not None and (row.get("quantity") or row.get("price")):
            total = price * (1 if quantity is None else quantity)
        ts = TIMES.get(row.get("timestamp", ""), old.ts)
        shopper = row.get("customer_id") or old.shopper
        books[place] = StoredLine(*place, quantity, price, total, ts, shopper)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(uploads(), min_size=1, max_size=4))
def test_an_upload_overwrites_only_what_it_carries(
    sqlite_database: Database, files: list[tuple[str, list[dict[str, str]]]]
) -> None:
    store, books = new_store_id(sqlite_database), dict[tuple[str, str], StoredLine]()

    for content, rows in files:
        import_text(sqlite_database, store, content)
        overwritten(books, rows)

    assert standing(sqlite_database, store) == [books[place] for place in sorted(books)]


@pytest.mark.parametrize(
    ("later", "currency"),
    [
        ("order_id,item_id,price\nA,x,5\n", "USD"),
        ("order_id,item_id,currency\nA,x,\n", "USD"),
        ("order_id,item_id,currency\nA,x,chf\n", "CHF"),
        ("order_id,item_id,qty\nA,x,0\n", None),
        ("order_id,item_id,currency\nA,x,Euro per unit\n", "USD"),
    ],
    ids=["no column", "empty", "another", "removed", "not a code"],
)
def test_a_line_keeps_its_currency_until_a_file_names_another(
    database: Database, later: str, currency: str | None
) -> None:
    store = new_store_id(database)
    place = [column.name for column in purchase_lines.columns].index("currency") - 1
    void = [column.name for column in purchase_lines.columns].index("void") - 1

    import_text(database, store, "order_id,item_id,price,currency\nA,x,4, usd\n")
    report = import_text(database, store, later)

    rows = rows_of(database, store, purchase_lines)
    assert [row[place] for row in rows if not row[void]] == [currency] * bool(currency)
    wrong = "is not a currency; write its code, such as EUR"
    assert [one.problem for one in report.errors] == [wrong] * ("Euro" in later)


# ------------------------------------------------ one purchase, three ways to tell of it

Word = tuple[str, int]
"""Which way somebody tells of item x in order A, and of how many units."""

RANKS = {"event": 0, "order": 1, "csv": 2}


def tell(database: Database, store: StoreId, word: Word) -> None:
    way, units = word
    if way == "csv":
        import_text(database, store, f"order_id,item_id,qty,price\nA,x,{units},2\n")
        return
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store)
        if way == "event":
            buy = NewEvent(EventKind.BUY, "x", user_id="c", order_id="A", value=2.0 * units)
            ingest_events(log, [[replace(buy, quantity=units)]], NOON)
        else:
            lines = (NewOrderLine("x", units, 2.0), NewOrderLine("x", 1, 2.0))
            ingest_order(log, NewOrder("A", lines, user_id="c"), NOON)


def counted(words: Sequence[Word]) -> list[int]:
    """Return the units of the lines that should stand, by the rules in the plainest way."""
    rank, lines, is_synced = -1, list[int](), False
    for way, units in words:
        is_duplicate = way == "order" and is_synced
        is_synced = is_synced or way == "order"
        if RANKS[way] >= rank and not is_duplicate:
            rank, lines = RANKS[way], [units, 1] if way == "order" else [units]
    return lines


def test_a_purchase_counts_once_whichever_way_it_comes(database: Database) -> None:
    words: Sequence[Word] = (("event", 2), ("order", 3), ("csv", 4))

    for order in itertools.permutations(words):
        store = new_store_id(database)
        for word in order:
            tell(database, store, word)
        found = standing(database, store)
        assert [(line.quantity, line.total) for line in found] == [(4, 8.0)]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(RANKS)), st.integers(1, 9)), min_size=1, max_size=6
    )
)
def test_a_higher_way_takes_the_place_of_a_lower_one(
    sqlite_database: Database, words: list[Word]
) -> None:
    store = new_store_id(sqlite_database)

    for word in words:
        tell(sqlite_database, store, word)

    found = standing(sqlite_database, store)
    assert [line.quantity for line in found] == counted(words)
    assert [line.total for line in found] == [2.0 * units for units in counted(words)]


def test_lines_that_a_history_carries_no_numbers_for_become_one_with_their_sum(
    database: Database,
) -> None:
    store = new_store_id(database)
    tell(database, store, ("order", 3))

    import_text(database, store, "order_id,item_id,timestamp\nA,x,2026-02-01T12:00Z\n")

    assert standing(database, store) == [StoredLine("A", "x", 4, 2.0, 8.0, FEBRUARY, "c")]


def test_a_live_order_stays_live_when_the_history_has_it_too(database: Database) -> None:
    store = new_store_id(database)
    tell(database, store, ("order", 3))

    import_text(database, store, "order_id,item_id,qty\nA,x,4\nB,x,1\n")

    names = [column.name for column in purchase_lines.columns][1:]
    rows = [dict(zip(names, row, strict=True)) for row in standing_rows(database, store)]
    assert {row["order_id"]: bool(row["imported"]) for row in rows} == {
        "A": False,
        "B": True,
    }


def standing_rows(database: Database, store: StoreId) -> list[tuple[object, ...]]:
    void = [column.name for column in purchase_lines.columns].index("void") - 1
    return [row for row in rows_of(database, store, purchase_lines) if not row[void]]


def test_a_receipt_after_seven_days_is_another_order(database: Database) -> None:
    store = new_store_id(database)
    tell(database, store, ("csv", 4))

    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store)
        first = ingest_order(log, NewOrder("A", (NewOrderLine("x", 1),)), NOON)
        again = ingest_order(log, NewOrder("A", (NewOrderLine("x", 1),)), NOON + 7 * DAY_MS)
    tell(database, store, ("csv", 5))

    assert (first.duplicate, again.duplicate) == (False, False)
    assert [line.quantity for line in standing(database, store)] == [5, 1]


def test_a_customer_of_the_history_is_known_by_who_they_turned_out_to_be(
    database: Database,
) -> None:
    store = new_store_id(database)
    with database.transaction() as transaction:
        log = StoreLogTransaction(database, transaction, store)
        claim = NewEvent(EventKind.DETAIL_PAGE_VIEW, "x", user_id="mallory", session_id="7")
        ingest_events(log, [[claim]], NOON)  # anybody may say so
        link_customer_ids(log, [("s_1", "c")])  # the shop's server says so

    import_text(database, store, "order_id,item_id,customer_id\nA,x,s_1\nB,x,7\n")

    names = [column.name for column in purchase_lines.columns][1:]
    rows = rows_of(database, store, purchase_lines)
    lines = [dict(zip(names, row, strict=True)) for row in rows]
    people = [(line["shopper"], line["person"]) for line in lines]
    assert people == [("s_1", "c"), ("7", "7")]


def test_a_store_that_is_deleted_meanwhile_ends_the_import(database: Database) -> None:
    history = OrderHistoryImport(
        database, ItemNumberCache(), StoreId("st_gone"), ZoneInfo("UTC"), NOON
    )

    with pytest.raises(StoreDeletedError):
        history.run(io.BytesIO(b"order_id,item_id\nA,x\n"))


@pytest.mark.postgres
def test_each_order_is_looked_up_in_a_table_that_its_server_never_measured(
    migrated_url: str, tmp_path: Path
) -> None:
    lines = [f"A-{n // 7 % 1_250},item-{n * 31 % 400}" for n in range(10_000)]
    with contextlib.closing(Database.open(migrated_url, tmp_path)) as database:
        import_text(
            database, new_store_id(database), "\n".join(["order_id,item_id", *lines])
        )

        with database.reading() as connection:
            read = connection.exec_driver_sql(
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables "
                "WHERE relname = 'purchase_lines'"  # by this connection, till now
            ).scalar_one()

    assert read < 15 * len(
        lines
    )  # the store's lines anew for each order: 35 times and more
