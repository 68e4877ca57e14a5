"""Model fitting: every engine's arrays, and the boosts of searches and interests."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS
from productrecs.engines.array_types_and_sorting import Arrays, prefixed
from productrecs.engines.browse import SessionKnnOptions
from productrecs.engines.click_boosts import (
    PURCHASE,
    ClickBoostModel,
    ClickBoostOptions,
    fit_click_boosts,
)
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.engines.engine_protocol import FitInputs, TrendingInputs
from productrecs.engines.item_fingerprints import item_fingerprints
from productrecs.engines.registry import ENGINES
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.behaviour_summary import (
    BehaviourSummary,
    BehaviourSummaryOptions,
    summarize_behaviour,
)
from productrecs.training.fit_cache import (
    FitCache,
)
from productrecs.training.interest_signals import (
    ChoicesAfterSignals,
    ItemInteractions,
    fit_items_chosen_after_signals,
)
from productrecs.training.order_and_cart_lines import (
    order_lines,
    order_lines_with_visit_carts,
)
from productrecs.training.training_inputs import (
    TrainingInputs,
    purchase_interaction_rows,
)


def fit_all_models(
    inputs: TrainingInputs,
    n_items: int,
    settings: StoreSettings,
    now_ms: int,
    tuned: CopurchaseOptions | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return every engine's arrays for numbers below `n_items`.

    Co-purchases use the default hyperparameters unless there are `tuned` ones.
    """
    since_ms = now_ms - settings.trending_days * DAY_MS
    visits = SessionKnnOptions()
    behaviour = summarize_behaviour(
        inputs.events,
        inputs.indicators.signals,
        BehaviourSummaryOptions(n_items, visits.longest, since_ms, now_ms),
        visits,
    )
    # First what needs much memory for small results: the models below stay in memory.
    indicators = _fit_interest_indicators(inputs, behaviour.choices, now_ms)
    behaviour = behaviour._replace(choices=[])
    click_boosts = _fit_search_click_boosts(inputs, settings, now_ms)
    window = TrendingInputs(
        settings.trending_metric, since_ms, behaviour.carted, behaviour.viewed
    )
    engine_inputs = _engine_inputs(
        inputs, behaviour, window, n_items, now_ms, tuned or CopurchaseOptions()
    )
    arrays = _fit_engines(engine_inputs, inputs.fit_cache)
    hashes = (words for engine in ENGINES for words in engine.item_hashes(arrays))
    return {
        **arrays,
        "fingerprints": item_fingerprints(hashes, n_items),
        **prefixed("click_boosts", click_boosts.to_arrays()),
        **prefixed("indicators", indicators.to_arrays()),
    }


def _fit_engines(inputs: FitInputs, cache: FitCache) -> Arrays:
    """Return all engines' arrays: the cached ones where nothing they depend on changed."""
    arrays: Arrays = {}
    for engine in ENGINES:
        fit_engine = partial(engine.fit, inputs, arrays)
        fitted = cache.get_or_fit(engine.name, engine.fingerprint(inputs), fit_engine)
        arrays = {**arrays, **fitted}
    return arrays


def _engine_inputs(
    inputs: TrainingInputs,
    behaviour: BehaviourSummary,
    window: TrendingInputs,
    n_items: int,
    now_ms: int,
    options: CopurchaseOptions,
) -> FitInputs:
    """Return what engines are fitted to.

    Orders decay relative to the newest purchase, not `now_ms`, so time alone changes
    nothing.
    """
    purchases = inputs.purchases
    categories, variants = inputs.catalog.categories_and_variants(n_items)
    past_times = purchases.times[purchases.times <= now_ms]
    newest_ms = int(past_times.max()) if len(past_times) else now_ms
    return FitInputs(
        n_items=n_items,
        now_ms=now_ms,
        newest_purchase_ms=newest_ms,
        purchases=purchases,
        has_categories=inputs.catalog.has_categories,
        categories=categories,
        variants=variants,
        copurchase_options=options,
        sessions=behaviour.sessions.to_arrays(),
        trending=window,
        cart_event_count=len(behaviour.carts.items),
        order_lines=partial(order_lines, purchases, newest_ms),
        order_lines_with_visit_carts=partial(
            order_lines_with_visit_carts, purchases, behaviour.carts, newest_ms
        ),
    )


def _fit_search_click_boosts(
    inputs: TrainingInputs, settings: StoreSettings, now_ms: int
) -> ClickBoostModel:
    """Return the click boosts of searches, by query intent."""
    clicks = inputs.searches.interactions(
        now_ms, purchase_interaction_rows(inputs.purchases)
    )
    intents = inputs.searches.intents(LanguageAnalyzer(settings.language))
    intent_numbers = {
        intent: number for number, intent in enumerate(dict.fromkeys(intents))
    }
    queries = np.array([intent_numbers[intent] for intent in intents], dtype=np.int64)
    clicks_by_intent = clicks._replace(queries=queries[clicks.queries])
    return ClickBoostModel.from_query_boosts(
        fit_click_boosts(clicks_by_intent, ClickBoostOptions()), list(intent_numbers)
    )


def _fit_interest_indicators(
    inputs: TrainingInputs, choices: Sequence[ChoicesAfterSignals], now_ms: int
) -> ClickBoostModel:
    """Return the interest indicators of categories, brands and colours."""
    lines = inputs.purchases
    is_purchase = lines.is_active & (lines.quantities > 0) & (lines.buyers != 0)
    purchases = ItemInteractions(
        lines.buyers[is_purchase],
        lines.times[is_purchase],
        lines.items[is_purchase].astype(np.int64),
        np.full(int(is_purchase.sum()), PURCHASE),
    )
    return fit_items_chosen_after_signals(inputs.indicators, choices, purchases, now_ms)
