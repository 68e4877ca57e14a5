"""Trial of a store whose customers buy a tent, then a stove in their next order.

`test_new_engine.py` runs it with and without the engine `bought_next`, and reads what it
prints.
"""

import json

import numpy as np

from productrecs.engines.registry import NAMES
from productrecs.features.recommendations.backtest import BacktestTask, run_backtest
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.fit_models import fit_all_models
from productrecs.training.trained_models import TrainedModels
from productrecs.training.training_inputs import OrderLineArrays, TrainingInputs
from tests.features.recommendations.small_shop import NOW, CatalogRows, small_shop

ITEMS = ("tent", "mat", "stove", "pot")
TENT, MAT, STOVE, POT = range(4)
DAY = 86_400_000
CUSTOMERS = 120


def purchases(orders_at_once: int) -> OrderLineArrays:
    """Return two orders of each customer, and orders of both by others, the latest."""
    orders = [(one, (TENT, MAT), one) for one in range(1, CUSTOMERS + 1)]
    orders += [(buyer, (STOVE, POT), CUSTOMERS + day) for buyer, _, day in orders]
    orders += [
        (CUSTOMERS + one, (TENT, POT), 2 * CUSTOMERS + one)
        for one in range(1, orders_at_once + 1)
    ]
    lines = [
        (basket, item, buyer, NOW + (day - 400) * DAY)
        for basket, (buyer, items, day) in enumerate(orders)
        for item in items
    ]
    baskets, items, buyers, times = np.array(lines, np.int64).T
    count = len(lines)
    return OrderLineArrays(
        line_seqs=np.arange(count),
        baskets=baskets,
        items=items.astype(np.int32),
        quantities=np.ones(count, np.int64),
        totals=np.ones(count),
        times=times,
        is_active=np.ones(count, np.bool_),
        buyers=buyers,
        visitors=np.zeros(count, np.int64),
    )


def trial() -> dict[str, object]:
    """Return what the engines did."""
    rows = CatalogRows()
    for name in ITEMS:
        rows.add(name)
    inputs, settings = TrainingInputs(), StoreSettings()
    inputs.purchases = purchases(60)
    arrays = fit_all_models(inputs, len(ITEMS), settings, NOW)
    again = fit_all_models(inputs, len(ITEMS), settings, NOW + DAY)
    shop = small_shop(rows, [], [], [])
    shop.models = TrainedModels.from_arrays("trial", arrays)
    request = RecommendationRequest(Source.MIX, 3, "mat")
    explanation = explain_recommendations(shop, request, (), NOW)
    (order,) = (
        one
        for one in run_backtest(inputs, len(ITEMS), settings, 90)
        if one.task is BacktestTask.ORDER
    )
    return {
        "names": NAMES,
        "fitted_once": [name for name in arrays if arrays[name] is again[name]],
        "served": [
            (ITEMS[pick.item], pick.engine) for pick in recommend(shop, request, (), NOW)
        ],
        "reasons": {one.item_id: one.reasons for one in explanation.products},
        "recalls": {score.method: score.recall_at_20 for score in order.scores},
    }


if __name__ == "__main__":
    print(json.dumps(trial()))  # noqa: T201 - the test reads it
