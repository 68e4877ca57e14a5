"""Visual model build: first, grown, shrunk, and after damage."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.visual import describe
from productrecs.records.catalog.catalog_push import remove_item, upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.pictures.repository import (
    PictureRepository,
    queue_pictures_of_changed_items,
    stores_with_picture_work,
)
from productrecs.records.pictures.stored_pictures import PictureFetchOutcome, PictureState
from productrecs.storage.files.model_files import open_arrays
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.training.visual.build_visual_model import build_and_publish_visual_model
from productrecs.training.visual.picture_embedding import BuiltInEmbedding
from productrecs.training.visual.served_visual_model import ServedVisualModel
from tests.support.pictures import COLOURS, SHAPES, drawn, pixels, see
from tests.support.stores import new_store

KINDS = {f"{colour}-{shape}": (colour, shape) for colour in COLOURS for shape in SHAPES}


@pytest.fixture
def store_id(database: Database) -> StoreId:
    store = new_store(database, "pictures.example")
    add(database, store.store_id, *KINDS)
    return store.store_id


def add(database: Database, store_id: StoreId, *names: str) -> None:
    patches = [
        ItemPatch(name, {"image_url": f"https://i.example/{name}", "price": 10.0,
                         "categories": (name.split("-")[1],)})
        for name in names
    ]  # fmt: skip
    with database.transaction() as transaction:
        upsert_items(StoreLogTransaction(database, transaction, store_id), patches, 1)


def take_out(database: Database, store_id: StoreId, name: str) -> None:
    with database.transaction() as transaction:
        remove_item(StoreLogTransaction(database, transaction, store_id), name, 1)
    assert queue_pictures_of_changed_items(database, store_id, 2)


def served(root: Path, store_id: StoreId, visual_id: str | None) -> ServedVisualModel:
    found = ServedVisualModel(root, store_id)
    assert found.open_published_model(visual_id)
    return found


def test_pictures_serve_grow_and_go(
    database: Database, store_id: StoreId, tmp_path: Path
) -> None:
    names = list(KINDS)
    first = see(
        database, tmp_path, store_id, {name: drawn(*KINDS[name]) for name in names[:20]}
    )
    model = served(tmp_path, store_id, first).model
    assert len(model) == 20
    near = model.similar_to_item(0).items.tolist()
    assert near
    assert {names[number].split("-")[1] for number in near[:2]} == {"ball"}

    grown = see(
        database, tmp_path, store_id, {name: drawn(*KINDS[name]) for name in names[20:]}
    )
    pictures = served(tmp_path, store_id, grown)
    assert len(pictures.model) == len(names)
    assert pictures.model.row_of(23) == 23

    take_out(database, store_id, names[5])
    shrunk = build_and_publish_visual_model(
        database, tmp_path, store_id, BuiltInEmbedding()
    )
    pictures = served(tmp_path, store_id, shrunk)
    assert pictures.model.row_of(5) is None
    assert len(pictures.model) == len(names) - 1
    for row in range(len(pictures.model)):
        item = int(pictures.model.pictured.items[row])
        found = pictures.model.similar_to_item(item)
        assert 5 not in found.items
        assert item not in found.items
        assert (np.diff(found.scores) <= 0).all()
    assert (
        build_and_publish_visual_model(database, tmp_path, store_id, BuiltInEmbedding())
        is None
    )


def test_a_store_without_pictures_has_no_model_and_is_not_due_again(
    database: Database, store_id: StoreId, tmp_path: Path
) -> None:
    assert (
        build_and_publish_visual_model(database, tmp_path, store_id, BuiltInEmbedding())
        is None
    )

    assert not (tmp_path / store_id).exists()
    name, kind = next(iter(KINDS.items()))
    first = see(database, tmp_path, store_id, {name: drawn(*kind)})
    assert len(served(tmp_path, store_id, first).model) == 1


def test_the_space_is_learned_again_when_a_quarter_more_pictures_came(
    database: Database, store_id: StoreId, tmp_path: Path
) -> None:
    learned, names = [], list(KINDS)
    for start, stop in ((0, 16), (16, 19), (19, 20)):  # 3 more are fewer than a quarter
        shown = {name: drawn(*KINDS[name]) for name in names[start:stop]}
        visual_id = see(database, tmp_path, store_id, shown)
        assert visual_id is not None
        learned.append(open_arrays(tmp_path / store_id / visual_id)[1]["learned_from"])

    assert learned == [16, 16, 20]


def test_a_photo_is_placed_where_its_like_is(
    database: Database, store_id: StoreId, tmp_path: Path
) -> None:
    shown = {name: drawn(*kind) for name, kind in KINDS.items()}
    visual_id = see(database, tmp_path, store_id, shown)
    pictures = served(tmp_path, store_id, visual_id)
    view = describe(pixels(drawn("green", "cross", seed=9)))

    vector = pictures.mean_vector_of(np.stack([view, view]), BuiltInEmbedding())

    assert vector is not None
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    best = pictures.model.similar_to_vectors(vector[None], 1)[0].items.tolist()[0]
    assert list(KINDS)[best] == "green-cross"
    other = BuiltInEmbedding()
    other.name = "another"  # what is being embedded anew
    assert pictures.mean_vector_of(view[None], other) is None


def test_a_damaged_model_is_refused_and_built_again(
    database: Database, store_id: StoreId, tmp_path: Path
) -> None:
    shown = {name: drawn(*KINDS[name]) for name in list(KINDS)[:8]}
    visual_id = see(database, tmp_path, store_id, shown)
    assert visual_id is not None
    pictures = served(tmp_path, store_id, visual_id)
    path = tmp_path / store_id / visual_id / "model.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"!")

    fresh = ServedVisualModel(tmp_path, store_id)

    assert not fresh.open_published_model(visual_id)
    assert len(pictures.model) == 8  # it serves on where it was mapped
    mended = see(database, tmp_path, store_id, {"grey-box": drawn("grey", "box")})
    assert len(served(tmp_path, store_id, mended).model) == 9


def test_due_pictures_come_in_one_order_whatever_the_limit(
    database: Database, store_id: StoreId
) -> None:
    assert queue_pictures_of_changed_items(database, store_id, 5)
    with database.transaction() as transaction:
        repository = PictureRepository(transaction, store_id)
        before = repository.due_pictures(5, 100)
        outcomes = [
            PictureFetchOutcome(
                one.number, one.url, PictureState.PENDING, 5, attempts=one.number % 3
            )
            for one in before[::2]
        ]
        seen = [
            PictureFetchOutcome(
                one.number,
                one.url,
                PictureState.INDEXED,
                5,
                descriptors={"e": b"seen"},
            )
            for one in before[1:5:2]
        ]
        repository.store_outcomes([*outcomes, *seen], 5)
        due = repository.due_pictures(5, 100)

        new = [one for one in due if one.attempts == 0 and one.embedder is None]
        assert due[: len(new)] == new
        assert [one.number for one in new] == sorted((o.number for o in new), reverse=True)
        assert due[-2:] == [one for one in due if one.embedder == "e"]
        assert len(due) == len(KINDS) > len(new) + 2
        for limit in range(1, len(KINDS)):
            assert repository.due_pictures(5, limit) == due[:limit]


def test_what_is_to_be_fetched_follows_the_catalog(
    database: Database, store_id: StoreId
) -> None:
    with database.reading() as connection:
        assert stores_with_picture_work(connection, 5) == [store_id]
    assert queue_pictures_of_changed_items(database, store_id, 5)

    with database.transaction() as transaction:
        repository = PictureRepository(transaction, store_id)
        due = repository.due_pictures(5, 100)
        assert len(due) == len(KINDS)
        assert [one.number for one in due[:2]] == [23, 22]  # new items first
        assert repository.counts().pending == len(KINDS)
        assert repository.due_pictures(4, 100) == []
    change = ItemPatch("red-ball", {"image_url": None})
    with database.transaction() as transaction:
        upsert_items(StoreLogTransaction(database, transaction, store_id), [change], 6)
    assert queue_pictures_of_changed_items(database, store_id, 6)
    with database.reading() as connection:
        repository = PictureRepository(connection, store_id)
        assert len(repository.due_pictures(6, 100)) == len(KINDS) - 1
        assert repository.progress().pictured_seq == repository.progress().catalog_seq


class OtherEmbedding(BuiltInEmbedding):
    """The same by another name: as when the operator supplies a model."""

    name = "other"


def test_while_pictures_are_embedded_anew_the_old_model_serves(
    database: Database, store_id: StoreId, tmp_path: Path
) -> None:
    shown = {name: drawn(*KINDS[name]) for name in list(KINDS)[:8]}
    first = see(database, tmp_path, store_id, shown)
    some = dict(list(shown.items())[:4])

    half = see(database, tmp_path, store_id, some, OtherEmbedding())

    assert half is None
    with database.reading() as connection:
        assert PictureRepository(connection, store_id).progress().visual_id == first
    whole = see(database, tmp_path, store_id, shown, OtherEmbedding())
    assert whole not in {None, first}
    assert len(served(tmp_path, store_id, whole).model) == 8
