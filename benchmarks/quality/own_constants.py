"""What is it worth that each store chooses its constants on its own past?

Each set's part that is learned from chooses by itself, as a store's background does
(`training/constants`), and sees nothing of what is asked. The defaults beside it
come from earlier weeks of these very sets: little should be left to gain here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality import basket_completion, bought_together, next_item
from benchmarks.quality.datasets import online_retail, retailrocket, serenade_bol
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.browse import SessionOptions
from productrecs.engines.copurchase import CopurchaseOptions, warm_up
from productrecs.records.events.event import EventKind
from productrecs.training.partitioned_shopper_events import Behaviour
from productrecs.training.training_inputs import Purchases
from productrecs.training.tuning.hyperparameter_search import Hyperparameters
from productrecs.training.tuning.tune_store import (
    tune_copurchase_options,
    tune_session_options,
)

if TYPE_CHECKING:
    from benchmarks.quality.bought_together import Trial
    from benchmarks.quality.datasets import Split
    from benchmarks.report import Report
    from productrecs.engines.arrays import Floats, Ints

PRICE: Final = 0.015  # of the hits, that a store may pay to show more of its catalog


def measure(report: Report) -> None:
    """Add what the chosen constants reach beside the defaults, on all three sets."""
    for name, split in (("RetailRocket", retailrocket()), ("serenade_bol", serenade_bol())):
        _visits(report, name, split)
    _orders(report)


def _orders(report: Report) -> None:
    test = bought_together.trial(online_retail(), bought_together.CUT)
    warm_up()
    began = time.process_time()
    lines = purchases_of(test)
    chosen = tune_copurchase_options(lines, test.orders.n_items, lambda: None)
    seconds = time.process_time() - began
    assert chosen is not None
    told = _told(Hyperparameters(companions=chosen), "companions", seconds)
    mine = bought_together.ask(test, bought_together.ours(test, chosen))
    usual = bought_together.ask(test, bought_together.ours(test, CopurchaseOptions()))
    groups = np.repeat(np.arange(len(test.asked)), [len(order) for order in test.asked])
    for length in (4, 10):
        title = f"own constants, bought together, hit@{length}"
        _add(report, title, mine.hits[length], usual.hits[length], groups, told)
    shown = "own constants, bought together, catalog coverage of the first 4"
    ratio = mine.coverage / usual.coverage
    report.add(Figure(shown, mine.coverage, "share", usual.coverage, ratio))
    largest = bought_together.LARGEST_ASKED
    asked = basket_completion.questions(test, test.now_ms, largest=largest)
    hits = [
        basket_completion.ask(asked, basket_completion.ours(test, options))[0]
        for options in (chosen, CopurchaseOptions())
    ]
    title = "own constants, basket completion, HR@10"
    _add(report, title, hits[0], hits[1], np.arange(len(asked)), told)


def _visits(report: Report, name: str, split: Split) -> None:
    began = time.process_time()
    chosen = tune_session_options(_behaviour(split), split.n_items, lambda: None)
    seconds = time.process_time() - began
    assert chosen is not None
    told = _told(Hyperparameters(visits=chosen), "visits", seconds)
    mine = next_item.ask(split, next_item.ours(split, chosen))
    usual = next_item.ask(split, next_item.ours(split, SessionOptions()))
    for metric in ("HR@20", "MRR@20"):
        title = f"own constants, next item, {name}, {metric}"
        scores = mine.scores(metric), usual.scores(metric)
        _add(report, title, *scores, mine.groups, told)


def _add(
    report: Report, title: str, mine: Floats, usual: Floats, groups: Ints, told: str
) -> None:
    value, floor = float(mine.mean()), float(usual.mean())
    gain = difference(mine, usual, groups)
    note = f"floor: the defaults; difference {gain}; {told}"
    good = value >= (1.0 - PRICE) * floor or gain.high >= 0
    target = f">= {1.0 - PRICE} x floor"
    report.add(Figure(title, value, "share", floor, value / floor, target, good, note))


def _told(constants: Hyperparameters, engine: str, seconds: float) -> str:
    changes = constants.changes()[engine]
    said = ", ".join(f"{name}={value:g}" for name, value in changes.items())
    return f"chosen in {seconds:.0f} s of CPU: {said or 'the defaults'}"


def purchases_of(test: Trial) -> Purchases:
    learned = test.orders.times < test.now_ms
    orders, items, times = test.orders.lines_of(learned)
    count = len(items)
    return Purchases(
        line_seqs=np.arange(count),
        baskets=orders,
        items=items,
        quantities=np.ones(count, np.int64),
        totals=np.zeros(count),
        times=times,
        is_active=np.ones(count, np.bool_),
        buyers=np.zeros(count, np.int64),
        visitors=np.zeros(count, np.int64),
    )


def _behaviour(split: Split) -> Behaviour:
    sessions, items, times = split.train.events()
    return Behaviour(
        times=times,
        kinds=np.full(len(items), EventKind.DETAIL_PAGE_VIEW, np.int8),
        items=items,
        visitors=sessions + 1,
    )
