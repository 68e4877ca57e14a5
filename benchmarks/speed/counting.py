"""What does it cost a call that it is counted? Beside a service that counts nothing."""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.rounds import compare
from benchmarks.speed.servers import Load, ready_service
from benchmarks.speed.stores import DOMAIN, copy_of, create_store, productrecs, scratch
from productrecs.core.clock import system_ms
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.billing.call_meter import CallMeter, month_at
from productrecs.tenancy.billing.metered_calls.repository import add_calls
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.report import Report

ITEMS, CONNECTIONS, SECONDS, CALLS, TRIES = 200, 32, 4.0, 200_000, 7
# Many short rounds: three long ones told from 0.95 to 1.13 for the same code.
PAIRS, BRIEFLY = 12, 1.5
BEFORE, LARGEST_SHARE, LARGEST_US = 5_000_000, 0.03, 1.0
UNCOUNTED = """
from productrecs.tenancy.billing.call_meter import CallMeter
CallMeter.check = lambda self, subscription, now_ms: None
CallMeter.count = lambda self: None
"""


def metering(report: Report) -> None:
    """Measure a call's cost of being counted: in process, and over HTTP in turns."""
    in_process(report)
    over_http(report)


def in_process(report: Report) -> None:
    """Measure `check` and `count` of a store's meter, beside two calls of nothing."""
    subscription = Subscription("growth")
    meter = CallMeter(
        DEFAULT_PLANS,
        subscription,
        1_772_366_400_000,
        0,
        lambda: None,
    )

    def counted() -> None:
        meter.check_quota(subscription, 1_772_366_400_000)
        meter.count_call()

    def nothing() -> None:
        _nothing()
        _nothing()

    cost, beneath = least(counted), least(nothing)
    report.add(
        Figure(
            "counting a metered call, in process",
            cost,
            "us",
            beneath,
            cost / beneath,
            f"<= {LARGEST_US:.0f}",
            cost <= LARGEST_US,
            f"the least of {TRIES} times {CALLS:,}; floor: two calls of nothing",
        )
    )


def over_http(report: Report) -> None:
    """Measure recommendations of one worker, counted, beside one that does not count."""
    with scratch() as folder:
        data = folder / "data"
        keys = create_store(data)
        stock(data, folder / "items.jsonl")
        begin_the_month(data)
        spell(folder / "uncounted")
        with (
            copy_of(data) as same,
            ready_service(data, 1) as counting,
            without_counting(folder / "uncounted"),
            ready_service(same, 1) as bare,
        ):
            asks = [
                b"r" + traffic.recommendation(keys["publishable_key"], number % ITEMS)
                for number in range(4 * ITEMS)
            ]
            for server in (bare, counting):
                server.load(b"\0".join(asks), CONNECTIONS, SECONDS)
            found = compare(
                bare,
                counting,
                lambda server, requests: server.load(requests, CONNECTIONS, BRIEFLY),
                lambda seed: b"\0".join(asks[seed % ITEMS :]),
                PAIRS,
            )
    theirs, ours = found.theirs(Load.cpu_us), found.ours(Load.cpu_us)
    ratio = found.ratio(Load.cpu_us)
    report.add(
        Figure(
            "CPU of a recommendation that is counted, one worker",
            ours,
            "us",
            theirs,
            ratio,
            f"<= {1 + LARGEST_SHARE:.2f} of uncounted",
            ratio <= 1 + LARGEST_SHARE and not found.refused(),
            f"{found.ours(lambda load: load.rate('r')):.0f} beside "
            f"{found.theirs(lambda load: load.rate('r')):.0f} reads/s; "
            f"{found.conditions()}",
        )
    )


def least(work: Callable[[], object]) -> float:
    """Return the microseconds of one call, in the quickest of several tries."""
    taken = []
    for _ in range(TRIES):
        began = time.process_time()
        for _ in range(CALLS):
            work()
        taken.append(time.process_time() - began)
    return 1e6 * min(taken) / CALLS


def stock(data: Path, file: Path) -> None:
    """Import some items, as the loads ask for them."""
    rows = (
        {"id": traffic.item_id(number), "title": f"Item {number}", "price": number + 1}
        for number in range(ITEMS)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    productrecs(data, "import-items", DOMAIN, str(file))


def begin_the_month(data: Path) -> None:
    """Let the store have made the calls that one as busy has made by the next morning."""
    database = Database.open(None, data)
    store = find_store(database, DOMAIN)
    with database.transaction() as transaction:
        add_calls(transaction, {(store.store_id, month_at(system_ms()).name): BEFORE})
    database.close()


def spell(folder: Path) -> None:
    """Write what makes a service count nothing."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(UNCOUNTED, "utf-8")


@contextlib.contextmanager
def without_counting(folder: Path) -> Iterator[None]:
    """Let services that are started meanwhile count nothing."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), before]))
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _nothing() -> None:
    """Do nothing."""
