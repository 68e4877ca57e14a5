"""Nearest neighbours by exact search over all vectors."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.arrays import (
    NO_RANKED,
    Bools,
    Items,
    Ranked,
    top_places,
)
from productrecs.engines.visual.image_transforms import Floats

KEPT: Final = 40
"""Number of precomputed neighbours of each picture."""

_LOOKED_AT: Final = 120  # candidates by picture, before kind and price are added
_BLOCK: Final = 128
_AT_ONCE: Final = 4_096  # vectors per block, whose similarities fit the CPU cache
_NEVER: Final = -1.0  # score of hidden items
_PAIRS: Final = 4_000
_FLOOR: Final = 0.6  # quantile of the similarity of random pairs

IMAGE_SHARE, KIND_SHARE, PRICE_SHARE = 0.7, 0.2, 0.1


class ImageVectors(NamedTuple):
    """The items with a picture, row by row."""

    vectors: Floats  # [n, d], of length 1
    items: Items  # [n] distinct item numbers, rising
    kinds: npt.NDArray[np.int32]  # [n] a code of the narrowest category; -1 for none
    prices: Floats  # [n]; nan where unknown


class NeighbourTable(NamedTuple):
    """The rows most similar to each row, best first; -1 marks missing `rows`."""

    rows: npt.NDArray[np.int32]  # [n, KEPT]
    scores: npt.NDArray[np.float32]  # [n, KEPT] falling, 0 to 1


def nearest_items(
    pictured: ImageVectors, query: Floats, limit: int, visible: Bools | None = None
) -> Ranked:
    """Return the `limit` visible items most similar to the unit vector `query`.

    `visible` is by item number. Scores are cosines, clipped at 0; ties by item number.
    """
    return nearest_items_batch(pictured, query[None], limit, visible)[0]


def nearest_items_batch(
    pictured: ImageVectors, queries: Floats, limit: int, visible: Bools | None = None
) -> list[Ranked]:
    """Return `nearest_items` of each of `queries`, [n, d], in less time."""
    items = pictured.items
    if not len(items):
        return [NO_RANKED] * len(queries)
    turned = queries.T.astype(np.float32)
    likes = np.empty((len(queries), len(items)), dtype=np.float32)
    for start in range(0, len(items), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        likes[:, rows] = (pictured.vectors[rows] @ turned).T
    np.clip(likes, 0.0, 1.0, out=likes)
    if visible is not None:
        likes[:, ~visible_mask(visible, items)] = _NEVER
    return [_best(items, scores, limit) for scores in likes]


def merge_best(found: Sequence[Ranked], limit: int) -> Ranked:
    """Return the `limit` best items of several lists, each with its best score.

    Exact if every list has its best `limit` items.
    """
    items = np.concatenate([one.items for one in found])
    scores = np.concatenate([one.scores for one in found])
    order = np.lexsort((-scores, items))
    items, scores = items[order], scores[order]
    is_first = np.ones(len(items), dtype=np.bool_)
    is_first[1:] = items[1:] != items[:-1]
    items, scores = items[is_first], scores[is_first]
    places = top_places(items, scores, limit)
    return Ranked(items[places], scores[places])


def _best(items: Items, scores: npt.NDArray[np.float32], limit: int) -> Ranked:
    places = top_places(items, scores, limit)
    places = places[scores[places] > _NEVER]
    return Ranked(items[places], scores[places])


def visible_mask(visible: Bools, items: Items) -> Bools:
    """Return which items are visible; items beyond the end of `visible` are not."""
    if not len(items) or int(items[-1]) < len(visible):
        return visible[items]
    found = np.zeros(len(items), dtype=np.bool_)
    known = int(np.searchsorted(items, len(visible)))
    found[:known] = visible[items[:known]]
    return found


def similarity_floor(vectors: Floats) -> float:
    """Return the similarity that unrelated pictures reach."""
    count = len(vectors)
    if count < 4:  # noqa: PLR2004 - too few for a quantile
        return 0.0
    lot = np.random.Generator(np.random.PCG64(7))
    one, other = lot.integers(0, count, (2, _PAIRS))
    pairs = np.einsum("nd,nd->n", vectors[one], vectors[other])[one != other]
    return max(0.0, float(np.quantile(pairs, _FLOOR)))


def compute_neighbours(
    pictured: ImageVectors, rows: npt.NDArray[np.intp], floor: float
) -> NeighbourTable:
    """Return the neighbours of the given rows among all, only those above `floor`."""
    found = NeighbourTable(
        np.full((len(rows), KEPT), -1, dtype=np.int32),
        np.zeros((len(rows), KEPT), dtype=np.float32),
    )
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        likes = pictured.vectors[block] @ pictured.vectors.T
        likes[np.arange(len(block)), block] = -1.0
        candidates = _best_columns(likes, _LOOKED_AT)
        cosines = np.take_along_axis(likes, candidates, axis=1)
        scores = _blended(pictured, block[:, None], candidates, cosines)
        scores[cosines <= floor] = 0.0
        _put(found, start, candidates, scores)
    return found


def update_neighbours(
    pictured: ImageVectors, known: NeighbourTable, added: npt.NDArray[np.intp], floor: float
) -> NeighbourTable:
    """Return the neighbours of all rows, when only the rows `added` are new.

    `known` has a row for each of `pictured`; its rows of `added` are ignored.
    """
    rows, scores = known.rows.copy(), known.scores.copy()
    fresh = compute_neighbours(pictured, added, floor)
    rows[added], scores[added] = fresh
    is_new = np.zeros(len(rows), dtype=np.bool_)
    is_new[added] = True
    for row in added.tolist():
        likes = pictured.vectors @ pictured.vectors[row]
        likes[is_new] = -1.0  # new rows already have each other
        near = np.flatnonzero(likes > floor)
        column = np.full(1, row)
        blended = _blended(pictured, near[:, None], column[None, :], likes[near][:, None])
        better = blended[:, 0] > scores[near, -1]
        for place, score in zip(
            near[better].tolist(), blended[better, 0].tolist(), strict=True
        ):
            _insert(rows[place], scores[place], row, score)
    return NeighbourTable(rows, scores)


def _blended(
    pictured: ImageVectors,
    rows: npt.NDArray[np.intp],
    others: npt.NDArray[np.intp],
    cosines: Floats,
) -> npt.NDArray[np.float32]:
    """Return the similarity of `others` to `rows`: picture first, then kind and price."""
    kinds, prices = pictured.kinds, pictured.prices
    same = (kinds[rows] == kinds[others]) & (kinds[rows] >= 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(np.log(prices[rows] / prices[others]))
    close = np.nan_to_num(np.exp(-apart), nan=0.0)
    scores: Floats = IMAGE_SHARE * np.clip(cosines, 0.0, 1.0) + KIND_SHARE * same
    return (scores + PRICE_SHARE * close).astype(np.float32)


def _best_columns(likes: Floats, limit: int) -> npt.NDArray[np.intp]:
    if likes.shape[1] <= limit:
        return np.broadcast_to(np.arange(likes.shape[1]), likes.shape)
    order: npt.NDArray[np.intp] = np.argpartition(likes, likes.shape[1] - limit, axis=1)
    return order[:, -limit:]


def _put(
    found: NeighbourTable, start: int, candidates: npt.NDArray[np.intp], scores: Floats
) -> None:
    """Write the best of the candidates, ties by row number."""
    order = np.lexsort((candidates, -scores), axis=1)[:, :KEPT]
    best = np.take_along_axis(scores, order, axis=1)
    rows = np.take_along_axis(candidates, order, axis=1)
    stop, width = start + len(rows), rows.shape[1]
    found.rows[start:stop, :width] = np.where(best > 0.0, rows, -1)
    found.scores[start:stop, :width] = best


def _insert(
    rows: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], row: int, score: float
) -> None:
    place = int(np.searchsorted(-scores, -score, side="right"))
    rows[place + 1 :], scores[place + 1 :] = rows[place:-1].copy(), scores[place:-1].copy()
    rows[place], scores[place] = row, score
