"""Visual model build: extends the serving model, or fits a new one.

A new picture is embedded in the existing space, and the neighbour lists are updated. The
space is fitted again when the pictures have grown by a quarter, or the shoppers' actions
have doubled.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Bools, Ints, Items, Scores
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.descriptor_projection import MIN_PICTURES
from productrecs.engines.visual.image_descriptor import LENGTH
from productrecs.engines.visual.visual_similarity import (
    KEPT,
    NeighbourTable,
    PicturedItems,
    compute_neighbours,
    similarity_floor,
    update_neighbours,
)
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.stored_pictures import (
    DescribedItem,
    VisualModelProgress,
)
from productrecs.storage.files.model_files import (
    BrokenModelError,
    open_arrays,
    publish_arrays,
    read_facts,
    remove_other_models,
)
from productrecs.storage.files.object_store_snapshots import PICTURES, SnapshotName
from productrecs.storage.files.snapshot_cache import SnapshotCache
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.training.repository import TrainingRepository
from productrecs.training.visual.coviewed_pairs import read_frequent_coviewed_pairs
from productrecs.training.visual.picture_embedding import (
    DescriptorEmbedding,
    EmbeddingExamples,
)
from productrecs.training.visual.served_visual_model import pictures_folder

_EMBEDDER: Final = "embedder"  # the fact that names a model's embedding
_GROWTH: Final = 1.25  # growth factor after which the space is fitted again
_GROWTH_LARGE: Final = 2.0  # the same above the sample size, where more pictures add little
_PAGE: Final = 1_000
_SAMPLE: Final = 3_000
_GROUPS: Final = 500  # largest categories, used for fitting
_FEW_OTHERS: Final = 0.05  # maximum share of pictures with another embedding
# Above this share of new pictures, all neighbours are searched again.
_MAX_NEW_SHARE: Final = 0.2

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class _ServingVisualModel:
    """The reusable parts of the serving model."""

    arrays: Arrays
    facts: Mapping[str, Any]


def build_and_publish_visual_model(
    database: Database,
    root: Path,
    store_id: StoreId,
    embedding: DescriptorEmbedding,
    snapshots: SnapshotCache | None = None,
    *,
    serving_embedding: DescriptorEmbedding | None = None,
) -> str | None:
    """Build and publish a model of a store's pictures.

    While few pictures are described for `embedding`, the model with `serving_embedding`
    goes on serving and follows new pictures. Returns its id; None if nothing changed, or
    while a store has no picture.

    Raises:
        StoreDeletedError: when the store was deleted.
        OSError: when it cannot be written.
        ObjectStoreUnavailableError: when it cannot be uploaded.
    """
    snapshots = snapshots or SnapshotCache()
    with database.reading() as connection:
        repository = PictureRepository(connection, store_id)
        progress = repository.progress()
        if not _has_described_nearly_all(repository, embedding.name):
            if serving_embedding is None and progress.visual_id:
                return None
            embedding = serving_embedding or embedding
        items = repository.described_items(embedding.name)
    if not items and not progress.visual_id:
        _record_no_pictures(database, store_id, progress)
        return None
    folder = pictures_folder(root, store_id)
    if progress.visual_id:
        snapshots.fetch_if_not_local(SnapshotName(store_id, PICTURES, progress.visual_id))
    is_switch = embedding.name != served_embedder(root, store_id, progress.visual_id)
    may_learn = embedding.uses_behaviour and progress.has_enough_new_data
    is_unchanged = progress.picture_seq <= progress.visual_seq and not may_learn
    if progress.visual_id and is_unchanged and not is_switch:
        _record_learned(database, store_id, progress)
        return None
    serving = _reusable_model(folder, progress, embedding)
    learned_seq = None
    if serving is None or may_learn or _has_grown_enough_to_relearn(serving, items):
        examples = _read_training_examples(database, store_id, items, embedding.name)
        space, teacher = embedding.fit(examples)
        facts: dict[str, Any] = {"learned_from": len(items), "taught_by": teacher}
        serving, learned_seq = None, progress.seq
    else:
        space, facts = embedding.space_arrays_in(serving.arrays), dict(serving.facts)
    vectors, is_new = _embed_items(database, store_id, items, embedding, space, serving)
    arrays = {
        **_build_visual_model(items, vectors, is_new, serving).to_arrays(),
        **space,
        "seqs": np.array([item.seq for item in items], dtype=np.int64),
    }
    facts |= {_EMBEDDER: embedding.name, "pictures": len(items)}
    visual_id = publish_arrays(folder, arrays, facts, progress.visual_id)
    snapshots.upload_model(SnapshotName(store_id, PICTURES, visual_id), progress.visual_id)
    _serve_or_delete_models(database, store_id, folder, visual_id, progress, learned_seq)
    _remove_models_except_served_and_newest_other(folder, visual_id, embedding.name)
    return visual_id


def _serve_or_delete_models(
    database: Database,
    store_id: StoreId,
    folder: Path,
    visual_id: str,
    progress: VisualModelProgress,
    learned_seq: int | None,
) -> None:
    """Let a published model serve; remove all models of a deleted store."""
    try:
        with database.transaction(synced=False) as transaction:
            repository = PictureRepository(transaction, store_id)
            repository.set_serving_model(visual_id, progress.picture_seq)
            if learned_seq is not None:
                repository.record_learned(learned_seq)
    except StoreDeletedError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _has_described_nearly_all(repository: PictureRepository, embedder: str) -> bool:
    described = repository.count_described(embedder)
    return repository.count_waiting_for_embedder(embedder) <= _FEW_OTHERS * described


def _remove_models_except_served_and_newest_other(
    folder: Path, served_id: str, served_embedder: str
) -> None:
    """Remove all but the serving model and the newest of another embedding."""
    others = (
        path.name
        for path, other in _models_with_embedders(folder)
        if other != served_embedder
    )
    remove_other_models(folder, {served_id, next(others, served_id)})


def served_embedder(root: Path, store_id: StoreId, visual_id: str | None) -> str:
    """Return the name of the serving model's embedding; "" without an intact one."""
    if not visual_id:
        return ""
    facts = read_facts(pictures_folder(root, store_id) / visual_id)
    return str(facts.get(_EMBEDDER, ""))


def embedders_of_stored_models(root: Path, store_id: StoreId) -> set[str]:
    """Return the embeddings of a store's visual models on this machine."""
    return {
        embedder for _, embedder in _models_with_embedders(pictures_folder(root, store_id))
    }


def models_of_embedder(root: Path, store_id: StoreId, embedder: str) -> list[Path]:
    """Return the folders of a store's visual models of one embedding."""
    folder = pictures_folder(root, store_id)
    return [path for path, other in _models_with_embedders(folder) if other == embedder]


def _models_with_embedders(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield a store's visual models and their embeddings, the newest first."""
    for path in sorted(folder.glob("[0-9]*"), reverse=True):
        if embedder := str(read_facts(path).get(_EMBEDDER, "")):
            yield path, embedder


def _record_no_pictures(
    database: Database, store_id: StoreId, progress: VisualModelProgress
) -> None:
    """Record that there is nothing to learn from, so that it is not due again."""
    if progress.picture_seq > progress.visual_seq:
        with database.transaction(synced=False) as transaction:
            PictureRepository(transaction, store_id).set_serving_model(
                None, progress.picture_seq
            )


def _record_learned(
    database: Database, store_id: StoreId, progress: VisualModelProgress
) -> None:
    """Record that metric learning ran up to here, so that it is not due again."""
    if progress.has_enough_new_data:
        with database.transaction(synced=False) as transaction:
            PictureRepository(transaction, store_id).record_learned(progress.seq)


def _has_grown_enough_to_relearn(
    serving: _ServingVisualModel, items: Sequence[DescribedItem]
) -> bool:
    learned_from = int(serving.facts["learned_from"])
    factor = _GROWTH if learned_from < _SAMPLE else _GROWTH_LARGE
    return len(items) >= factor * max(learned_from, MIN_PICTURES // 4)


def _reusable_model(
    folder: Path, progress: VisualModelProgress, embedding: DescriptorEmbedding
) -> _ServingVisualModel | None:
    """Return the serving model, or after an undone switch the newest of this embedding."""
    if not progress.visual_id:
        return None
    names = [
        path.name
        for path, other in _models_with_embedders(folder)
        if other == embedding.name
    ]
    if not names:
        return None
    name = progress.visual_id if progress.visual_id in names else names[0]
    try:
        arrays, facts = open_arrays(folder / name)
        return _ServingVisualModel(arrays, facts) if "seqs" in arrays else None
    except BrokenModelError:
        return None  # a full rebuild is possible


def _read_training_examples(
    database: Database,
    store_id: StoreId,
    items: Sequence[DescribedItem],
    embedder: str,
) -> EmbeddingExamples:
    """Return the training examples: sampled pictures, and co-viewed pairs."""
    with database.reading() as connection:
        numbers = {item.number for item in items}
        pairs = read_frequent_coviewed_pairs(
            TrainingRepository(connection, store_id), numbers
        )
        sampled_numbers = {
            number for number, _ in Counter(pairs.ravel().tolist()).most_common(_SAMPLE)
        }
        even_index = np.linspace(0, len(items) - 1, min(len(items), _SAMPLE)).astype(int)
        sampled_numbers |= {items[index].number for index in even_index.tolist()}
        sampled = [item for item in items if item.number in sampled_numbers]
        repository = PictureRepository(connection, store_id)
        descriptors_by_number = dict(
            repository.descriptors([item.number for item in sampled], embedder)
        )
    sampled = [item for item in sampled if item.number in descriptors_by_number]
    rows_by_category: dict[str, list[int]] = {}
    for row, item in enumerate(sampled):
        for name in json.loads(item.categories):
            rows_by_category.setdefault(name, []).append(row)
    largest = sorted(rows_by_category.values(), key=len, reverse=True)[:_GROUPS]
    descriptors = [descriptors_by_number[item.number] for item in sampled]
    row_by_number = {item.number: row for row, item in enumerate(sampled)}
    pair_rows = [
        (row_by_number[first], row_by_number[second])
        for first, second in pairs.tolist()
        if first in row_by_number and second in row_by_number
    ]
    return EmbeddingExamples(
        np.stack(descriptors) if descriptors else np.zeros((0, LENGTH), np.uint8),
        [np.array(rows) for rows in largest],
        np.array(pair_rows, dtype=np.intp).reshape(-1, 2),
    )


def _embed_items(
    database: Database,
    store_id: StoreId,
    items: Sequence[DescribedItem],
    embedding: DescriptorEmbedding,
    space: Arrays,
    serving: _ServingVisualModel | None,
) -> tuple[Scores, Bools]:
    """Return the vector of each shown item, and which of them are new."""
    numbers = np.array([item.number for item in items], dtype=np.int32)
    seqs = np.array([item.seq for item in items], dtype=np.int64)
    vectors = np.zeros((len(items), embedding.dimensions(space)), dtype=np.float32)
    is_new = np.ones(len(items), dtype=np.bool_)
    if serving is not None and len(items):
        rows, is_same = _previous_rows_and_is_unchanged(serving, numbers, seqs)
        vectors[is_same] = serving.arrays["vectors"][rows[is_same]]
        is_new = ~is_same
    new_rows = np.flatnonzero(is_new)
    for start in range(0, len(new_rows), _PAGE):
        page_rows = new_rows[start : start + _PAGE]
        with database.reading() as connection:
            repository = PictureRepository(connection, store_id)
            descriptors_by_number = dict(
                repository.descriptors(numbers[page_rows].tolist(), embedding.name)
            )
        described_rows = [
            row for row in page_rows.tolist() if int(numbers[row]) in descriptors_by_number
        ]
        if described_rows:
            descriptors = np.stack(
                [descriptors_by_number[int(numbers[row])] for row in described_rows]
            )
            vectors[described_rows] = embedding.vectors_of(descriptors, space)
    return vectors, is_new


def _previous_rows_and_is_unchanged(
    serving: _ServingVisualModel, item_numbers: Items, seqs: Ints
) -> tuple[npt.NDArray[np.intp], Bools]:
    """Return the previous row of each item, and whether the item is unchanged."""
    items, seqs_before = serving.arrays["items"], serving.arrays["seqs"]
    if not len(items):
        return np.zeros(len(item_numbers), np.intp), np.zeros(len(item_numbers), np.bool_)
    rows = np.minimum(np.searchsorted(items, item_numbers), len(items) - 1)
    return rows, (items[rows] == item_numbers) & (seqs_before[rows] == seqs)


def _build_visual_model(
    items: Sequence[DescribedItem],
    vectors: Scores,
    is_new: Bools,
    serving: _ServingVisualModel | None,
) -> VisualModel:
    pictured = PicturedItems(
        vectors,
        np.array([item.number for item in items], dtype=np.int32),
        _narrowest_shared_category_codes(items),
        np.array(
            [item.price if item.price else np.nan for item in items], dtype=np.float32
        ),
    )
    digests = np.array([item.digest or 0 for item in items], dtype=np.int64)
    if serving is None or not len(items) or is_new.mean() > _MAX_NEW_SHARE:
        floor = similarity_floor(vectors)
        neighbours = compute_neighbours(pictured, np.arange(len(items)), floor)
        return VisualModel(pictured, neighbours, floor, digests)
    floor = float(serving.arrays["floor"][0])
    known_neighbours = _renumber_neighbours(serving, pictured, is_new)
    neighbours = update_neighbours(
        pictured, known_neighbours, np.flatnonzero(is_new), floor
    )
    return VisualModel(pictured, neighbours, floor, digests)


def _renumber_neighbours(
    serving: _ServingVisualModel, pictured: PicturedItems, is_new: Bools
) -> NeighbourTable:
    """Return the known neighbours by new rows, without removed items."""
    old_items, count = serving.arrays["items"], len(pictured.items)
    new_rows = np.searchsorted(pictured.items, old_items)
    is_kept = new_rows < count
    is_kept[is_kept] = pictured.items[new_rows[is_kept]] == old_items[is_kept]
    is_kept[is_kept] &= ~is_new[new_rows[is_kept]]
    new_row_of_old = np.append(np.where(is_kept, new_rows, -1), -1).astype(
        np.int32
    )  # -1 stays -1
    rows = np.full((count, KEPT), -1, dtype=np.int32)
    scores = np.zeros((count, KEPT), dtype=np.float32)
    rows[new_rows[is_kept]] = new_row_of_old[serving.arrays["near_rows"][is_kept]]
    scores[new_rows[is_kept]] = serving.arrays["near_scores"][is_kept]
    scores[rows < 0] = 0.0
    order = np.argsort(-scores, axis=1, kind="stable")
    return NeighbourTable(
        np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)
    )


def _narrowest_shared_category_codes(items: Sequence[DescribedItem]) -> Items:
    """Return a code of each item's narrowest shared category; -1: none."""
    categories_of_items = [json.loads(item.categories) for item in items]
    sizes = Counter(name for names in categories_of_items for name in names)
    codes: dict[str, int] = {}
    item_codes = np.full(len(items), -1, dtype=np.int32)
    for row, names in enumerate(categories_of_items):
        shared = [name for name in names if sizes[name] > 1]
        if shared:
            narrowest = min(shared, key=lambda name: (sizes[name], name))
            item_codes[row] = codes.setdefault(narrowest, len(codes))
    return item_codes
