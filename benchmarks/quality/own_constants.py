"""What is it worth that each store chooses its constants on its own past?

Each set's part that is learned from chooses by itself, as a store's background does
(`training/constants`), and sees nothing of what is asked. The defaults beside it
come from earlier weeks of these very sets: little should be left to gain here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.quality import next_item
from benchmarks.quality.datasets import retailrocket, serenade_bol
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.browse import SessionOptions
from productrecs.records.events.event import EventKind
from productrecs.training.training_inputs import Behaviour
from productrecs.training.tuning.hyperparameters import Hyperparameters
from productrecs.training.tuning.tune_store import (
    tune_session_options,
)

if TYPE_CHECKING:
    from benchmarks.quality.datasets import Split
    from benchmarks.report import Report
    from productrecs.engines.arrays import Floats, Ints


def measure(report: Report) -> None:
    """Add what the chosen constants reach beside the defaults, on both sets."""
    for name, split in (("RetailRocket", retailrocket()), ("serenade_bol", serenade_bol())):
        _visits(report, name, split)


def _visits(report: Report, name: str, split: Split) -> None:
    began = time.process_time()
    chosen = tune_session_options(_behaviour(split), split.n_items, lambda: None)
    seconds = time.process_time() - began
    assert chosen is not None
    told = _told(Hyperparameters(chosen), seconds)
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
    target, ratio = "not below floor: interval reaches 0", value / floor
    report.add(Figure(title, value, "share", floor, ratio, target, gain.high >= 0, note))


def _told(constants: Hyperparameters, seconds: float) -> str:
    changes = constants.changes()["visits"]
    said = ", ".join(f"{name}={value:g}" for name, value in changes.items())
    return f"chosen in {seconds:.0f} s of CPU: {said or 'the defaults'}"


def _behaviour(split: Split) -> Behaviour:
    sessions, items, times = split.train.events()
    return Behaviour(
        times=times,
        kinds=np.full(len(items), EventKind.DETAIL_PAGE_VIEW, np.int8),
        items=items,
        visitors=sessions + 1,
    )
