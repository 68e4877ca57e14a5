"""What do we measure on? The public data sets, read and cut exactly as each figure says."""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import numpy.typing as npt

    from productrecs.engines.array_types_and_sorting import (
        Bools,
        Floats,
        Ints,
        Items,
    )

ROOT: Final = Path(__file__).parents[2]
DAY_MS: Final = 86_400_000
EPOCH_ORDINAL: Final = 719_163  # of 1970-01-01
NO_PRODUCTS: Final = (
    "POST",
    "DOT",
    "M",
    "BANK CHARGES",
    "PADS",
    "AMAZONFEE",
    "C2",
    "S",
    "B",
)


class MissingDataError(Exception):
    """A data set is not on this machine; whoever measures skips it aloud."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Distinct items of orders: `orders` and `items` are parallel, sorted by order."""

    orders: Ints
    items: Items
    times: Ints  # per order, UTC milliseconds
    n_items: int
    customers: Ints  # per order; 0 is nobody

    @property
    def sizes(self) -> Ints:
        """Distinct items of each order."""
        return np.bincount(self.orders, minlength=len(self.times))

    def contents(self, chosen: Ints) -> list[Items]:
        """Return the items of each of the orders `chosen`."""
        ends = np.cumsum(self.sizes)
        begins = ends - self.sizes
        return [self.items[begins[one] : ends[one]] for one in chosen.tolist()]

    def lines_of(self, chosen: Bools) -> tuple[Ints, Items, Ints]:
        """Return orders, items and times of the lines of the orders that are `chosen`."""
        lines = chosen[self.orders]
        return self.orders[lines], self.items[lines], self.times[self.orders[lines]]


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions in the order of time: item numbers in order, and when each ended."""

    items: list[list[int]]
    ends_ms: list[int]

    def events(self) -> tuple[Ints, Items, Ints]:
        """Return sessions, items and times (a second apart) of every event."""
        lengths = [len(one) for one in self.items]
        sessions = np.repeat(np.arange(len(lengths)), lengths)
        back = np.concatenate([np.arange(length)[::-1] for length in lengths])
        times = np.repeat(np.array(self.ends_ms, np.int64), lengths) - 1000 * back
        return sessions, np.concatenate(self.items).astype(np.int32), times


@dataclass(frozen=True, slots=True)
class Split:
    """What is learned from, and the sessions whose every step is asked."""

    train: Sessions
    asked: Sessions
    n_items: int
    least_prefix: int  # items a visit must show before its next one is asked


@dataclass(frozen=True, slots=True)
class Judged:
    """Queries by id, and what people thought of products for them.

    Grades have the numbers of their source: the lowest is 1, whatever the highest is.
    """

    products: list[tuple[int, str, str]]  # id, title, description
    queries: dict[int, str]
    grades: dict[int, dict[int, float]]  # by query: product -> grade, the best of repeats
    good: float = 3  # the least grade of a good product


def folder() -> Path:
    """Return where the data sets lie."""
    given = os.environ.get("PRODUCTRECS_BENCH_DATA")
    return Path(given) if given else ROOT.parent / "shared" / "data"


def online_retail() -> Orders:
    """Return the year's orders: no cancellations, no non-products, no line without price.

    Raises:
        MissingDataError: when the data set is not there.
    """
    table = pq.read_table(
        present("online_retail/transactions.parquet"),
        columns=["invoice_no", "stock_code", "unit_price", "invoice_date", "customer_id"],
    )
    invoices = table["invoice_no"].to_numpy().astype(str)
    codes = table["stock_code"].to_numpy().astype(str)
    kept = ~np.char.startswith(invoices, "C") & ~np.isin(codes, NO_PRODUCTS)
    kept &= table["unit_price"].to_numpy() > 0
    names, orders = np.unique(invoices[kept], return_inverse=True)
    products, items = np.unique(codes[kept], return_inverse=True)
    moments = table["invoice_date"].to_numpy()[kept].astype("datetime64[ms]")
    times = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(times, orders, moments.astype(np.int64))
    customers = np.zeros(len(names), dtype=np.int64)
    known = pc.fill_null(table["customer_id"].cast("float64"), 0.0).to_numpy()[kept]
    np.maximum.at(customers, orders, known.astype(np.int64))
    lines = np.unique(orders * np.int64(len(products)) + items)
    return Orders(
        lines // len(products),
        (lines % len(products)).astype(np.int32),
        times,
        len(products),
        customers,
    )


def online_retail_titles() -> list[str]:
    """Return the titles of `online_retail`'s items, by number; empty where none is told.

    Raises:
        MissingDataError: when the data set is not there.
    """
    table = pq.read_table(
        present("online_retail/transactions.parquet"),
        columns=["invoice_no", "stock_code", "unit_price"],
    )
    invoices = table["invoice_no"].to_numpy().astype(str)
    codes = table["stock_code"].to_numpy().astype(str)
    kept = ~np.char.startswith(invoices, "C") & ~np.isin(codes, NO_PRODUCTS)
    kept &= table["unit_price"].to_numpy() > 0
    told = {
        row["stock_code"]: row["title"] for row in _rows("online_retail/catalog.csv.gz")
    }
    return [told.get(code, "").strip() for code in np.unique(codes[kept]).tolist()]


def online_retail_demand() -> tuple[npt.NDArray[np.float32], int]:
    """Return units by product and day, returns negative, and the first day's ordinal.

    No non-products and no line without a price; shape [products, days].

    Raises:
        MissingDataError: when the data set is not there.
    """
    table = pq.read_table(
        present("online_retail/transactions.parquet"),
        columns=["stock_code", "quantity", "unit_price", "invoice_date"],
    )
    codes = table["stock_code"].to_numpy().astype(str)
    kept = ~np.isin(codes, NO_PRODUCTS) & (table["unit_price"].to_numpy() > 0)
    products, items = np.unique(codes[kept], return_inverse=True)
    days = table["invoice_date"].to_numpy()[kept].astype("datetime64[D]").astype(np.int64)
    first = int(days.min())
    amounts = np.zeros((len(products), int(days.max()) - first + 1), np.float32)
    np.add.at(amounts, (items, days - first), table["quantity"].to_numpy()[kept])
    return amounts, EPOCH_ORDINAL + first


def online_retail_sales() -> tuple[npt.NDArray[np.float32], int]:
    """Return units by product and day as they were sold, and the first day's ordinal.

    No cancellation, no non-product and no line without a price; shape [products, days].

    Raises:
        MissingDataError: when the data set is not there.
    """
    table = pq.read_table(
        present("online_retail/daily_demand.parquet"),
        columns=["date", "stock_code", "units"],
    )
    codes = table["stock_code"].to_numpy().astype(str)
    kept = ~np.isin(codes, NO_PRODUCTS)
    products, items = np.unique(codes[kept], return_inverse=True)
    days = table["date"].to_numpy().astype("datetime64[D]").astype(np.int64)[kept]
    first = int(days.min())
    amounts = np.zeros((len(products), int(days.max()) - first + 1), np.float32)
    np.add.at(amounts, (items, days - first), table["units"].to_numpy()[kept])
    return amounts, EPOCH_ORDINAL + first


def retailrocket() -> Split:
    """Return the COTREC cut; train has no times: spread over the 28 days before the test.

    Raises:
        MissingDataError: when the data set is not there.
    """
    train = pq.read_table(present("sessions_retailrocket/train.parquet"))
    test = pq.read_table(present("sessions_retailrocket/test.parquet"))
    past = _grouped(train["session_id"].to_numpy(), train["item_id"].to_numpy())
    asked = _grouped(test["session_id"].to_numpy(), test["item_id"].to_numpy())
    firsts = np.unique(test["session_id"].to_numpy(), return_index=True)[1]
    ends = test["session_end_ts"].to_numpy()[firsts] * 1000
    begin = int(ends.min())
    spread = begin - np.linspace(28 * DAY_MS, 0, len(past), endpoint=False).astype(np.int64)
    return Split(
        Sessions(past, spread.tolist()),
        Sessions(asked, ends.tolist()),
        n_items=1 + max(map(max, past + asked)),
        least_prefix=2,
    )


def serenade_bol(asked: str = "test") -> Split:
    """Return Serenade's own cut; `asked` is its file of questions, `test` or `valid`.

    Raises:
        MissingDataError: when the data set is not there.
    """
    past, questions = (
        _read_clicks(f"sessions_serenade_bol/{name}.csv.gz") for name in ("train", asked)
    )
    n_items = 1 + max(max(map(max, part.items)) for part in (past, questions))
    return Split(past, questions, n_items, least_prefix=1)


def rees46(asked: tuple[float, float] = (0.8, 1.0)) -> Split:
    """Return the sample's sessions of views, cut in the order of time.

    `asked` is the part that is asked, as shares of all sessions; what ended before it is
    learned from.

    Raises:
        MissingDataError: when the data set is not there.
    """
    rows = [
        (np.datetime64(row["event_time"][:19].replace(" ", "T"), "ms").astype(int), row)
        for row in _rows("events_rees46_sample/events.csv.gz")
        if row["event_type"] == "view"
    ]
    numbers: dict[str, int] = {}
    items: dict[str, list[int]] = {}
    ends: dict[str, int] = {}
    for moment, row in sorted(rows, key=lambda pair: pair[0]):
        number = numbers.setdefault(row["product_id"], len(numbers))
        items.setdefault(row["user_session"], []).append(number)
        ends[row["user_session"]] = int(moment)
    names = sorted(ends, key=lambda session: ends[session])
    first, last = (int(share * len(names)) for share in asked)
    past, questions = (
        Sessions([items[one] for one in some], [ends[one] for one in some])
        for some in (names[:first], names[first:last])
    )
    return Split(past, questions, len(numbers), least_prefix=1)


def further_sets(kind: str) -> list[str]:
    """Return the names of all folders `baskets_NAME` or `sessions_NAME` beside the known.

    Raises:
        MissingDataError: when there is none.
    """
    known = {"sessions_retailrocket", "sessions_serenade_bol"}
    found = {path.name for path in folder().glob(f"{kind}_*") if path.is_dir()}
    if not found - known:
        message = f"no folder {kind}_NAME in {folder()}; set PRODUCTRECS_BENCH_DATA"
        raise MissingDataError(message)
    return [name.removeprefix(f"{kind}_") for name in sorted(found - known)]


def further_baskets(name: str) -> tuple[Sessions, int]:
    """Return the orders in `baskets_NAME/orders.csv.gz`, and the number of items.

    Columns as Serenade's: session_id (of the order), ts (seconds), item_id; all numbers.
    """
    orders = _read_clicks(f"baskets_{name}/orders.csv.gz")
    numbers: dict[int, int] = {}
    return _numbered(orders, numbers), len(numbers)


def further_sessions(name: str) -> Split:
    """Return the split in `sessions_NAME`: train.csv.gz and test.csv.gz as Serenade's."""
    numbers: dict[int, int] = {}
    past, asked = (
        _numbered(_read_clicks(f"sessions_{name}/{part}.csv.gz"), numbers)
        for part in ("train", "test")
    )
    return Split(past, asked, len(numbers), least_prefix=1)


def _numbered(sessions: Sessions, numbers: dict[int, int]) -> Sessions:
    """Return the sessions with items numbered as they first occur."""
    items = [
        [numbers.setdefault(item, len(numbers)) for item in one] for one in sessions.items
    ]
    return Sessions(items, sessions.ends_ms)


def crowdflower() -> Judged:
    """Return all products, queries and judgements; grades 1 to 4.

    Raises:
        MissingDataError: when the data set is not there.
    """
    return _judged("search_crowdflower", 3)


def home_depot() -> Judged:
    """Return the Home Depot set: titles of a hardware shop, mean grades of 1 to 3.

    Source: the `train.csv` of Kaggle's "Home Depot Product Search Relevance" (2016), here
    with one in four of its 11,795 queries; all titles are ranked.

    Raises:
        MissingDataError: when the data set is not there.
    """
    full = _judged("search_home_depot", 2.5)
    asked = {one: text for one, text in full.queries.items() if one % 8 in {1, 2}}
    return replace(full, queries=asked)


def chorus() -> Judged:
    """Return the Chorus set: an electronics shop, ratings of 0 to 3 as grades 1 to 4.

    Source: github.com/querqy/chorus, the products of `data-encoder/ecommerce/vectors/data`
    (title and short description) and `katas/Broad_Query_Set_rated.csv`.

    Raises:
        MissingDataError: when the data set is not there.
    """
    return _judged("search_chorus", 3)


def _judged(name: str, good: float) -> Judged:
    """Return the set in folder `name`; query ids count up from 1 in the source's order.

    The folder has `products.csv.gz` (product_id, product_title, product_description),
    `queries.csv` (query_id, query) and `labels.csv.gz` (query_id, product_id, grade_1_4).
    """
    grades: dict[int, dict[int, float]] = {}
    for row in _rows(f"{name}/labels.csv.gz"):
        known = grades.setdefault(int(row["query_id"]), {})
        product = int(row["product_id"])
        known[product] = max(float(row["grade_1_4"]), known.get(product, 0))
    with present(f"{name}/queries.csv").open(encoding="utf-8", newline="") as file:
        queries = {int(row["query_id"]): row["query"] for row in csv.DictReader(file)}
    products = [
        (int(row["product_id"]), row["product_title"], row["product_description"])
        for row in _rows(f"{name}/products.csv.gz")
    ]
    return Judged(products, queries, grades, good)


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(present(name), "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def earlier(split: Split, sessions: int) -> Split:
    """Return a split that asks the newest `sessions` of the train part instead."""
    items, ends = split.train.items, split.train.ends_ms
    return Split(
        Sessions(items[:-sessions], ends[:-sessions]),
        Sessions(items[-sessions:], ends[-sessions:]),
        split.n_items,
        split.least_prefix,
    )


def _read_clicks(name: str) -> Sessions:
    with gzip.open(present(name), "rt", encoding="utf-8", newline="") as file:
        rows = [
            (int(row["session_id"]), float(row["ts"]), int(row["item_id"]))
            for row in csv.DictReader(file)
        ]
    rows.sort(key=lambda row: row[:2])
    ends: dict[int, int] = {}
    items: dict[int, list[int]] = {}
    for session, moment, item in rows:
        ends[session] = round(moment * 1000)
        items.setdefault(session, []).append(item)
    order = sorted(ends, key=lambda session: (ends[session], session))
    return Sessions([items[one] for one in order], [ends[one] for one in order])


def _grouped(
    sessions: npt.NDArray[np.int32], items: npt.NDArray[np.int32]
) -> list[list[int]]:
    borders = np.flatnonzero(np.diff(sessions)) + 1
    return [part.tolist() for part in np.split(items, borders)]


def present(name: str) -> Path:
    """Return the path of a data set's file.

    Raises:
        MissingDataError: when it is not there.
    """
    path = folder() / name
    if not path.is_file():
        message = f"{path} is not there; set PRODUCTRECS_BENCH_DATA to its folder"
        raise MissingDataError(message)
    return path


def age_days(times: Ints, now_ms: int) -> Floats:
    """Return how many days before `now_ms` each time was, never below 0."""
    return np.maximum((now_ms - times) / DAY_MS, 0.0)
