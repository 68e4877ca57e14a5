"""Visual similarity: a store's visual model, nearest neighbours and match confidence.

Neighbours come from an exact search over all vectors. Confidence is the probability of a
right match, calibrated per store:

Each sampled picture is searched like a photo. Its category is known, so the share of right
matches is counted by similarity and by agreement of neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import (
    NO_RANKED,
    Bools,
    Ints,
    Items,
    RankedItems,
    top_score_indexes,
)
from productrecs.engines.visual.image_transforms import Floats

KEPT: Final = 40
"""Number of precomputed neighbours of each picture."""

_CANDIDATES: Final = 120  # candidates by picture, before kind and price are added
_BLOCK: Final = 128
_BATCH_ROWS: Final = 4_096  # vectors per block, whose similarities fit the CPU cache
_HIDDEN_SCORE: Final = -1.0  # score of hidden items
_PAIRS: Final = 4_000
_FLOOR: Final = 0.6  # quantile of the similarity of random pairs

IMAGE_SHARE, KIND_SHARE, PRICE_SHARE = 0.7, 0.2, 0.1


class PicturedItems(NamedTuple):
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
    pictured: PicturedItems, query: Floats, limit: int, visible: Bools | None = None
) -> RankedItems:
    """Return the `limit` visible items most similar to the unit vector `query`.

    `visible` is by item number. Scores are cosines, clipped at 0; ties by item number.
    """
    return nearest_items_batch(pictured, query[None], limit, visible)[0]


def nearest_items_batch(
    pictured: PicturedItems, queries: Floats, limit: int, visible: Bools | None = None
) -> list[RankedItems]:
    """Return `nearest_items` of each of `queries`, [n, d], in less time."""
    items = pictured.items
    if not len(items):
        return [NO_RANKED] * len(queries)
    transposed = queries.T.astype(np.float32)
    similarities = np.empty((len(queries), len(items)), dtype=np.float32)
    for start in range(0, len(items), _BATCH_ROWS):
        rows = slice(start, start + _BATCH_ROWS)
        similarities[:, rows] = (pictured.vectors[rows] @ transposed).T
    np.clip(similarities, 0.0, 1.0, out=similarities)
    if visible is not None:
        similarities[:, ~visible_mask(visible, items)] = _HIDDEN_SCORE
    return [_best_visible(items, scores, limit) for scores in similarities]


def merge_best_items(lists: Sequence[RankedItems], limit: int) -> RankedItems:
    """Return the `limit` best items of several lists, each with its best score.

    Exact if every list has its best `limit` items.
    """
    items = np.concatenate([ranked.items for ranked in lists])
    scores = np.concatenate([ranked.scores for ranked in lists])
    order = np.lexsort((-scores, items))
    items, scores = items[order], scores[order]
    is_first = np.ones(len(items), dtype=np.bool_)
    is_first[1:] = items[1:] != items[:-1]
    items, scores = items[is_first], scores[is_first]
    best = top_score_indexes(items, scores, limit)
    return RankedItems(items[best], scores[best])


def merge_by_rank(lists: Sequence[RankedItems], limit: int) -> RankedItems:
    """Return the first items of several lists, then the second ones, each item once.

    Items of one rank are ordered by score, then by item number.
    """
    items = np.concatenate([ranked.items for ranked in lists])
    scores = np.concatenate([ranked.scores for ranked in lists])
    ranks = np.concatenate([np.arange(len(ranked.items)) for ranked in lists])
    order = np.lexsort((items, -scores, ranks))
    first_index = np.sort(np.unique(items[order], return_index=True)[1])[:limit]
    return RankedItems(items[order][first_index], scores[order][first_index])


def _best_visible(items: Items, scores: npt.NDArray[np.float32], limit: int) -> RankedItems:
    best = top_score_indexes(items, scores, limit)
    best = best[scores[best] > _HIDDEN_SCORE]
    return RankedItems(items[best], scores[best])


def visible_mask(visible: Bools, items: Items) -> Bools:
    """Return which items are visible; items beyond the end of `visible` are not."""
    if not len(items) or int(items[-1]) < len(visible):
        return visible[items]
    mask = np.zeros(len(items), dtype=np.bool_)
    known_count = int(np.searchsorted(items, len(visible)))
    mask[:known_count] = visible[items[:known_count]]
    return mask


def similarity_floor(vectors: Floats) -> float:
    """Return the similarity that unrelated pictures reach."""
    count = len(vectors)
    if count < 4:  # noqa: PLR2004 - too few for a quantile
        return 0.0
    rng = np.random.Generator(np.random.PCG64(7))
    rows, other_rows = rng.integers(0, count, (2, _PAIRS))
    similarities = np.einsum("nd,nd->n", vectors[rows], vectors[other_rows])[
        rows != other_rows
    ]
    return max(0.0, float(np.quantile(similarities, _FLOOR)))


def compute_neighbours(
    pictured: PicturedItems, rows: npt.NDArray[np.intp], floor: float
) -> NeighbourTable:
    """Return the neighbours of the given rows among all, only those above `floor`."""
    table = NeighbourTable(
        np.full((len(rows), KEPT), -1, dtype=np.int32),
        np.zeros((len(rows), KEPT), dtype=np.float32),
    )
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        similarities = pictured.vectors[block] @ pictured.vectors.T
        similarities[np.arange(len(block)), block] = -1.0
        candidates = _top_columns_unordered(similarities, _CANDIDATES)
        cosines = np.take_along_axis(similarities, candidates, axis=1)
        scores = _blend_with_kind_and_price(pictured, block[:, None], candidates, cosines)
        scores[cosines <= floor] = 0.0
        _write_best_neighbours(table, start, candidates, scores)
    return table


def update_neighbours(
    pictured: PicturedItems,
    known_neighbours: NeighbourTable,
    added: npt.NDArray[np.intp],
    floor: float,
) -> NeighbourTable:
    """Return the neighbours of all rows, when only the rows `added` are new.

    `known_neighbours` has a row for each of `pictured`; its rows of `added` are ignored.
    """
    rows, scores = known_neighbours.rows.copy(), known_neighbours.scores.copy()
    new_neighbours = compute_neighbours(pictured, added, floor)
    rows[added], scores[added] = new_neighbours
    is_new = np.zeros(len(rows), dtype=np.bool_)
    is_new[added] = True
    for row in added.tolist():
        similarities = pictured.vectors @ pictured.vectors[row]
        similarities[is_new] = -1.0  # new rows already have each other
        near_rows = np.flatnonzero(similarities > floor)
        column = np.full(1, row)
        scores_of_row = _blend_with_kind_and_price(
            pictured, near_rows[:, None], column[None, :], similarities[near_rows][:, None]
        )
        is_better = scores_of_row[:, 0] > scores[near_rows, -1]
        for near_row, score in zip(
            near_rows[is_better].tolist(), scores_of_row[is_better, 0].tolist(), strict=True
        ):
            _insert_neighbour(rows[near_row], scores[near_row], row, score)
    return NeighbourTable(rows, scores)


def _blend_with_kind_and_price(
    pictured: PicturedItems,
    rows: npt.NDArray[np.intp],
    others: npt.NDArray[np.intp],
    cosines: Floats,
) -> npt.NDArray[np.float32]:
    """Return the similarity of `others` to `rows`: picture first, then kind and price."""
    kinds, prices = pictured.kinds, pictured.prices
    is_same_kind = (kinds[rows] == kinds[others]) & (kinds[rows] >= 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        price_distance = np.abs(np.log(prices[rows] / prices[others]))
    price_closeness = np.nan_to_num(np.exp(-price_distance), nan=0.0)
    scores: Floats = IMAGE_SHARE * np.clip(cosines, 0.0, 1.0) + KIND_SHARE * is_same_kind
    return (scores + PRICE_SHARE * price_closeness).astype(np.float32)


def _top_columns_unordered(similarities: Floats, limit: int) -> npt.NDArray[np.intp]:
    if similarities.shape[1] <= limit:
        return np.broadcast_to(np.arange(similarities.shape[1]), similarities.shape)
    order: npt.NDArray[np.intp] = np.argpartition(
        similarities, similarities.shape[1] - limit, axis=1
    )
    return order[:, -limit:]


def _write_best_neighbours(
    table: NeighbourTable, start: int, candidates: npt.NDArray[np.intp], scores: Floats
) -> None:
    """Write the best of the candidates, ties by row number."""
    order = np.lexsort((candidates, -scores), axis=1)[:, :KEPT]
    best = np.take_along_axis(scores, order, axis=1)
    rows = np.take_along_axis(candidates, order, axis=1)
    end, width = start + len(rows), rows.shape[1]
    table.rows[start:end, :width] = np.where(best > 0.0, rows, -1)
    table.scores[start:end, :width] = best


def _insert_neighbour(
    rows: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], row: int, score: float
) -> None:
    position = int(np.searchsorted(-scores, -score, side="right"))
    rows[position + 1 :] = rows[position:-1].copy()
    scores[position + 1 :] = scores[position:-1].copy()
    rows[position], scores[position] = row, score


@dataclass(frozen=True, slots=True)
class VisualModel:
    """Memory-mapped arrays, shared between processes; item queries are table lookups."""

    pictured: PicturedItems
    neighbours: NeighbourTable
    floor: float  # similarity of unrelated pictures
    digests: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Digest of each row's file, 0 if unknown; empty in older releases."""

    @classmethod
    def empty(cls) -> "VisualModel":
        """Return the model of a store without pictures."""
        nothing = PicturedItems(
            np.zeros((0, 1), np.float32),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0, np.float32),
        )
        none = NeighbourTable(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32))
        return cls(nothing, none, 0.0)

    def __len__(self) -> int:
        """Return how many items have a picture."""
        return len(self.pictured.items)

    def row_of(self, item: int) -> int | None:
        """Return the row of an item; None when it has no picture."""
        items = self.pictured.items
        row = int(items.searchsorted(item)) if len(items) else 0
        return row if row < len(items) and int(items[row]) == item else None

    def similar_to_item(self, item: int) -> RankedItems:
        """Return the items similar to one, best first; none if it has no picture."""
        row = self.row_of(item)
        if row is None:
            return NO_RANKED
        rows, scores = self.neighbours
        count = int((rows[row] >= 0).sum())
        return RankedItems(self.pictured.items[rows[row, :count]], scores[row, :count])

    def fingerprint(self, item: int) -> int:
        """Return a number that changes with `similar_to_item`; 0 without a picture."""
        row = self.row_of(item)
        if row is None:
            return 0
        rows, scores = self.neighbours
        count = int((rows[row] >= 0).sum())
        items = self.pictured.items[rows[row, :count]]
        return hash((items.tobytes(), scores[row, :count].tobytes()))

    def similar_to_item_exhaustive(
        self, item: int, limit: int, visible: Bools
    ) -> RankedItems:
        """Return the `limit` visible items most similar to one, by a full search."""
        row = self.row_of(item)
        if row is None:
            return NO_RANKED
        nearest = nearest_items(
            self.pictured, self.pictured.vectors[row], limit + 1, visible
        )
        is_similar = (nearest.items != item) & (nearest.scores > self.floor)
        return RankedItems(
            nearest.items[is_similar][:limit], nearest.scores[is_similar][:limit]
        )

    def similar_to_vectors(
        self, queries: Floats, limit: int, visible: Bools | None = None
    ) -> list[RankedItems]:
        """Return for each unit vector of `queries`, [n, d], the most similar items."""
        return nearest_items_batch(self.pictured, queries, limit, visible)

    def items_with_picture_digest(self, digest: int, visible: Bools) -> Items:
        """Return the visible items whose picture file has this digest."""
        rows = np.flatnonzero((self.digests == digest) & (self.digests != 0))
        items = self.pictured.items[rows]
        return items[visible_mask(visible, items)]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        return {
            "vectors": self.pictured.vectors,
            "items": self.pictured.items,
            "kinds": self.pictured.kinds,
            "prices": self.pictured.prices,
            "near_rows": self.neighbours.rows,
            "near_scores": self.neighbours.scores,
            "floor": np.array([self.floor], np.float32),
            "digests": self.digests,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "VisualModel":
        """Return a stored model.

        Raises:
            KeyError: when an array is missing.
        """
        items: Items = arrays["items"]
        pictured = PicturedItems(
            arrays["vectors"], items, arrays["kinds"], arrays["prices"]
        )
        neighbours = NeighbourTable(arrays["near_rows"], arrays["near_scores"])
        digests = arrays.get("digests", np.zeros(0, np.int64))
        return cls(pictured, neighbours, float(arrays["floor"][0]), digests)


VOTERS: Final = 5
"""Number of neighbours that vote on the kind."""

_SAMPLE: Final = 300
_MAX_SEARCHED: Final = 20_000
_MIN_SAMPLE: Final = 40  # sampled pictures with a known kind; fewer are not enough
_SIMILARITY_SHARE, _AGREEMENT_SHARE = 0.6, 0.4
_MIN_SPAN: Final = 0.05


@dataclass(frozen=True, slots=True)
class MatchCalibration:
    """One store's calibration: the chance of a right match, by similarity and agreement."""

    floor: float  # similarity of unrelated pictures
    usual: float  # usual similarity of a picture and its nearest neighbour
    evidence: Floats  # [k] ascending; empty if kinds are unknown
    chance: Floats  # [k] ascending: observed share of right matches

    def evidence_of(self, similarity: float, agreement: float) -> float:
        """Return the evidence for a match, 0 to 1.

        `similarity` is the similarity of the nearest picture, `agreement` the share of
        voting neighbours of one kind.
        """
        evidence = _match_evidence(self, np.array([similarity]), np.array([agreement]))
        return float(evidence[0])

    def chance_of(self, evidence: float) -> float:
        """Return the probability that the kind is that of the neighbours, 0 to 1."""
        if not len(self.evidence):
            return evidence
        return float(np.interp(evidence, self.evidence, self.chance))


def fit_match_calibration(model: VisualModel) -> MatchCalibration:
    """Return the calibration on a store's pictures; deterministic."""
    empty = np.zeros(0)
    vectors, kinds = model.pictured.vectors, model.pictured.kinds
    if len(model) < 2:  # noqa: PLR2004 - a single picture has no neighbour
        return MatchCalibration(model.floor, 1.0, empty, empty)
    searched_rows = _evenly_spaced_indexes(len(model), _MAX_SEARCHED)
    sample = _evenly_spaced_indexes(len(searched_rows), _SAMPLE)
    similarities = (
        np.asarray(vectors[searched_rows[sample]]) @ np.asarray(vectors[searched_rows]).T
    )
    similarities[np.arange(len(sample)), sample] = -1.0
    neighbour_index = np.argpartition(
        -similarities, min(VOTERS, len(searched_rows)) - 1, axis=1
    )[:, :VOTERS]
    nearest_similarity = similarities.max(axis=1)
    uncalibrated = MatchCalibration(
        model.floor, float(np.median(nearest_similarity)), empty, empty
    )
    own_kinds = kinds[searched_rows[sample]]
    voted_kinds = kinds[searched_rows[neighbour_index]]
    has_kind = own_kinds >= 0
    if has_kind.sum() < _MIN_SAMPLE:
        return uncalibrated
    majority, agreement = _majority_kind_and_share(voted_kinds[has_kind])
    evidence = _match_evidence(uncalibrated, nearest_similarity[has_kind], agreement)
    return MatchCalibration(
        uncalibrated.floor,
        uncalibrated.usual,
        *_isotonic_regression(evidence, majority == own_kinds[has_kind]),
    )


def _match_evidence(
    calibration: MatchCalibration, similarity: Floats, agreement: Floats
) -> Floats:
    span = max(calibration.usual - calibration.floor, _MIN_SPAN)
    relative_similarity = np.clip((similarity - calibration.floor) / span, 0.0, 1.0)
    evidence: Floats = relative_similarity * (
        _SIMILARITY_SHARE + _AGREEMENT_SHARE * agreement
    )
    return evidence


def _evenly_spaced_indexes(count: int, limit: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, count - 1, min(count, limit)).astype(np.intp)


def _majority_kind_and_share(
    kinds: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return each row's majority kind and its share; unknown kinds do not vote."""
    votes = (kinds[:, :, None] == kinds[:, None, :]).sum(axis=2) * (kinds >= 0)
    best_vote = votes.argmax(axis=1)
    rows = np.arange(len(kinds))
    return kinds[rows, best_vote], votes[rows, best_vote] / kinds.shape[1]


def _isotonic_regression(
    evidence: Floats, is_right: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return ascending probabilities by evidence (isotonic regression).

    Source: Ayer et al., An Empirical Distribution Function for Sampling with Incomplete
    Information, 1955. Each pool counts one hit and one miss more than it saw.
    """
    pools: list[tuple[float, float, float]] = []  # hits, cases, summed evidence
    order = np.argsort(evidence, kind="stable")
    for value, is_hit in zip(
        evidence[order].tolist(), is_right[order].tolist(), strict=True
    ):
        hits, cases, total = float(is_hit), 1.0, float(value)
        while pools and pools[-1][0] * cases >= hits * pools[-1][1]:
            previous = pools.pop()
            hits = hits + previous[0]
            cases = cases + previous[1]
            total = total + previous[2]
        pools.append((hits, cases, total))
    pool_evidence = np.array([total / cases for _, cases, total in pools])
    chances = np.array([(hits + 1.0) / (cases + 2.0) for hits, cases, _ in pools])
    return (
        np.concatenate([[0.0], pool_evidence]),
        np.maximum.accumulate(np.concatenate([[0.0], chances])),
    )
