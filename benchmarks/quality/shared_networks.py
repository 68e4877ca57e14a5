"""Shared networks: what does the share of a network cost where honest shoppers share one?

No data set has addresses, so they are drawn: half of the visits that are learned from come
from 200 addresses with Zipf's frequencies, such as those of carriers and offices, each
other visit from an address of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.datasets import Sessions, rees46, retailrocket, serenade_bol
from benchmarks.quality.next_item import ask, ours
from benchmarks.report import Figure
from productrecs.core.ids import StoreId
from productrecs.engines.browse import SessionKnnOptions
from productrecs.records.events.daily_network_caps import (
    DailyNetworkCounts,
    NetworkActivity,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings

if TYPE_CHECKING:
    from benchmarks.quality.datasets import Split
    from benchmarks.report import Report

_STORE: Final = StoreId("store")
_SHARED: Final = 200  # addresses
_SEED: Final = 1
_LONGEST: Final = 20


def measure(report: Report) -> None:
    """Add HR@20 and MRR@20 of the next item, without the limit and with it."""
    sets = {
        "REES46": rees46(),
        "Serenade": serenade_bol(),
        "RetailRocket": retailrocket(),
    }
    for name, split in sets.items():
        limited, left_out = _limited(split)
        for what, chosen in (("no limit", split), ("limited", limited)):
            places = ask(chosen, ours(chosen, SessionKnnOptions())).places
            found = (places > 0) & (places <= _LONGEST)
            note = f"{len(places)} steps"
            if chosen is limited:
                note += f"; {left_out:.2%} of the learned events left out"
            title = f"shared networks, {name}, {what}"
            rank = np.where(found, 1 / np.maximum(places, 1), 0).mean()
            report.add(Figure(f"{title}: HR@20", float(found.mean()), "", note=note))
            report.add(Figure(f"{title}: MRR@20", float(rank), "", note=note))


def _limited(split: Split) -> tuple[Split, float]:
    """Return what models learn from, and the share of events that they do not."""
    rng, count = np.random.default_rng(_SEED), len(split.train.items)
    weights = 1 / np.arange(1, _SHARED + 1)
    shared = rng.choice(_SHARED, count, p=weights / weights.sum())
    is_shared = rng.random(count) < 0.5
    counts, least = DailyNetworkCounts(), StoreSettings().network_share
    learned: list[tuple[list[int], int]] = []
    for visit, (items, now_ms) in enumerate(
        zip(split.train.items, split.train.ends_ms, strict=True)
    ):
        network = f"shared {shared[visit]}" if is_shared[visit] else f"own {visit}"
        kept = [
            item
            for item in items
            if not counts.is_excess_else_count(
                _STORE, NetworkActivity(network, str(visit), (str(item),)), now_ms, least
            )
        ]
        if kept:
            learned.append((kept, now_ms))
    total, rest = sum(map(len, split.train.items)), sum(len(one) for one, _ in learned)
    train = Sessions([items for items, _ in learned], [end for _, end in learned])
    return replace(split, train=train), 1 - rest / total
