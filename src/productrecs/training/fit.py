"""How does a store's log become models? Read on, fit, publish, let it serve."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from productrecs.core.calm import calmly
from productrecs.core.clock import DAY_MS, Clock
from productrecs.engines.choices import (
    CART,
    CLICK,
    PURCHASE,
    ChoiceModel,
    ChoiceOptions,
    fit_choices,
)
from productrecs.engines.complementary import ComplementModel
from productrecs.engines.copurchase import Bought, CopurchaseModel, CopurchaseOptions
from productrecs.engines.popularity import Sales, rank_trending
from productrecs.engines.ranking import Trees
from productrecs.engines.text.language import Language
from productrecs.records.events.event import EventKind
from productrecs.storage.database import Database
from productrecs.storage.model_files import forget_others, publish_arrays
from productrecs.storage.store_log import StoreGoneError
from productrecs.tenancy.accounts.settings import StoreSettings
from productrecs.tenancy.accounts.store import Store
from productrecs.training.choices.repository import SearchRepository
from productrecs.training.constants.constants import Constants
from productrecs.training.constants.repository import ConstantsRepository
from productrecs.training.indicators import Deeds, learned_of
from productrecs.training.inputs import TrainingInputs
from productrecs.training.learned import (
    carted_of,
    companions_of,
    complements_of,
    sessions_of,
)
from productrecs.training.marks import marks_of
from productrecs.training.ranking.due import touched_of
from productrecs.training.ranking.repository import RankingRepository
from productrecs.training.repository import Head, TrainedModel, TrainingRepository
from productrecs.training.trained_models import folder_of

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where training reads, writes, and looks at the clock."""

    database: Database
    models: Path
    clock: Clock


def train_store(
    workshop: Workshop,
    store: Store,
    inputs: TrainingInputs,
    progress: Progress,
    calm_seconds: float = 0.0,
) -> TrainedModel:
    """Learn everything that `store`'s log says by now; return the model that serves it.

    `inputs` is read on and kept by the caller, so that the next training reads only what
    came since; a fresh one gives the same model. `progress` is told a share of 1. For
    `calm_seconds` it takes only what time nobody else wants (`core/calm.py`).

    Raises:
        StoreGoneError: when the store was deleted.
        OSError: when the model cannot be written; the last good one serves on.
    """
    folder = folder_of(workshop.models, store.store_id)
    with _gone_whole(workshop, store, folder):
        with calmly(calm_seconds):  # others wait for none of it, but for what follows
            head, constants = _read_on(workshop, store, inputs)
            progress(0.5)
            now_ms = workshop.clock()
            arrays = fit(inputs, head.numbers, store.settings, now_ms, constants)
            arrays |= _order(workshop, store)
            progress(0.9)
            facts = {"store_id": store.store_id, "applied_seq": head.seq}
            facts |= touched_of(inputs.trials)
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
    forget_others(folder, _kept(head, model_id))
    progress(1.0)
    return model


@contextlib.contextmanager
def _gone_whole(workshop: Workshop, store: Store, folder: Path) -> Iterator[None]:
    """Leave no file of a store that is deleted while the block runs.

    Whoever deletes it removes the folder too, maybe while a model is written into it.

    Raises:
        StoreGoneError: when it was.
    """
    try:
        yield
    except (OSError, StoreGoneError) as error:
        with workshop.database.reading() as connection:
            if TrainingRepository(connection, store.store_id).head() is not None:
                raise
        shutil.rmtree(folder, ignore_errors=True)
        message = f"{store.domain} was deleted while it was trained"
        raise StoreGoneError(message) from error


def _order(workshop: Workshop, store: Store) -> dict[str, npt.NDArray[Any]]:
    """Return the trees that order the store's lists, where they were found better."""
    with workshop.database.reading() as connection:
        stored = RankingRepository(connection, store.store_id).load()
    if stored is None or not stored.serves:
        return {}
    trees = Trees.from_arrays(stored.trees)
    return {f"trees.{name}": array for name, array in trees.to_arrays().items()}


def fit(
    inputs: TrainingInputs,
    n_items: int,
    settings: StoreSettings,
    now_ms: int,
    constants: Constants | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return every engine's arrays, named `engine.array`, for numbers below `n_items`.

    Engines learn by their defaults unless `constants` says otherwise.
    """
    learns = constants or Constants()
    learned, carts, complements = _bought(inputs, n_items, learns.companions, now_ms)
    sessions = sessions_of(inputs.behaviour, n_items, learns.visits)
    bought, viewed = learned.to_arrays(), sessions.to_arrays()
    carted = {} if carts is None else carts.to_arrays()
    pairs = [one.to_arrays() for one in (*learned, carts) if one is not None]
    return {
        **bought,
        **{f"browse.{name}": array for name, array in viewed.items()},
        **{f"carts.{name}": array for name, array in carted.items()},
        **{f"complementary.{name}": a for name, a in complements.to_arrays().items()},
        "marks": marks_of(viewed, pairs),
        **{f"choices.{name}": array for name, array in _choices(inputs, settings, now_ms)},
        **{f"signs.{name}": array for name, array in _signs(inputs, now_ms)},
        **{f"trials.{name}": array for name, array in _trials(inputs, n_items)},
        "trending": _trending(inputs, n_items, settings, now_ms),
    }


def _bought(
    inputs: TrainingInputs, n_items: int, options: CopurchaseOptions, now_ms: int
) -> tuple[Bought, CopurchaseModel | None, ComplementModel]:
    """Return what purchases teach: what they taught before, where nothing was bought.

    Orders fade beside the newest purchase, not beside `now_ms`: nothing changes with time.
    """
    bought, behaviour, kept = inputs.purchases, inputs.behaviour, inputs.kept
    kinds, products = inputs.catalog.kinds(n_items)
    past = bought.times[bought.times <= now_ms]
    newest_ms = int(past.max()) if len(past) else now_ms
    learned = kept.of(
        "copurchase",
        (bought, products),
        (n_items, newest_ms, options),
        lambda: companions_of(bought, n_items, newest_ms, options, products),
    )
    carted = int((behaviour.kinds == EventKind.ADD_TO_CART).sum())  # carts never go
    carts = kept.of(
        "carts",
        (bought, kinds, products),
        (n_items, newest_ms, options, carted),
        lambda: carted_of(inputs, n_items, newest_ms, options),
    )
    together = carts or learned.widest
    complements = kept.of(
        "complementary",
        (bought, kinds, products, together),
        n_items,
        lambda: complements_of(together, inputs, n_items),
    )
    return learned, carts, complements


def _choices(
    inputs: TrainingInputs, settings: StoreSettings, now_ms: int
) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return what people chose after searches, by what their queries were about."""
    choices = inputs.searches.choices(now_ms)
    intents = inputs.searches.intents(Language(settings.language))
    keys = {intent: number for number, intent in enumerate(dict.fromkeys(intents))}
    numbers = np.array([keys[intent] for intent in intents], dtype=np.int64)
    by_intent = choices._replace(queries=numbers[choices.queries])
    model = ChoiceModel.of(fit_choices(by_intent, ChoiceOptions()), list(keys))
    return model.to_arrays().items()


def _signs(inputs: TrainingInputs, now_ms: int) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return what people went on to who looked at a category, a brand or a colour."""
    behaviour, bought = inputs.behaviour, inputs.purchases
    carted = behaviour.kinds == EventKind.ADD_TO_CART
    done = Deeds(
        behaviour.visitors,
        behaviour.times,
        behaviour.items.astype(np.int64),
        np.where(carted, CART, CLICK),
    )
    kept = bought.standing & (bought.quantities > 0) & (bought.buyers != 0)
    purchases = Deeds(
        bought.buyers[kept],
        bought.times[kept],
        bought.items[kept].astype(np.int64),
        np.full(int(kept.sum()), PURCHASE),
    )
    return learned_of(inputs.signs, done, purchases, now_ms).to_arrays().items()


def _trials(inputs: TrainingInputs, n_items: int) -> Iterable[tuple[str, npt.NDArray[Any]]]:
    """Return how items fared where they were shown."""
    return inputs.trials.grown(n_items).to_arrays().items()


def settings_hash(settings: StoreSettings) -> str:
    """Return a text that differs when a setting that training asks for differs."""
    asked = [settings.trending_metric, settings.trending_days, settings.language]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def _trending(
    inputs: TrainingInputs, n_items: int, settings: StoreSettings, now_ms: int
) -> npt.NDArray[np.int32]:
    bought, behaviour = inputs.purchases, inputs.behaviour
    since_ms = now_ms - settings.trending_days * DAY_MS
    standing = bought.standing
    sold = Sales(
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
    workshop: Workshop, store: Store, inputs: TrainingInputs
) -> tuple[Head, Constants]:
    with workshop.database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head = repository.existing_head()
        inputs.follow(head.erasures)
        searches = SearchRepository(connection, store.store_id)
        inputs.read_searches(searches, head.seq)
        inputs.read_on(repository, head.seq)
        constants = ConstantsRepository(connection, store.store_id).constants()
    return head, constants


def _kept(head: Head, model_id: str) -> set[str]:
    # The model that served until now stays: a process may be about to map it.
    return {model_id} | ({head.model_id} if head.model_id else set())
