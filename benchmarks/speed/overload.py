"""Overload: goodput of lists at one, two and four times the peak.

Three small stores: one asks for a twentieth of the lists, in `QUIET`, the other two share
the rest. The peak is found right before, over few connections that ask as they are
answered. Then lists leave at drawn times over thousands of connections, whether or not
earlier ones were answered; one that finds no connection free is not asked for. Events come
as often as at the peak, over connections of their own, as the quiet store's lists do. The
load client takes a part of the machine, which the note says.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Figure
from benchmarks.speed.servers import ready_service
from benchmarks.speed.stores import productrecs, scratch
from benchmarks.speed.traffic import get, post

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.speed.servers import Load, Server

WORKERS = 2
TIMES = (1, 2, 4)
CONNECTIONS = int(os.environ.get("BENCH_CONNECTIONS", "3000"))
AT_THE_PEAK = 32
SECONDS, ROUNDS = 5.0, int(os.environ.get("BENCH_ROUNDS", "3"))
ITEMS, SHOPPERS, REQUESTS = 2_000, 1_000, 60_000
QUIET, EVENTS = 20, 10
"""One list in so many is the quiet store's; one event comes to so many of the peak's."""
APART = ("--impatient", "--apart", "e=64", "--apart", "q=16")
GOODPUT, EVENTS_P99_MS = 0.8, 500.0


def overload(report: Report) -> None:
    """Add goodput and the p99 of events and of a quiet store at each offered load."""
    with scratch() as data:
        keys = [stock(data, number) for number in range(3)]
        with ready_service(data, WORKERS) as server:
            for _ in range(2):
                _peak(server, keys, seed=1)
            for number in range(ROUNDS):
                _round(report, server, keys, number)


def _round(report: Report, server: Server, keys: list[str], number: int) -> None:
    peak = _peak(server, keys, seed=10 * number)
    lists = _good(peak)
    for times in TIMES:
        lots = _requests(keys, times, seed=10 * number + times)
        rate = lists * (times + 1 / EVENTS)
        load = server.load(lots, CONNECTIONS, SECONDS, rate, *APART)
        _add(report, f"overload {times}x, round {number}", load, peak, times)
    after = server.load(_requests(keys, 1, seed=9), AT_THE_PEAK, 1.0, lists / 2)
    p99, refused = after.classes["r"]["p99_ms"], after.refused()
    note = f"half of the peak for a second, at once after it; refused {refused}"
    report.add(
        Figure(f"overload, lists after it, round {number}", p99, "ms p99", note=note)
    )


def _add(report: Report, name: str, load: Load, peak: Load, times: int) -> None:
    ratio = _good(load) / _good(peak)
    lists, quiet, events = (load.classes[letter] for letter in "rqe")
    ok = (
        (ratio >= GOODPUT or times == 1)
        and events["p99_ms"] < EVENTS_P99_MS
        and not events["refused"]
    )
    refused = lists["refused"] / load.seconds
    note = (
        f"{CONNECTIONS} connections; p99 of lists given {lists['given_p99_ms']:.0f} ms, "
        f"of events {events['p99_ms']:.0f} ms, of the quiet store {quiet['p99_ms']:.0f} ms "
        f"(refused {quiet['refused']} of {quiet['count']}); {refused:.0f} refused/s, "
        f"{load.unsent / load.seconds:.0f}/s found no connection; client "
        f"{load.client_cpu:.2f} CPU ({peak.client_cpu:.2f} at the peak), service "
        f"{load.server_cpu:.2f} ({peak.server_cpu:.2f}), neighbours "
        f"{load.neighbours_cpu:.2f} ({peak.neighbours_cpu:.2f})"
    )
    target = f">= {GOODPUT}, events < {EVENTS_P99_MS:.0f} ms"
    report.add(Figure(name, _good(load), "lists/s", _good(peak), ratio, target, ok, note))


def _good(load: Load) -> float:
    """Return the lists given a second."""
    given = sum(load.classes[letter]["given"] for letter in "rq" if letter in load.classes)
    return given / load.seconds


def _peak(server: Server, keys: list[str], seed: int) -> Load:
    """Return what can be done: lists and events, asked for as they are answered."""
    requests = _requests(keys, 1, seed).replace(b"\0q", b"\0r")
    return server.load(requests, AT_THE_PEAK, SECONDS)


def _requests(keys: list[str], times: int, seed: int) -> bytes:
    """Return a file of requests: lists of all stores, and as many events as at the peak."""
    rng = np.random.default_rng(seed)
    items = np.minimum(rng.geometric(0.005, REQUESTS), ITEMS - 1).tolist()
    shoppers = rng.integers(0, SHOPPERS, REQUESTS).tolist()
    chunks = []
    for at, (item, shopper) in enumerate(zip(items, shoppers, strict=True)):
        key = keys[at % 2]
        if at % (EVENTS * times + 1) == EVENTS * times:
            event = {"event": "detail-page-view", "item_id": f"i{item}"}
            body = {**event, "user_id": f"u{shopper}"}
            chunks.append(b"e" + post(f"/v1/events?key={key}", body))
            continue
        letter, key = (b"q", keys[2]) if at % (QUIET * times) == 1 else (b"r", key)
        who = f"item_id=i{item}&user_id=u{shopper}"
        chunks.append(letter + get(f"/v1/recommendations?{who}&key={key}"))
    return b"\0".join(chunks)


def stock(data: Path, number: int) -> str:
    """Open a store with items and a past, let it learn; return its publishable key."""
    domain = f"store-{number}.example"
    words = ("store", "create", "--domain", domain, "--plan", "unlimited", "--json")
    told = json.loads(productrecs(data, *words))
    rng = np.random.default_rng(number)
    items, orders = data.parent / "items.jsonl", data.parent / "orders.csv"
    with items.open("w") as out:
        for n in range(ITEMS):
            item = {"id": f"i{n}", "title": f"Thing {n}", "price": 5 + n % 90}
            url = f"https://shop.example/{n}"
            item |= {
                "product_url": url,
                "image_url": f"{url}.jpg",
                "category_ids": [f"c{n // 50}"],
            }
            out.write(json.dumps(item) + "\n")
    with orders.open("w") as out:
        out.write("order_id,item_id,customer_id,timestamp,quantity,price\n")
        for n in range(10_000):
            first = int(min(rng.geometric(0.005), ITEMS - 1))
            for bought in {first, (first + int(rng.integers(1, 9))) % ITEMS}:
                day = f"2026-11-{n % 20 + 1:02}"
                out.write(f"o{n},i{bought},u{n % SHOPPERS},{day}T10:00:00Z,1,9\n")
    productrecs(data, "import-items", domain, str(items))
    productrecs(data, "import-orders", domain, str(orders))
    productrecs(data, "train", domain)
    return str(told["publishable_key"])
