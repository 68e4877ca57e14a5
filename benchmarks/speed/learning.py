"""How long does learning take: from nothing, and until a new habit shows?"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import apsw
import numpy as np
from scipy import sparse

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.servers import Server, ready_service
from benchmarks.speed.shop import STEPS, VISITS, baskets, visit_walks
from benchmarks.speed.stores import DOMAIN, BigShop, copy_of, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from benchmarks.report import Report

TRAINING_SECONDS, FRESH_SECONDS, MEDIAN_SECONDS = 10.0, 60.0, 15.0
NEIGHBOURS, NEWEST = 50, 1_000
BELIEVERS = 10
HABITS, HABIT_SECONDS = 12, 5.0
NEVER_SECONDS = 150.0


def training(report: Report, shop: BigShop) -> None:
    """Measure `productrecs train` on the store with a million facts, never trained."""
    beneath = bare_training()
    with copy_of(shop.untrained) as data:
        run = timed(data, "train", DOMAIN)
        start = timed(data, "store", "list").seconds
    report.add(
        Figure(
            "train, 1M events",
            run.seconds,
            "s",
            beneath,
            run.seconds / beneath,
            f"<= {TRAINING_SECONDS:.0f}",
            run.seconds <= TRAINING_SECONDS,
            f"with the program's start of about {start:.1f} s; {run.told()}; floor: "
            "read a bare table, count with scipy, write nothing",
        )
    )


def bare_training() -> float:
    """Return the seconds to read a million facts from SQLite and index them with scipy.

    Facts lie in one bare table; what is made are the 50 nearest of each item by purchase
    and the newest visits of each item, as arrays in memory.
    """
    rng = np.random.default_rng(11)
    popularity = traffic.Popularity()
    _, walked = visit_walks(popularity, rng)
    orders = baskets(popularity, rng)
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE facts (kind INTEGER, visit INTEGER, item INTEGER)")
    visits = np.repeat(np.arange(VISITS), STEPS)
    lines = [
        (1, number, item) for number, order in enumerate(orders) for item in order.tolist()
    ]
    views = zip([0] * walked.size, visits.tolist(), walked.ravel().tolist(), strict=True)
    with connection:
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", views)
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", lines)
    began = time.perf_counter()
    visits, items = read_facts(connection, 0)
    newest_visits(visits, items)
    baskets_read, items = read_facts(connection, 1)
    shape = (len(orders), traffic.ITEMS)
    ones = np.ones(len(items), np.float32)
    matrix = sparse.csr_array((ones, (baskets_read, items)), shape=shape)
    nearest((matrix.T @ matrix).tocoo())
    return time.perf_counter() - began


def read_facts(
    connection: apsw.Connection, kind: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (visit or basket, item) of each fact of a kind."""
    rows = connection.execute("SELECT visit, item FROM facts WHERE kind = ?", (kind,))
    both = np.array(rows.fetchall(), np.int64)
    return both[:, 0], both[:, 1]


def nearest(together: sparse.coo_array) -> NDArray[np.int64]:
    """Return the entries kept when each row keeps its highest `NEIGHBOURS`."""
    row, column = together.coords
    apart = row != column
    row, value = row[apart], together.data[apart]
    order = np.lexsort((-value, row))
    firsts = np.searchsorted(row[order], np.arange(traffic.ITEMS))
    rank = np.arange(len(order)) - firsts[row[order]]
    kept: NDArray[np.int64] = order[rank < NEIGHBOURS]
    return kept


def newest_visits(visits: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, item after item, the newest `NEWEST` visits in which it was seen."""
    order = np.lexsort((-visits, items))
    firsts = np.searchsorted(items[order], np.arange(traffic.ITEMS))
    rank = np.arange(len(order)) - firsts[items[order]]
    kept: NDArray[np.int64] = visits[order][rank < NEWEST]
    return kept


def freshness(report: Report, shop: BigShop) -> None:
    """Measure how soon a new habit shows to everyone, while the shop is busy."""
    with (
        copy_of(shop.trained) as data,
        ready_service(data, 2) as serving,
        background(serving, shop.publishable_key),
    ):
        for what, begin, source in (
            ("bought together", _buy_together, "buy"),
            ("seen in turn", _view_in_turn, "browse"),
        ):
            _add(report, what, _until_shown(serving, shop, begin, source))


def _add(report: Report, what: str, seconds: list[float]) -> None:
    note = (
        f"{len(seconds)} new habits, {HABIT_SECONDS:.0f} s apart, of {BELIEVERS} shoppers "
        "each; another shopper's list shows it; with 500 requests/s beside"
    )
    for title, value, most in (
        ("p50", float(np.median(seconds)), MEDIAN_SECONDS),
        ("worst", max(seconds), FRESH_SECONDS),
    ):
        name, good = f"freshness, {what}, {title}", value <= most
        target = f"<= {most:.0f}"
        report.add(Figure(name, value, "s", target=target, ok=good, note=note))


@contextlib.contextmanager
def background(server: Server, key: str) -> Iterator[None]:
    """Keep a server busy at 500 requests a second while the block runs."""
    requests, over = traffic.pages(key, known=True, seed=41), threading.Event()

    def keep_busy() -> None:
        while not over.is_set():
            server.load(requests, 16, 2.0, 500.0)

    visitors = threading.Thread(target=keep_busy, daemon=True)
    visitors.start()
    try:
        yield
    finally:
        over.set()
        visitors.join()


def _until_shown(
    serving: Server,
    shop: BigShop,
    begin: Callable[[Server, BigShop, str, str, int], None],
    source: str,
) -> list[float]:
    """Return the seconds from the last shopper's act until a stranger is shown it.

    A habit begins every few seconds, so that they fall anywhere between two trainings.
    """
    # Pairs of rare items, far apart: nobody has ever met both.
    rare = np.setdiff1d(np.arange(traffic.ITEMS), _popular())
    begins: dict[int, float] = {}
    shown: list[float] = []
    started = time.monotonic()
    while len(shown) < HABITS:
        now = time.monotonic()
        number = len(begins) + len(shown)
        if number < HABITS and now >= started + number * HABIT_SECONDS:
            one, other = _pair(rare, number, source)
            for believer in range(BELIEVERS):
                begin(serving, shop, one, other, number * BELIEVERS + believer)
            begins[number] = time.monotonic()
        for number, since in list(begins.items()):
            one, other = _pair(rare, number, source)
            waited = time.monotonic() - since
            if _is_shown(serving, shop, one, other, source):
                shown.append(waited)
                del begins[number]
            elif waited > NEVER_SECONDS:
                shown.append(float("inf"))
                del begins[number]
        time.sleep(0.25)
    return shown


def _pair(rare: NDArray[np.int64], number: int, source: str) -> tuple[str, str]:
    place = 1_000 + 10 * number + (5 if source == "buy" else 0)
    return traffic.item_id(int(rare[place])), traffic.item_id(int(rare[-place]))


def _is_shown(serving: Server, shop: BigShop, one: str, other: str, source: str) -> bool:
    asked: dict[str, Any] = {"source": source, "num": 20, "item_id": one}
    asked["key"] = shop.publishable_key
    status, reply = serving.get("/v1/recommendations?" + urlencode(asked))
    return status == 200 and other in {card["id"] for card in reply["recommendations"]}


def _popular() -> NDArray[np.int64]:
    return np.unique(traffic.Popularity().draw(400_000, np.random.default_rng(9)))


def _buy_together(
    serving: Server, shop: BigShop, one: str, other: str, number: int
) -> None:
    lines = [{"item_id": item, "quantity": 1, "price": 9.5} for item in (one, other)]
    order = {"order_id": f"F{number}", "user_id": f"fresh{number}", "items": lines}
    status, reply = serving.post(f"/v1/orders?key={shop.publishable_key}", order)
    assert status == 200, reply


def _view_in_turn(
    serving: Server, shop: BigShop, one: str, other: str, number: int
) -> None:
    for item in (one, other):
        _view(serving, shop, item, f"seer{number}")


def _view(serving: Server, shop: BigShop, item: str, shopper: str) -> None:
    event = {"event": "detail-page-view", "item_id": item, "user_id": shopper}
    status, reply = serving.post(f"/v1/events?key={shop.publishable_key}", event)
    assert status == 200, reply
