"""Next item: is what a visitor looks at next among the twenty shown?

Every step of every asked session is a question (RetailRocket from the second item on, as
its authors cut it; serenade_bol from the first). The list is of the whole catalog without
the current item; earlier items of the visit may stand in it. A step that stays on the same
item remains a question and is missed by every method alike. HR@20 is the share of steps
whose item is in the list, MRR@20 the mean of 1/place, 0 outside the twenty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import (
    Split,
    further_sessions,
    further_sets,
    rees46,
    retailrocket,
    serenade_bol,
)
from benchmarks.quality.peers import PlainVmis, count_together
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.browse import SessionKnnOptions, fit_sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

    Lists = Callable[[list[int], int], Items]  # the visit so far, and when

SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """The place each question's item had in the list: 1.. , or 0 when it was not there."""

    places: Ints
    groups: Ints  # the session of each question

    def scores(self, metric: str) -> Floats:
        """Return each question's score by `HR@20` (1 or 0) or `MRR@20` (1/place or 0)."""
        found = (self.places > 0).astype(np.float64)
        return found if metric == "HR@20" else found / np.maximum(self.places, 1)

    def mean(self, metric: str) -> float:
        """Return the mean score by `metric`."""
        return float(self.scores(metric).mean())


def ours(split: Split, options: SessionKnnOptions) -> Lists:
    """Return our engine's lists."""
    sessions, items, times = split.train.events()
    index = fit_sessions(sessions, items, times, split.n_items, options)
    return lambda visit, now_ms: index.next_items(visit, now_ms, SHOWN, extend=True).items


def plain(split: Split, **constants: int) -> Lists:
    """Return the lists of plain VMIS-kNN; m = 1000 and k = 100 unless said otherwise."""
    peer = PlainVmis(split.train, split.n_items, **constants)
    return lambda visit, _: peer.next_items(visit, SHOWN)


def rules(split: Split) -> Lists:
    """Return the lists of association rules: counts beside the current item alone."""
    sessions, items, _ = split.train.events()
    lists = count_together(sessions, items, split.n_items, SHOWN)
    return lambda visit, _: lists(visit[-1])


def ask(split: Split, lists: Lists) -> Outcome:
    """Return where each step's item stood."""
    places: list[int] = []
    groups: list[int] = []
    for number, (visit, now_ms) in enumerate(
        zip(split.asked.items, split.asked.ends_ms, strict=True)
    ):
        for step in range(split.least_prefix, len(visit)):
            found = np.flatnonzero(lists(visit[:step], now_ms) == visit[step])
            places.append(int(found[0]) + 1 if len(found) else 0)
            groups.append(number)
    return Outcome(np.array(places), np.array(groups))


def measure_retailrocket(report: Report) -> None:
    """Add HR@20 and MRR@20 on RetailRocket, beside the better of two plain methods."""
    split = retailrocket()
    floors = {
        "plain VMIS-kNN m=1000 k=100": ask(split, plain(split)),
        "association rules": ask(split, rules(split)),
    }
    _measure(report, "RetailRocket", split, floors, reach=1.05)


def measure_serenade_bol(report: Report) -> None:
    """Add HR@20 and MRR@20 on serenade_bol, beside VMIS-kNN with its tuned constants."""
    split = serenade_bol()
    floors = {
        "VMIS-kNN tuned, m=1502 k=288 last 4": ask(
            split, plain(split, m=1502, k=288, last=4)
        ),
        "plain VMIS-kNN m=1000 k=100": ask(split, plain(split)),
        "association rules": ask(split, rules(split)),
    }
    _measure(report, "serenade_bol", split, floors, reach=None)


def measure_rees46(report: Report) -> None:
    """Add HR@20 and MRR@20 on the newest fifth of the REES46 sample's sessions."""
    split = rees46()
    floors = {
        "plain VMIS-kNN m=1000 k=100": ask(split, plain(split)),
        "association rules": ask(split, rules(split)),
    }
    _measure(report, "REES46", split, floors, reach=1.05)


def measure_further(report: Report) -> None:
    """Add HR@20 and MRR@20 on the sessions of every folder `sessions_NAME`.

    Raises:
        MissingDataError: when there is none.
    """
    for name in further_sets("sessions"):
        split = further_sessions(name)
        floors = {
            "plain VMIS-kNN m=1000 k=100": ask(split, plain(split)),
            "association rules": ask(split, rules(split)),
        }
        _measure(report, name, split, floors, reach=1.05)


def _measure(
    report: Report,
    name: str,
    split: Split,
    floors: dict[str, Outcome],
    reach: float | None,
) -> None:
    """Add figures beside the best floor; `reach` None: not below it, by the interval."""
    mine = ask(split, ours(split, SessionKnnOptions()))
    is_new = np.array(
        [
            visit[step] not in visit[:step]
            for visit in split.asked.items
            for step in range(split.least_prefix, len(visit))
        ]
    )
    stays = np.mean(
        [
            visit[step] == visit[step - 1]
            for visit in split.asked.items
            for step in range(split.least_prefix, len(visit))
        ]
    )
    asked = f"{len(mine.places)} steps ({stays:.0%} stay on the item)"
    for metric in ("HR@20", "MRR@20"):
        title = f"next item, {name}, {metric}"
        best = max(floors, key=lambda other: floors[other].mean(metric))
        value, floor = mine.mean(metric), floors[best].mean(metric)
        gain = difference(mine.scores(metric), floors[best].scores(metric), mine.groups)
        target = "not below floor" if reach is None else f">= {reach} x floor"
        good = gain.high >= 0.0 if reach is None else value >= reach * floor
        note = f"{asked}; floor: {best}; difference {gain}"
        ratio = value / floor
        report.add(Figure(title, value, "share", floor, ratio, target, good, note))
        for kind, which in (("new to the visit", is_new), ("seen before", ~is_new)):
            found = float(mine.scores(metric)[which].mean())
            least = float(floors[best].scores(metric)[which].mean())
            named, note = f"{title}, {kind}", f"{int(which.sum())} steps"
            report.add(Figure(named, found, "share", least, found / least, note=note))
        for other, outcome in floors.items():
            report.add(
                Figure(
                    f"{title}, {other}",
                    outcome.mean(metric),
                    "share",
                    note="for comparison",
                )
            )
