"""May what shoppers click order this store's lists? Learned, tried on what came later.

What the log says was shown is told by what was known before: models learn the first part of
the time, trees the second, and the third says whether their order would have been better.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.shopper import visitor_code
from productrecs.engines.contract import Floats
from productrecs.engines.fusion import fuse
from productrecs.engines.ranking.judge import examination, gains
from productrecs.engines.ranking.learn import Lists, learn
from productrecs.engines.ranking.trees import Trees
from productrecs.features.recommendations.complements import Companions, with_complements
from productrecs.features.recommendations.request import Engine, Source
from productrecs.features.recommendations.scoring import Interval, interval_of
from productrecs.features.recommendations.shelf import Shelf
from productrecs.features.recommendations.sources import Placement, recipe_of
from productrecs.features.recommendations.traits import TRAITS, Scene, traits_of
from productrecs.records.catalog.view import CatalogView
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.settings import StoreSettings
from productrecs.tenancy.accounts.store import Store
from productrecs.training.constants.constants import Constants
from productrecs.training.fit import fit
from productrecs.training.inputs import TrainingInputs
from productrecs.training.ranking.due import ENOUGH, Enough
from productrecs.training.ranking.repository import RankingRepository, StoredRanker
from productrecs.training.ranking.shown import Reading, ShownList
from productrecs.training.trained_models import TrainedModels

WINDOW_DAYS: Final = 60
MOST_LISTS: Final = 30_000
_BEFORE: Final = 0.2  # of the lists: what models know when the others are told
_ASKED: Final = 0.3  # of the rest: the last, that trees did not learn from
SURENESS: Final = 0.99  # of the interval: it is asked anew each day
LEAST_GAIN: Final = 0.02  # below it the interval may end where looking is told too low
_PREFIX: Final = 9
_CANDIDATES: Final = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of learning; no `gain` where there was too little.

    `gain` is of the worth of lists, beside the present order's worth of 1: what was taken
    up, counted by how far up it stood.
    """

    lists: int  # shown
    shown: int  # products in them
    clicks: int
    asked: int = 0  # lists of the backtest
    gain: Interval | None = None
    serves: bool = False
    weights: dict[str, int] | None = None  # in how many branches each trait is asked


@dataclass(frozen=True, slots=True)
class Past:
    """What a store's order is learned from, beside what its log says of lists."""

    store: Store
    catalog: CatalogView
    inputs: TrainingInputs
    constants: Constants = field(default_factory=Constants)  # that its engines learn by


def learn_order(
    database: Database,
    past: Past,
    now_ms: int,
    enough: Enough = ENOUGH,
    threads: int = 1,
) -> Finding:
    """Learn an order from a store's clicks, keep it, and return what its backtest said.

    It serves if the 99 % interval of its gain lies above two per cent, and only then.

    Raises:
        LearnerMissingError: when the library that learns cannot be loaded.
    """
    store = past.store
    reading = _read(database, store, now_ms)
    shown, clicks = sum(reading.shown), sum(reading.clicked)
    finding, trees = Finding(reading.lists, shown, clicks), Trees.none()
    if shown >= enough.shown and clicks >= enough.clicks:
        lists = reading.taken_up[-MOST_LISTS:]
        told = _told(lists, past, now_ms)
        looked = examination(np.array(reading.shown), np.array(reading.clicked))
        finding, trees = _tried(finding, told, looked, threads)
    ranker = StoredRanker(
        now_ms,
        finding.serves,
        asdict(finding),
        {name: array.tolist() for name, array in trees.to_arrays().items()},
    )
    with database.transaction() as transaction:
        AccountRepository(transaction).hold(store.store_id)
        RankingRepository(transaction, store.store_id).store(ranker)
    return finding


def _read(database: Database, store: Store, now_ms: int) -> Reading:
    reading, since_ms = Reading(), now_ms - WINDOW_DAYS * DAY_MS
    with database.reading() as first, database.reading() as second:
        facts = RankingRepository(first, store.store_id).facts(since_ms)
        bought = RankingRepository(second, store.store_id).purchases(since_ms)
        reading.read(facts, bought)
    return reading


def _tried(
    finding: Finding, told: Lists, looked: Floats, threads: int
) -> tuple[Finding, Trees]:
    """Return what the last lists say of trees of the first, and trees of all of them."""
    asked_from = len(told) - int(len(told) * _ASKED)
    asked = told.part(asked_from, len(told))
    candidate = learn(told.part(0, asked_from), threads)
    more, present = gains(asked, candidate.score(asked.rows), looked)
    gain = interval_of(more / present.mean(), asked.people, SURENESS)
    serves = gain.low > LEAST_GAIN
    trees = learn(told, threads) if serves else Trees.none()
    counts = np.bincount(candidate.traits, minlength=len(TRAITS)).tolist()
    found = Finding(
        lists=finding.lists,
        shown=finding.shown,
        clicks=finding.clicks,
        asked=len(asked),
        gain=gain,
        serves=serves,
        weights=dict(zip(TRAITS, counts, strict=True)),
    )
    return found, trees


def _told(lists: Sequence[ShownList], past: Past, now_ms: int) -> Lists:
    """Return the traits of lists but the first, told by models of what was before them."""
    catalog, settings = past.catalog, past.store.settings
    lists = [one for one in lists if max(one.items) < len(catalog)]
    first = int(len(lists) * _BEFORE)
    since_ms = lists[first].ts
    arrays = fit(
        past.inputs.before(since_ms), len(catalog), settings, since_ms, past.constants
    )
    visible = catalog.visible(now_ms, hide_sold_out=False)
    shelf = Shelf(catalog, TrainedModels.of("", arrays), visible, None)
    kept = lists[first:]
    companions = Companions(shelf.models)
    rows = [_rows(one, shelf, companions, settings) for one in kept]
    sizes = [len(one.items) for one in kept]
    return Lists(
        rows=np.concatenate(rows),
        offsets=np.concatenate(([0], np.cumsum(sizes))),
        places=np.array([place for one in kept for place in one.places], np.int64),
        taken=np.array([what for one in kept for what in one.taken], np.int64),
        people=np.array([visitor_code(one.person) for one in kept], np.int64),
    )


def _rows(
    one: ShownList, shelf: Shelf, companions: Companions, settings: StoreSettings
) -> Floats:
    """Return the traits of a list's products as they would have been when it was made."""
    models = companions.models
    place = Placement.SHOPPER if one.page is None else Placement.PRODUCT
    visit = one.recent[-_PREFIX:]
    basket = (one.page,) if one.page is not None else tuple(dict.fromkeys(one.recent))
    found = {
        Engine.BROWSE: models.sessions.next_items(
            visit, one.ts, _CANDIDATES, visitor_code(one.person)
        ),
        Engine.BUY: companions.bought_with(basket),
    }
    recipe = recipe_of(Source.MIX, settings)
    weights, ranked = with_complements(companions, recipe, place, basket, found)
    lists = [each.items for each in ranked]
    proposals = dict(zip(weights, lists, strict=True))
    fused = fuse(lists, tuple(weights.values()))
    scene = Scene(
        proposals=proposals,
        blend=dict(zip(fused.items.tolist(), fused.scores.tolist(), strict=True)),
        about=one.page if one.page is not None else next(iter(reversed(one.recent)), None),
        recent=one.recent,
        untaken=one.untaken,
    )
    items = np.array(one.items, np.int64)
    return traits_of(shelf, items, np.array(one.rates), scene, one.ts)
