"""Where do the engines' constants come from? From before what the figures are tested on.

Bought together: October 12 to November 9 of 2011 asked, learned from before. Next item: the
newest 5,000 train sessions of RetailRocket, and serenade_bol's own validation file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from benchmarks.quality import bought_together, next_item
from benchmarks.quality.datasets import earlier, online_retail, retailrocket, serenade_bol
from benchmarks.report import Figure
from productrecs.engines.browse import SessionKnnOptions
from productrecs.engines.copurchase import CopurchaseOptions

if TYPE_CHECKING:
    from benchmarks.quality.datasets import Split
    from benchmarks.report import Report

ORDERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"exponent": 0.1},
    {"prior": 5.0},
    {"prior": 20.0},
    {"half_life_days": 180.0},
    {"half_life_days": 720.0},
    {"large_basket": 15},
    {"large_basket": 60},
)
SESSIONS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"neighbours": 200},
    {"recent_sessions": 2500, "neighbours": 1000},
    {"distance_scale": 0.2},
    {"distance_scale": 1.0},
    {"returns": 0.0},
    {"returns": 1.0},
    {"days_scale": 100.0},
    {"match_scale": 2.5, "vote_scale": 2.5},
    {"rarity": 0.5},
    {"rarity": 2.0},
)


def measure(report: Report) -> None:
    """Add what the defaults, and each change of one constant, reach on the earlier part."""
    test = bought_together.trial(online_retail(), "2011-10-12", bought_together.CUT)
    for changed in ORDERS:
        options = replace(CopurchaseOptions(), **changed)
        outcome = bought_together.ask(test, bought_together.ours(test, options))
        hit = float(outcome.hits[4].mean())
        report.add(
            Figure(f"chosen on: Online Retail hit@4 {_named(changed)}", hit, "share")
        )
    for name, split in (
        ("RetailRocket", earlier(retailrocket(), 5_000)),
        ("serenade_bol", serenade_bol("valid")),
    ):
        _sessions(report, name, split)


def _sessions(report: Report, name: str, split: Split) -> None:
    for changed in SESSIONS:
        options = replace(SessionKnnOptions(), **changed)
        outcome = next_item.ask(split, next_item.ours(split, options))
        note = f"MRR@20 {outcome.mean('MRR@20'):.4f}"
        title = f"chosen on: {name} HR@20 {_named(changed)}"
        report.add(Figure(title, outcome.mean("HR@20"), "share", note=note))


def _named(changed: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in changed.items()) or "as it is"
