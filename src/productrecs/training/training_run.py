"""Training run: reads a store's new log entries, fits its engines, publishes the model."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import DAY_MS, Clock
from productrecs.core.idle_priority import run_at_idle_priority
from productrecs.engines.arrays import Arrays, Ints
from productrecs.engines.buy_again import usual_intervals
from productrecs.engines.click_boosts import (
    CART,
    CLICK,
    PURCHASE,
    ClickBoostModel,
    ClickBoostOptions,
    fit_click_boosts,
)
from productrecs.engines.complementary import ComplementModel
from productrecs.engines.copurchase import (
    CopurchaseModel,
    CopurchaseModels,
    CopurchaseOptions,
)
from productrecs.engines.engine_spec import Facts
from productrecs.engines.popularity import TrendingSales, rank_trending
from productrecs.engines.ranking import TreeEnsemble
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.records.events.event import EventKind
from productrecs.storage.database import Database
from productrecs.storage.model_files import publish_arrays, remove_other_models
from productrecs.storage.store_log import StoreDeletedError
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.engine_fitters import (
    fit_cart_model,
    fit_complement_model,
    fit_copurchase_model,
    fit_session_index,
    is_in_order,
)
from productrecs.training.engine_registry import OWN_MODELS
from productrecs.training.interest_indicators import Interactions, fit_indicators
from productrecs.training.ranking.ranking_due_stores import impressions_and_clicks
from productrecs.training.ranking.repository import RankingRepository
from productrecs.training.repository import TrainedModel, TrainingHead, TrainingRepository
from productrecs.training.search.repository import SearchEventRepository
from productrecs.training.trained_models import models_folder
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.tuning.hyperparameters import Hyperparameters
from productrecs.training.tuning.repository import HyperparameterRepository

Words = npt.NDArray[np.uint64]

_MIX_ONE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_TWO: Final = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT: Final = np.uint64(29)


def item_fingerprints(
    browse: Arrays, bought: Sequence[Arrays], others: Sequence[Ints] = ()
) -> Ints:
    """Return the fingerprint [n_items] of each item, from the arrays of these engines.

    `bought` holds the arrays of each co-purchase model, at least one; `others` the
    fingerprints [n_items] of engines with their own models.

    Equal fingerprints mean equal evidence, except for one chance in 2^64.
    """
    offsets, items = browse["offsets"], browse["items"]
    places = np.arange(len(items)) - np.repeat(offsets[:-1], np.diff(offsets))
    seen = _sums(_mixed(_words(items) * _MIX_ONE + _words(places)), offsets)
    visits = _mixed(seen + _mixed(_words(browse["owners"])))
    viewed = _sums(visits[browse["postings"]], browse["posting_offsets"])
    marks = _mixed(viewed + _mixed(_bought_together(bought[0])))
    for other in bought[1:]:
        marks = _mixed(marks + _bought_together(other))
    for prints in others:
        marks = _mixed(marks + _words(prints))
    return marks.view(np.int64)


def _bought_together(model: Arrays) -> Words:
    together = _words(model["companions"]) * _MIX_ONE + _words(model["support"])
    if len(model["shared"]):  # pooled baskets of variants
        together = _mixed(together) + _words(model["shared"])
    return _sums(_mixed(together), model["offsets"])


def _words(numbers: npt.NDArray[Any]) -> Words:
    return numbers.astype(np.int64).view(np.uint64) + np.uint64(1)


def _mixed(words: Words) -> Words:
    """Return words whose every bit depends on all input bits."""
    words = (words ^ (words >> _SHIFT)) * _MIX_TWO
    mixed: Words = (words ^ (words >> _SHIFT)) * _MIX_ONE
    return mixed


def _sums(words: Words, offsets: npt.NDArray[Any]) -> Words:
    """Return the sum (modulo 2^64) of each run of `words`, including empty runs."""
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)))
    runs: Words = sums[offsets[1:]] - sums[offsets[:-1]]
    return runs


Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class TrainingDeps:
    """The database, model folder and clock that training uses."""

    database: Database
    models: Path
    clock: Clock


def train_store(
    workshop: TrainingDeps,
    store: Store,
    inputs: TrainingInputs,
    progress: Progress,
    calm_seconds: float = 0.0,
) -> TrainedModel:
    """Train `store` on its whole log; return the serving model.

    The caller passes the same `inputs` again, so that the next training reads only new
    facts; empty ones give the same model. `progress` is called with shares of 1. The first
    `calm_seconds` run at idle priority (`core/idle_priority.py`).

    Raises:
        StoreDeletedError: when the store was deleted.
        OSError: when the model cannot be written; the last good one continues to serve.
    """
    folder = models_folder(workshop.models, store.store_id)
    with _gone_whole(workshop, store, folder):
        with run_at_idle_priority(
            calm_seconds
        ):  # reading needs no low latency; the rest does
            head, constants = _read_on(workshop, store, inputs)
            progress(0.5)
            now_ms = workshop.clock()
            arrays = fit(inputs, head.numbers, store.settings, now_ms, constants)
            arrays |= _order(workshop, store)
            progress(0.9)
            facts = {"store_id": store.store_id, "applied_seq": head.seq}
            facts |= impressions_and_clicks(inputs.trials)
            model_id = publish_arrays(folder, arrays, facts)
        model = TrainedModel(
            model_id=model_id,
            applied_seq=head.seq,
            catalog_seq=head.catalog_seq,
            settings_hash=settings_hash(store.settings),
            trained_at=now_ms,
        )
        with workshop.database.transaction() as transaction:
            TrainingRepository(transaction, store.store_id).serve(model)
    remove_other_models(folder, _models_to_keep(head, model_id))
    progress(1.0)
    return model


@contextlib.contextmanager
def _gone_whole(workshop: TrainingDeps, store: Store, folder: Path) -> Iterator[None]:
    """Delete all model files of a store that is deleted while the block runs.

    The deletion also removes the folder, maybe while a model is written into it.

    Raises:
        StoreDeletedError: when it was deleted.
    """
    try:
        yield
    except (OSError, StoreDeletedError) as error:
        with workshop.database.reading() as connection:
            if TrainingRepository(connection, store.store_id).head() is not None:
                raise
        shutil.rmtree(folder, ignore_errors=True)
        message = f"{store.domain} was deleted while it was trained"
        raise StoreDeletedError(message) from error


def _order(workshop: TrainingDeps, store: Store) -> dict[str, npt.NDArray[Any]]:
    """Return the trees of the store's ranker, if its backtest showed a gain."""
    with workshop.database.reading() as connection:
        stored = RankingRepository(connection, store.store_id).load()
    if stored is None or not stored.serves:
        return {}
    trees = TreeEnsemble.from_arrays(stored.trees)
    return {f"trees.{name}": array for name, array in trees.to_arrays().items()}


def fit(
    inputs: TrainingInputs,
    n_items: int,
    settings: StoreSettings,
    now_ms: int,
    constants: Hyperparameters | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return every engine's arrays, named `engine.array`, for numbers below `n_items`.

    Engines use their default hyperparameters unless `constants` has others.
    """
    learns = constants or Hyperparameters()
    learned, carts, complements = _bought(inputs, n_items, learns.companions, now_ms)
    sessions = fit_session_index(inputs.behaviour, n_items, learns.visits)
    bought, viewed = learned.to_arrays(), sessions.to_arrays()
    carted = {} if carts is None else carts.to_arrays()
    pairs = [one.to_arrays() for one in (*learned, carts) if one is not None]
    own, prints = _own_models(inputs, n_items, now_ms)
    return {
        **bought,
        **{f"browse.{name}": array for name, array in viewed.items()},
        **{f"carts.{name}": array for name, array in carted.items()},
        **{f"complementary.{name}": a for name, a in complements.to_arrays().items()},
        **own,
        "marks": item_fingerprints(viewed, pairs, prints),
        "personal_search": np.array(astuple(learns.search), np.float64),
        **{f"choices.{name}": array for name, array in _choices(inputs, settings, now_ms)},
        **{f"signs.{name}": array for name, array in _signs(inputs, now_ms)},
        **{f"trials.{name}": array for name, array in _trials(inputs, n_items)},
        "intervals": _intervals(inputs, n_items),
        "trending": _trending(inputs, n_items, settings, now_ms),
    }


def _own_models(
    inputs: TrainingInputs, n_items: int, now_ms: int
) -> tuple[dict[str, npt.NDArray[Any]], list[npt.NDArray[np.int64]]]:
    """Return the arrays of engines with their own models, and their fingerprints."""
    if not OWN_MODELS:
        return {}, []
    bought, done, in_order = (
        inputs.purchases,
        inputs.behaviour,
        is_in_order(inputs.purchases),
    )
    facts = Facts(
        *(bought.baskets[in_order], bought.items[in_order], bought.times[in_order]),
        *(done.visitors, done.items, done.times),
        n_items,
        now_ms,
    )
    arrays: dict[str, npt.NDArray[Any]] = {}
    prints: list[npt.NDArray[np.int64]] = []
    for name, model in OWN_MODELS:
        mine = model.fit(facts)
        arrays |= {f"{name}.{key}": array for key, array in mine.items()}
        prints.append(model.fingerprint(mine, n_items))
    return arrays, prints


def _bought(
    inputs: TrainingInputs, n_items: int, options: CopurchaseOptions, now_ms: int
) -> tuple[CopurchaseModels, CopurchaseModel | None, ComplementModel]:
    """Return the models of purchases: the cached ones, if nothing was bought.

    Orders decay relative to the newest purchase, not `now_ms`, so time alone changes
    nothing.
    """
    bought, behaviour, cache = inputs.purchases, inputs.behaviour, inputs.fit_cache
    kinds, products = inputs.catalog.kinds(n_items)
    past = bought.times[bought.times <= now_ms]
    newest_ms = int(past.max()) if len(past) else now_ms
    learned = cache.of(
        "copurchase",
        (bought, products),
        (n_items, newest_ms, options),
        lambda: fit_copurchase_model(bought, n_items, newest_ms, options, products),
    )
    carted = int((behaviour.kinds == EventKind.ADD_TO_CART).sum())  # only grows
    carts = cache.of(
        "carts",
        (bought, kinds, products),
        (n_items, newest_ms, options, carted),
        lambda: fit_cart_model(inputs, n_items, newest_ms, options),
    )
    together = carts or learned.widest
    complements = cache.of(
        "complementary",
        (bought, kinds, products, together),
        n_items,
        lambda: fit_complement_model(together, inputs, n_items),
    )
    return learned, carts, complements


def _intervals(inputs: TrainingInputs, n_items: int) -> Ints:
    """Return each item's usual interval between two purchases by one buyer, in ms."""
    bought = inputs.purchases

    def learn() -> Ints:
        counts = bought.standing & (bought.quantities > 0) & (bought.buyers != 0)
        lines = bought.buyers[counts], bought.items[counts], bought.times[counts]
        return usual_intervals(*lines, n_items)

    return inputs.fit_cache.of("intervals", (bought,), n_items, learn)


def _choices(
    inputs: TrainingInputs, settings: StoreSettings, now_ms: int
) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return the click boosts of searches, by query intent."""
    choices = inputs.searches.choices(now_ms)
    intents = inputs.searches.intents(LanguageAnalyzer(settings.language))
    keys = {intent: number for number, intent in enumerate(dict.fromkeys(intents))}
    numbers = np.array([keys[intent] for intent in intents], dtype=np.int64)
    by_intent = choices._replace(queries=numbers[choices.queries])
    model = ClickBoostModel.of(fit_click_boosts(by_intent, ClickBoostOptions()), list(keys))
    return model.to_arrays().items()


def _signs(inputs: TrainingInputs, now_ms: int) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return the interest indicators of categories, brands and colours."""
    behaviour, bought = inputs.behaviour, inputs.purchases
    carted = behaviour.kinds == EventKind.ADD_TO_CART
    done = Interactions(
        behaviour.visitors,
        behaviour.times,
        behaviour.items.astype(np.int64),
        np.where(carted, CART, CLICK),
    )
    is_purchase = bought.standing & (bought.quantities > 0) & (bought.buyers != 0)
    purchases = Interactions(
        bought.buyers[is_purchase],
        bought.times[is_purchase],
        bought.items[is_purchase].astype(np.int64),
        np.full(int(is_purchase.sum()), PURCHASE),
    )
    return fit_indicators(inputs.signs, done, purchases, now_ms).to_arrays().items()


def _trials(inputs: TrainingInputs, n_items: int) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return impressions and clicks by item."""
    return inputs.trials.grown(n_items).to_arrays().items()


def settings_hash(settings: StoreSettings) -> str:
    """Return a hash of the settings that training uses."""
    fields = [settings.trending_metric, settings.trending_days, settings.language]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def _trending(
    inputs: TrainingInputs, n_items: int, settings: StoreSettings, now_ms: int
) -> npt.NDArray[np.int32]:
    bought, behaviour = inputs.purchases, inputs.behaviour
    since_ms = now_ms - settings.trending_days * DAY_MS
    standing = bought.standing
    sold = TrendingSales(
        items=bought.items[standing],
        baskets=bought.baskets[standing],
        units=bought.quantities[standing],
        revenue=bought.totals[standing],
        times=bought.times[standing],
    )
    sales, before = sold.between(since_ms, now_ms), sold.between(-1, since_ms)
    lately = (behaviour.times > since_ms) & (behaviour.times <= now_ms)
    carts = behaviour.items[lately & (behaviour.kinds == EventKind.ADD_TO_CART)]
    views = behaviour.items[lately & (behaviour.kinds == EventKind.DETAIL_PAGE_VIEW)]
    metric = settings.trending_metric
    return rank_trending(sales, carts, views, n_items, metric, before)


def _read_on(
    workshop: TrainingDeps, store: Store, inputs: TrainingInputs
) -> tuple[TrainingHead, Hyperparameters]:
    with workshop.database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head = repository.existing_head()
        inputs.follow(head.removals)
        searches = SearchEventRepository(connection, store.store_id)
        inputs.read_searches(searches, head.seq)
        inputs.read_on(repository, head.seq)
        constants = HyperparameterRepository(connection, store.store_id).constants()
    return head, constants


def _models_to_keep(head: TrainingHead, model_id: str) -> set[str]:
    # The previous model stays: a process may be about to map it.
    return {model_id} | ({head.model_id} if head.model_id else set())
