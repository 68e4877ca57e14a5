"""How do we stand beside libraries that others use: implicit, recommenders, lenskit?

They are no part of the benchmarks' environment. Whoever wants them beside ours installs
them, and what is not there is skipped aloud:

    .venv/bin/pip install implicit "pandas<3"
    .venv/bin/pip install --no-deps recommenders   # its SAR needs pandas alone
    .venv/bin/pip install "torch==2.13.0+cpu" lenskit

Torch as registries have it wants three gigabytes of a graphics card's libraries; the build
without is published apart (`--find-links` names a folder that holds its file).

One set at a time: `libraries-orders`, `libraries-retailrocket`, `libraries-bol`.

The questions are those of `bought_together` (one anchor), `basket_completion` (3 to 50) and
`next_item`. Libraries of users and items take an order or a visit for a user; a product's
list is that of the nearest items, a cart's or visit's the library's own way of answering
for a user it has not met. ALS and BPR have 64 factors; EASE is asked where its square of
all items fits into memory. The rest is as the library has it, but for SAR's Jaccard: its
own divides whole matrices of items by items (RetailRocket: 11 GB each), here the same
numbers are worked out where two items met at all.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from benchmarks.quality import basket_completion, bought_together, next_item
from benchmarks.quality.datasets import online_retail, retailrocket, serenade_bol
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.engines.browse import SessionKnnOptions
from productrecs.engines.copurchase import CopurchaseOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.quality.datasets import Split
    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

    Lists = Callable[[Sequence[int]], Items]  # of what is given, the newest last

SHOWN: Final = 20
FACTORS: Final = 64
LARGEST_SQUARE: Final = 20_000  # items; EASE inverts a dense matrix of items by items
SEED: Final = 11
CART: Final = 10


def measure_orders(report: Report) -> None:
    """Add each library's figures on Online Retail beside ours, also where it wins."""
    _orders(report)


def measure_retailrocket(report: Report) -> None:
    """Add each library's figures on RetailRocket beside ours."""
    _visits(report, "RetailRocket", retailrocket())


def measure_bol(report: Report) -> None:
    """Add each library's figures on serenade_bol beside ours."""
    _visits(report, "serenade_bol", serenade_bol())


def implicit_lists(groups: Ints, items: Items, n_items: int) -> Iterator[tuple[str, Lists]]:
    """Give the lists of implicit's item neighbours, ALS and BPR, each learned when asked.

    Raises:
        ImportError: when it is not installed.
    """
    near = importlib.import_module("implicit.nearest_neighbours")
    als = importlib.import_module("implicit.als").AlternatingLeastSquares
    bpr = importlib.import_module("implicit.bpr").BayesianPersonalizedRanking
    models = {
        "implicit, item-kNN cosine": near.CosineRecommender(K=100),
        "implicit, item-kNN BM25": near.BM25Recommender(K=100),
        "implicit, ALS": als(factors=FACTORS, random_state=SEED),
        "implicit, BPR": bpr(factors=FACTORS, random_state=SEED),
    }
    matrix = _matrix(groups, items, n_items)
    for name, model in models.items():
        model.fit(matrix, show_progress=False)
        yield name, _of_factors(model) if name.endswith("BPR") else _implicit(model)


def _implicit(model: Any) -> Lists:
    n_items = (model.item_factors if _has_factors(model) else model.similarity).shape[0]

    def lists(given: Sequence[int]) -> Items:
        most = SHOWN + len(given)
        if len(given) == 1 and _has_factors(model):
            return model.similar_items(given[0], N=most)[0].astype(np.int32)
        places = np.zeros(len(given), np.int64), np.array(given, np.int64)
        mine = sparse.csr_matrix((np.ones(len(given)), places), shape=(1, n_items))
        options = {"filter_already_liked_items": False, "recalculate_user": True}
        items, scores = model.recommend(0, mine, N=most, **options)
        return items[scores > 0].astype(np.int32)

    return lists


def _has_factors(model: Any) -> bool:
    return hasattr(model, "item_factors")


def _of_factors(model: Any) -> Lists:
    """Return lists of who answers nobody it has not met: the mean of the given asks."""
    factors = model.item_factors

    def lists(given: Sequence[int]) -> Items:
        scores = factors @ factors[list(given)].mean(axis=0)
        best = np.argpartition(-scores, SHOWN + len(given))[: SHOWN + len(given)]
        return best[np.lexsort((best, -scores[best]))].astype(np.int32)

    return lists


def sar_lists(
    groups: Ints, items: Items, times: Ints, n_items: int
) -> Iterator[tuple[str, Lists]]:
    """Give the lists of recommenders' SAR, by its own item similarity (Jaccard).

    Raises:
        ImportError: when it is not installed.
    """
    pandas = importlib.import_module("pandas")
    sar = importlib.import_module("recommenders.models.sar")
    importlib.import_module("recommenders.models.sar.sar_singlenode").jaccard = _jaccard
    model = sar.SAR(
        col_user="user",
        col_item="item",
        col_rating="rating",
        col_timestamp="time",
        similarity_type="jaccard",
        timedecay_formula=False,
    )
    facts = {"user": groups, "item": items, "rating": 1.0, "time": times // 1000}
    if not hasattr(np, "NaN"):
        np.NaN = np.nan  # SAR names it so; numpy 2 no longer does
    model.fit(pandas.DataFrame(facts).drop_duplicates(["user", "item"]))
    places = np.full(n_items, -1)
    for item, place in model.item2index.items():
        places[item] = place
    names = np.array([model.index2item[at] for at in range(len(model.item2index))])
    similar = sparse.csr_array(model.item_similarity)

    def lists(given: Sequence[int]) -> Items:
        known = places[list(given)]
        known = known[known >= 0]
        if not len(known):
            return np.zeros(0, np.int32)
        summed = sparse.csr_array(similar[known].sum(axis=0).reshape(1, -1))
        found, scores = summed.indices, summed.data
        best = np.lexsort((names[found], -scores))[: SHOWN + len(given)]
        return names[found[best]].astype(np.int32)

    yield "recommenders, SAR", lists


def _jaccard(together: Any) -> sparse.csr_array:
    """Return what SAR's own function returns, without its zeros."""
    pairs = sparse.coo_array(together)
    held = together.diagonal()
    either = held[pairs.row] + held[pairs.col] - pairs.data
    return sparse.csr_array((pairs.data / either, (pairs.row, pairs.col)), pairs.shape)


def lenskit_lists(groups: Ints, items: Items) -> Iterator[tuple[str, Lists]]:
    """Give the lists of lenskit's neighbours of items and of users, ALS and EASE.

    Raises:
        ImportError: when it is not installed.
    """
    pandas = importlib.import_module("pandas")
    data = importlib.import_module("lenskit.data")
    knn = importlib.import_module("lenskit.knn")
    training = importlib.import_module("lenskit.training")
    als = importlib.import_module("lenskit.als").ImplicitMFScorer
    facts = pandas.DataFrame({"user_id": groups, "item_id": items}).drop_duplicates()
    known = data.from_interactions_df(facts)
    models = {
        "lenskit, item-kNN": knn.ItemKNNScorer(feedback="implicit"),
        "lenskit, user-kNN": knn.UserKNNScorer(feedback="implicit"),
        "lenskit, ALS": als(embedding_size=FACTORS),
    }
    if known.item_count <= LARGEST_SQUARE:
        models["lenskit, EASE"] = knn.EASEScorer()
    for name, model in models.items():
        model.train(known, training.TrainingOptions(rng=SEED))
        yield name, _lenskit(model, data, known.items)


def _lenskit(model: Any, data: Any, vocabulary: Any) -> Lists:
    names = vocabulary.ids()
    every = data.ItemList(item_nums=np.arange(len(names)), vocabulary=vocabulary)

    def lists(given: Sequence[int]) -> Items:
        held = np.intersect1d(given, names)  # it takes no item that it has not met
        if not len(held):
            return np.zeros(0, np.int32)
        held = data.ItemList(item_ids=held)
        scores = model(data.RecQuery(user_items=held), every).scores()
        scores = np.nan_to_num(scores, nan=-np.inf)
        most = min(SHOWN + len(given), len(scores))
        best = np.argpartition(-scores, most - 1)[:most]
        best = best[np.lexsort((best, -scores[best]))]
        return names[best[np.isfinite(scores[best])]].astype(np.int32)

    return lists


def _without(items: Items, given: Sequence[int], most: int) -> Items:
    return items[~np.isin(items, given)][:most]


def _others(
    report: Report, what: str, groups: Ints, items: Items, times: Ints, n_items: int
) -> Iterator[tuple[str, Lists]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, found in (
            ("implicit", implicit_lists(groups, items, n_items)),
            ("recommenders", sar_lists(groups, items, times, n_items)),
            ("lenskit", lenskit_lists(groups, items)),
        ):
            try:
                yield from found
            except ImportError as error:
                report.skip(f"{name} on {what}", f"not installed: {error}")


def _orders(report: Report) -> None:
    test = bought_together.trial(online_retail(), bought_together.CUT)
    orders, items, times = test.orders.lines_of(test.learned)
    others = _others(report, "Online Retail", orders, items, times, test.orders.n_items)
    mine = bought_together.ask(test, bought_together.ours(test, CopurchaseOptions()))
    largest = bought_together.LARGEST_ASKED
    asked = basket_completion.questions(test, test.now_ms, largest=largest)
    cart = basket_completion.ask(asked, basket_completion.ours(test, CopurchaseOptions()))[
        0
    ]
    groups = np.repeat(np.arange(len(test.asked)), [len(order) for order in test.asked])
    for name, lists in others:
        found = bought_together.ask(
            test, lambda anchor, of=lists: _without(of([anchor]), [anchor], CART)
        )
        shown = f"its catalog coverage {found.coverage:.3f}, ours {mine.coverage:.3f}"
        for length in (4, 10):
            title = f"beside {name}, bought together, hit@{length}"
            _add(report, title, mine.hits[length], found.hits[length], groups, shown)
        hits = basket_completion.ask(
            asked, lambda given, of=lists: _without(of(given.tolist()), given, CART)
        )[0]
        title = f"beside {name}, basket completion, HR@10"
        _add(report, title, cart, hits, np.arange(len(asked)))


def _visits(report: Report, name: str, split: Split) -> None:
    sessions, items, times = split.train.events()
    others = _others(report, name, sessions, items, times, split.n_items)
    mine = next_item.ask(split, next_item.ours(split, SessionKnnOptions()))
    for other, lists in others:
        found = next_item.ask(
            split, lambda visit, _, of=lists: _without(of(visit[-9:]), visit[-1:], SHOWN)
        )
        for metric in ("HR@20", "MRR@20"):
            title = f"beside {other}, next item, {name}, {metric}"
            scores = mine.scores(metric), found.scores(metric)
            _add(report, title, *scores, mine.groups)


def _matrix(groups: Ints, items: Items, n_items: int) -> sparse.csr_matrix:
    pairs = np.unique(groups * np.int64(n_items) + items)
    rows = np.unique(pairs // n_items, return_inverse=True)[1]
    ones = np.ones(len(pairs), np.float32)
    return sparse.csr_matrix(
        (ones, (rows, pairs % n_items)), shape=(int(rows.max()) + 1, n_items)
    )


def _add(
    report: Report, title: str, mine: Floats, theirs: Floats, groups: Ints, note: str = ""
) -> None:
    value, floor = float(mine.mean()), float(theirs.mean())
    gain = difference(mine, theirs, groups)
    ratio = value / floor if floor else float("inf")
    said = f"difference {gain}" + (f"; {note}" if note else "")
    report.add(Figure(title, value, "share", floor, ratio, note=said))
