"""Earnings replay: past orders replayed with lists ranked by earnings, at several weights.

The mix list of each product page is made from the earlier data, at several weights. What
the same order held besides counts where the first places of the list show it. Shoppers of
the past did not see these lists, so a replay shows what a weight costs in relevance, and
how the same purchases would be spread; it cannot show new ones.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from productrecs.core.report import (
    FigureDefinition,
    Report,
    define_figure,
)
from productrecs.core.timestamps import iso
from productrecs.engines.array_types_and_sorting import Floats, Ints
from productrecs.features.recommendations.backtest import (
    MIN_GROUPS,
    EvaluationCase,
    mean_with_bootstrap_interval,
    train_and_replay_mix_lists,
)
from productrecs.features.recommendations.earnings.repository import EarningsRepository
from productrecs.features.recommendations.recommendation_request import Pick
from productrecs.features.recommendations.reranking import (
    compute_earning_index,
    rank_by_earnings,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import TrainingRepository
from productrecs.training.training_inputs import read_log_without_searches

WEIGHTS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_MAX_CASES: Final = 2_000
_COLUMNS: Final = (
    FigureDefinition(
        "weight", "number", "the setting earnings_weight; 0 is relevance only"
    ),
    FigureDefinition("found", "share", "lists that show a product of the same order"),
    FigureDefinition("found_change", "share", "its change from weight 0"),
    FigureDefinition("found_low", "share", "lower end of the change's 95 % interval"),
    FigureDefinition("found_high", "share", "upper end of it"),
    FigureDefinition("revenue", "money", "price of the products found, for 1,000 lists"),
    FigureDefinition(
        "margin", "money", "price less cost of the products found, for 1,000 lists"
    ),
    FigureDefinition("shown_margin", "money", "mean price less cost of a product shown"),
)


class _ReplayedListOutcomes(NamedTuple):
    """What past orders would have bought from the lists of one weight."""

    hits: Floats  # by list: whether it shows a right product
    revenue: Floats  # by list: price of the right products shown
    margin: Floats
    shown_margin: float  # the mean of all products shown


def replay_earning_weights_and_store_result(
    database: Database, store: Store, now_ms: int
) -> None:
    """Replay a store's past orders at each weight, and store the result.

    Stock is left out: its past is not known. It trains on the earlier part of the store's
    history, which takes as long as a training.
    """
    store_id = store.store_id
    with database.reading() as connection:
        inputs, head = read_log_without_searches(TrainingRepository(connection, store_id))
        items = EarningsRepository(connection, store_id).prices_and_costs()
    cases, lists = train_and_replay_mix_lists(
        inputs, head.n_items, store.settings, _MAX_CASES
    )
    index = compute_earning_index(items.prices, items.costs, (), ())
    margins = items.prices - items.costs
    result: dict[str, Any] = {
        "cases": len(cases),
        "orders": len({case.group for case in cases}),
        "costs": int(np.isfinite(margins).sum()),
        "priced": int(np.isfinite(items.prices).sum()),
        "rows": [],
    }
    if result["orders"] >= MIN_GROUPS and result["costs"]:
        num = store.settings.rec_num
        groups = np.array([case.group for case in cases], np.int64)
        outcomes = [
            _replay_outcomes(
                cases,
                [rank_by_earnings(ranked, index, weight)[:num] for ranked in lists],
                items.prices,
                margins,
            )
            for weight in WEIGHTS
        ]
        result["rows"] = [
            _replay_report_row(weight, outcomes_of_weight, outcomes[0], groups)
            for weight, outcomes_of_weight in zip(WEIGHTS, outcomes, strict=True)
        ]
    with database.transaction() as transaction:
        EarningsRepository(transaction, store_id).store_replay(result, now_ms)


def earnings_replay_report(database: Database, store: Store, max_rows: int) -> Report:
    """Return the last replay of a store; without rows before the first."""
    with database.reading() as connection:
        stored = EarningsRepository(connection, store.store_id).stored_replay()
    result: Any = {} if stored is None else stored.result
    rows, notes = result.get("rows", []), []
    if stored is None:
        notes.append("The store's past was not replayed yet.")
    elif not result["costs"]:
        notes.append("No product has a cost: send `cost` with your products.")
    elif not rows:
        notes.append(f"{result['orders']} orders to replay, {MIN_GROUPS} are needed.")
    if rows:
        notes.append(
            "Shoppers of the past did not see these lists. Relevance is measured; whether "
            "more is earned, a holdout test shows."
        )
    figures = (
        ()
        if stored is None
        else (
            define_figure("orders", "count", result["orders"], "later orders replayed"),
            define_figure("lists", "count", result["cases"], "lists made for them"),
            define_figure(
                "costs", "count", result["costs"], "products with a price and a cost"
            ),
            define_figure("replayed_at", "time", iso(stored.computed_at), "when"),
        )
    )
    return Report(
        name="earnings",
        title="Margin against relevance, replayed on past orders",
        figures=figures,
        columns=_COLUMNS,
        rows=tuple(tuple(row) for row in rows)[:max_rows],
        notes=tuple(notes),
    )


def _replay_outcomes(
    cases: Sequence[EvaluationCase],
    lists: Sequence[Sequence[Pick]],
    prices: Floats,
    margins: Floats,
) -> _ReplayedListOutcomes:
    prices, margins_or_zero = np.nan_to_num(prices), np.nan_to_num(margins)
    hits = [
        [pick.item for pick in ranked if pick.item in case.answers]
        for case, ranked in zip(cases, lists, strict=True)
    ]
    shown_items = np.array([pick.item for ranked in lists for pick in ranked], np.int64)
    known_margins = margins[shown_items][np.isfinite(margins[shown_items])]
    return _ReplayedListOutcomes(
        np.array([bool(items) for items in hits], np.float64),
        np.array([prices[items].sum() for items in hits]),
        np.array([margins_or_zero[items].sum() for items in hits]),
        float(known_margins.mean()) if len(known_margins) else 0.0,
    )


def _replay_report_row(
    weight: float,
    outcomes: _ReplayedListOutcomes,
    without_weight: _ReplayedListOutcomes,
    groups: Ints,
) -> list[float]:
    change = mean_with_bootstrap_interval(outcomes.hits - without_weight.hits, groups)
    return [
        weight,
        float(outcomes.hits.mean()),
        *(change.mean, change.low, change.high),
        round(float(outcomes.revenue.mean()) * 1_000, 2),
        round(float(outcomes.margin.mean()) * 1_000, 2),
        round(outcomes.shown_margin, 2),
    ]
