"""Visual model build: extends the serving model, or fits a new one.

A new picture is embedded in the existing space, and the neighbour lists are updated. The
space is fitted again when the pictures have grown by a quarter, or the shoppers' actions
have doubled.
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.clock import MINUTE_MS
from productrecs.core.ids import StoreId, visitor_hash
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.embedding_space import MIN_PICTURES
from productrecs.engines.visual.image_descriptor import LENGTH
from productrecs.engines.visual.visual_similarity import (
    KEPT,
    ImageVectors,
    NeighbourTable,
    compute_neighbours,
    similarity_floor,
    update_neighbours,
)
from productrecs.records.pictures.picture_fetch_states import DescribedItem, PictureProgress
from productrecs.records.pictures.repository import PictureRepository
from productrecs.storage.database import Database
from productrecs.storage.model_files import (
    BrokenModelError,
    open_arrays,
    publish_arrays,
    remove_other_models,
)
from productrecs.storage.snapshot_cache import SnapshotCache
from productrecs.storage.snapshots import PICTURES, SnapshotName
from productrecs.training.repository import TRAINING_KINDS, TrainingRepository
from productrecs.training.visual.picture_embedding import (
    EmbeddingExamples,
    PictureEmbedding,
)
from productrecs.training.visual.served_visual_model import pictures_folder

Ints = npt.NDArray[np.int64]

MAX_EVENTS: Final = 300_000
"""Newest events of the log; more cost more than they improve."""

MAX_PAIRS: Final = 20_000

_VISIT_MS: Final = 30 * MINUTE_MS
_REACH: Final = 4  # maximum distance of compared products in a visit
_LONGEST: Final = 60  # events of a visit; longer ones are robots
_FEWEST_VISITORS: Final = 2


def read_coviewed_pairs(repository: TrainingRepository, numbers: Collection[int]) -> Ints:
    """Return co-viewed pairs of the given items, [n, 2], the earliest first.

    Pairs need at least two visitors; those with the highest cosine of co-views come first.
    """
    head = repository.head()
    if head is None or not len(numbers):
        return np.zeros((0, 2), np.int64)
    rows: list[tuple[int, int, int]] = []
    kinds = frozenset(TRAINING_KINDS)
    for page in repository.behaviour(max(0, head.seq - MAX_EVENTS), head.seq):
        rows += [
            (visitor_hash(visitor), ts, item)
            for ts, kind, item, visitor, *_ in page
            if kind in kinds and item is not None
        ]
    if not rows:
        return np.zeros((0, 2), np.int64)
    seen = np.array(rows, dtype=np.int64)
    known = np.isin(seen[:, 2], np.fromiter(numbers, np.int64, len(numbers)))
    return coviewed_pairs(*seen[known].T)


def coviewed_pairs(visitors: Ints, times: Ints, items: Ints) -> Ints:
    """Return the co-viewed pairs of views, parallel arrays in the log's order."""
    order = np.lexsort((times, visitors))
    visitors, times, items = visitors[order], times[order], items[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = (visitors[1:] != visitors[:-1]) | (np.diff(times) > _VISIT_MS)
    visits = np.cumsum(starts) - 1
    is_long = np.bincount(visits) > _LONGEST if len(visits) else np.zeros(0, np.bool_)
    found = [np.zeros((0, 4), np.int64)]
    for step in range(1, _REACH + 1):
        one, other = items[:-step], items[step:]
        is_pair = (visits[:-step] == visits[step:]) & (one != other)
        is_pair &= ~is_long[visits[step:]]
        low, high = np.minimum(one, other), np.maximum(one, other)
        parts = (low, high, visitors[step:], times[step:])
        found.append(np.stack([part[is_pair] for part in parts], axis=1))
    return _often(np.concatenate(found))


def _often(pair_rows: Ints) -> Ints:
    """Return the frequent pairs among rows of two items, a visitor and a time."""
    if not len(pair_rows):
        return np.zeros((0, 2), np.int64)
    pair_rows = pair_rows[np.argsort(pair_rows[:, 3], kind="stable")]
    _, firsts = np.unique(pair_rows[:, :3], axis=0, return_index=True)
    once = pair_rows[np.sort(firsts)]  # once per visitor, in time order
    pairs, first, counts = np.unique(
        once[:, :2], axis=0, return_index=True, return_counts=True
    )
    weights = _weights(pairs, counts)
    frequent = np.flatnonzero(counts >= _FEWEST_VISITORS)
    frequent = frequent[np.lexsort((frequent, -weights[frequent]))][:MAX_PAIRS]
    found: Ints = pairs[frequent[np.argsort(first[frequent], kind="stable")]]
    return found


def _weights(pairs: Ints, counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the co-views of each pair divided by the items' views (cosine), 0 to 1."""
    size = int(pairs.max()) + 1
    often = np.bincount(pairs.ravel(), np.repeat(counts, 2), minlength=size)
    weights: npt.NDArray[np.float64] = counts / np.sqrt(
        often[pairs[:, 0]] * often[pairs[:, 1]]
    )
    return weights


_GROWN: Final = 1.25  # growth factor after which the space is fitted again
_GROWN_LARGE: Final = 2.0  # the same above the sample size, where more pictures add little
_PAGE: Final = 1_000
_SAMPLE: Final = 3_000
_GROUPS: Final = 500  # largest categories, used for fitting
_FEW_OTHERS: Final = 0.05  # maximum share of pictures with another embedding
_ANEW: Final = 0.2  # above this share of new pictures, all neighbours are searched again

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class _Before:
    """The reusable parts of the serving model."""

    arrays: Arrays
    facts: Mapping[str, Any]


def build_visual(
    database: Database,
    root: Path,
    store_id: StoreId,
    embedding: PictureEmbedding,
    snapshots: SnapshotCache | None = None,
) -> str | None:
    """Build and publish a model of a store's pictures.

    Returns its id; None if nothing changed, or while a store has no picture.

    Raises:
        StoreDeletedError: when the store was deleted.
        OSError: when it cannot be written.
        ObjectStoreUnavailableError: when it cannot be uploaded.
    """
    snapshots = snapshots or SnapshotCache()
    with database.reading() as connection:
        repository = PictureRepository(connection, store_id)
        standing = repository.progress()
        shown = repository.shown(embedding.name)
        foreign = repository.count_other_embedders(embedding.name)
    if not shown and not standing.visual_id:
        _without_pictures(database, store_id, standing)
        return None
    may_teach = embedding.is_taught and standing.has_enough_new_data
    if standing.visual_id and standing.picture_seq <= standing.visual_seq and not may_teach:
        _taught(database, store_id, standing)
        return None
    if standing.visual_id and foreign > _FEW_OTHERS * len(shown):
        return None  # the old model serves until most pictures are embedded again
    folder = pictures_folder(root, store_id)
    if standing.visual_id:
        snapshots.fetch(SnapshotName(store_id, PICTURES, standing.visual_id))
    before = _before(folder, standing, embedding)
    taught_seq = None
    if before is None or may_teach or _has_grown(before, shown):
        space, teacher = embedding.learn(_lessons(database, store_id, shown))
        facts: dict[str, Any] = {"learned_from": len(shown), "taught_by": teacher}
        before, taught_seq = None, standing.seq
    else:
        space, facts = embedding.known(before.arrays), dict(before.facts)
    vectors, is_new = _vectors(database, store_id, shown, embedding, space, before)
    model = _model(shown, vectors, is_new, before)
    arrays = {
        **model.to_arrays(),
        **space,
        "seqs": np.array([one.seq for one in shown], dtype=np.int64),
    }
    facts |= {"embedder": embedding.name, "pictures": len(shown)}
    visual_id = publish_arrays(folder, arrays, facts, standing.visual_id)
    uploaded = SnapshotName(store_id, PICTURES, visual_id)
    snapshots.publish(uploaded, standing.visual_id)
    with database.transaction(synced=False) as transaction:
        repository = PictureRepository(transaction, store_id)
        repository.serve(visual_id, standing.picture_seq)
        if taught_seq is not None:
            repository.mark_learned(taught_seq)
    remove_other_models(folder, {visual_id})
    return visual_id


def _without_pictures(
    database: Database, store_id: StoreId, standing: PictureProgress
) -> None:
    """Record that there is nothing to learn from, so that it is not due again."""
    if standing.picture_seq > standing.visual_seq:
        with database.transaction(synced=False) as transaction:
            PictureRepository(transaction, store_id).serve(None, standing.picture_seq)


def _taught(database: Database, store_id: StoreId, standing: PictureProgress) -> None:
    """Record that metric learning ran up to here, so that it is not due again."""
    if standing.has_enough_new_data:
        with database.transaction(synced=False) as transaction:
            PictureRepository(transaction, store_id).mark_learned(standing.seq)


def _has_grown(before: _Before, shown: Sequence[DescribedItem]) -> bool:
    learned_from = int(before.facts["learned_from"])
    factor = _GROWN if learned_from < _SAMPLE else _GROWN_LARGE
    return len(shown) >= factor * max(learned_from, MIN_PICTURES // 4)


def _before(
    folder: Path, standing: PictureProgress, embedding: PictureEmbedding
) -> _Before | None:
    if not standing.visual_id:
        return None
    try:
        arrays, facts = open_arrays(folder / standing.visual_id)
        usable = facts.get("embedder") == embedding.name and "seqs" in arrays
        return _Before(arrays, facts) if usable else None
    except BrokenModelError:
        return None  # a full rebuild is possible


def _lessons(
    database: Database, store_id: StoreId, shown: Sequence[DescribedItem]
) -> EmbeddingExamples:
    """Return the training examples: sampled pictures, and co-viewed pairs."""
    with database.reading() as connection:
        numbers = {one.number for one in shown}
        pairs = read_coviewed_pairs(TrainingRepository(connection, store_id), numbers)
        wanted = {
            number for number, _ in Counter(pairs.ravel().tolist()).most_common(_SAMPLE)
        }
        places = np.linspace(0, len(shown) - 1, min(len(shown), _SAMPLE)).astype(int)
        wanted |= {shown[place].number for place in places.tolist()}
        chosen = [one for one in shown if one.number in wanted]
        repository = PictureRepository(connection, store_id)
        found = dict(repository.descriptors([one.number for one in chosen]))
    chosen = [one for one in chosen if one.number in found]
    members: dict[str, list[int]] = {}
    for row, one in enumerate(chosen):
        for name in json.loads(one.categories):
            members.setdefault(name, []).append(row)
    largest = sorted(members.values(), key=len, reverse=True)[:_GROUPS]
    descriptors = [found[one.number] for one in chosen]
    rows_of = {one.number: row for row, one in enumerate(chosen)}
    known = [
        (rows_of[one], rows_of[other])
        for one, other in pairs.tolist()
        if one in rows_of and other in rows_of
    ]
    return EmbeddingExamples(
        np.stack(descriptors) if descriptors else np.zeros((0, LENGTH), np.uint8),
        [np.array(rows) for rows in largest],
        np.array(known, dtype=np.intp).reshape(-1, 2),
    )


def _vectors(
    database: Database,
    store_id: StoreId,
    shown: Sequence[DescribedItem],
    embedding: PictureEmbedding,
    space: Arrays,
    before: _Before | None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Return the vector of each shown item, and which of them are new."""
    numbers = np.array([one.number for one in shown], dtype=np.int32)
    seqs = np.array([one.seq for one in shown], dtype=np.int64)
    vectors = np.zeros((len(shown), embedding.dimensions(space)), dtype=np.float32)
    is_new = np.ones(len(shown), dtype=np.bool_)
    if before is not None and len(shown):
        rows, is_same = _rows_before(before, numbers, seqs)
        vectors[is_same] = before.arrays["vectors"][rows[is_same]]
        is_new = ~is_same
    wanted = np.flatnonzero(is_new)
    for start in range(0, len(wanted), _PAGE):
        places = wanted[start : start + _PAGE]
        with database.reading() as connection:
            repository = PictureRepository(connection, store_id)
            found = dict(repository.descriptors(numbers[places].tolist()))
        known = [place for place in places.tolist() if int(numbers[place]) in found]
        if known:
            descriptors = np.stack([found[int(numbers[place])] for place in known])
            vectors[known] = embedding.place(descriptors, space)
    return vectors, is_new


def _rows_before(
    before: _Before, numbers: npt.NDArray[np.int32], seqs: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the previous row of each item, and whether the item is unchanged."""
    items, old = before.arrays["items"], before.arrays["seqs"]
    if not len(items):
        return np.zeros(len(numbers), np.intp), np.zeros(len(numbers), np.bool_)
    rows = np.minimum(np.searchsorted(items, numbers), len(items) - 1)
    return rows, (items[rows] == numbers) & (old[rows] == seqs)


def _model(
    shown: Sequence[DescribedItem],
    vectors: npt.NDArray[np.float32],
    is_new: npt.NDArray[np.bool_],
    before: _Before | None,
) -> VisualModel:
    pictured = ImageVectors(
        vectors,
        np.array([one.number for one in shown], dtype=np.int32),
        _kinds(shown),
        np.array([one.price if one.price else np.nan for one in shown], dtype=np.float32),
    )
    digests = np.array([one.digest or 0 for one in shown], dtype=np.int64)
    if before is None or not len(shown) or is_new.mean() > _ANEW:
        floor = similarity_floor(vectors)
        near = compute_neighbours(pictured, np.arange(len(shown)), floor)
        return VisualModel(pictured, near, floor, digests)
    floor = float(before.arrays["floor"][0])
    known = _moved(before, pictured, is_new)
    near = update_neighbours(pictured, known, np.flatnonzero(is_new), floor)
    return VisualModel(pictured, near, floor, digests)


def _moved(
    before: _Before, pictured: ImageVectors, is_new: npt.NDArray[np.bool_]
) -> NeighbourTable:
    """Return the known neighbours by new rows, without removed items."""
    old_items, count = before.arrays["items"], len(pictured.items)
    places = np.searchsorted(pictured.items, old_items)
    found = places < count
    found[found] = pictured.items[places[found]] == old_items[found]
    found[found] &= ~is_new[places[found]]
    today = np.append(np.where(found, places, -1), -1).astype(np.int32)  # -1 stays -1
    rows = np.full((count, KEPT), -1, dtype=np.int32)
    scores = np.zeros((count, KEPT), dtype=np.float32)
    rows[places[found]] = today[before.arrays["near_rows"][found]]
    scores[places[found]] = before.arrays["near_scores"][found]
    scores[rows < 0] = 0.0
    order = np.argsort(-scores, axis=1, kind="stable")
    return NeighbourTable(
        np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
    )


def _kinds(shown: Sequence[DescribedItem]) -> npt.NDArray[np.int32]:
    """Return a code of each item's narrowest shared category; -1: none."""
    named = [json.loads(one.categories) for one in shown]
    sizes = Counter(name for names in named for name in names)
    codes: dict[str, int] = {}
    kinds = np.full(len(shown), -1, dtype=np.int32)
    for row, names in enumerate(named):
        several = [name for name in names if sizes[name] > 1]
        if several:
            narrowest = min(several, key=lambda name: (sizes[name], name))
            kinds[row] = codes.setdefault(narrowest, len(codes))
    return kinds
