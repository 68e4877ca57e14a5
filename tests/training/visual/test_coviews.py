"""Co-views: visits become pairs and pairs a model, in the background, once."""

import itertools
from pathlib import Path

import numpy as np

from productrecs.core.clock import MINUTE_MS
from productrecs.core.ids import StoreId
from productrecs.records.events.event import EventKind
from productrecs.records.pictures.repository import (
    PictureRepository,
    stores_with_picture_work,
)
from productrecs.storage.files.model_files import open_arrays
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import events, store_heads
from productrecs.training.visual.build_visual_model import build_and_publish_visual_model
from productrecs.training.visual.coviewed_pairs import (
    frequent_coviewed_pairs,
)
from productrecs.training.visual.picture_embedding import BuiltInEmbedding
from productrecs.training.visual.served_visual_model import pictures_folder
from tests.support.pictures import COLOURS, SHAPES, drawn, see
from tests.support.stores import new_store
from tests.training.visual.test_build_visual_model import add


def pairs(*rows: tuple[int, int, int]) -> list[list[int]]:
    """Return the pairs of rows of (visitor, minute, item)."""
    visitors, minutes, items = np.array(rows, dtype=np.int64).T
    found: list[list[int]] = frequent_coviewed_pairs(
        visitors, minutes * MINUTE_MS, items
    ).tolist()
    return found


def test_what_two_visitors_looked_at_in_one_visit_is_a_pair() -> None:
    assert pairs((1, 0, 7), (1, 1, 3), (2, 5, 3), (2, 6, 7)) == [[3, 7]]
    assert pairs((1, 0, 7), (1, 1, 3), (1, 2, 7), (1, 3, 3)) == []  # one alone
    assert pairs((1, 0, 7), (1, 40, 3), (2, 5, 3), (2, 6, 7)) == []  # a visit each
    assert pairs((1, 0, 7), (2, 0, 3), (1, 90, 7), (2, 90, 3)) == []
    robot = [(who, 0, item) for who in (1, 2) for item in range(61)]
    assert pairs(*robot) == []


def test_pairs_are_in_the_order_in_which_they_were_met() -> None:
    visits = [(8, 9), (1, 2), (4, 5)]
    rows = [
        (who, 60 * n + place, item)
        for n, visit in enumerate(visits)
        for who in (1, 2)
        for place, item in enumerate(visit)
    ]

    assert pairs(*rows) == [list(visit) for visit in visits]


def visit(database: Database, store_id: StoreId, numbers: dict[str, int]) -> None:
    """Let shoppers look at things of one shape together, whatever their colour."""
    lot = np.random.default_rng(2)
    met = [
        pair
        for shape in SHAPES
        for pair in itertools.combinations([n for n in numbers if shape in n], 2)
    ]
    rows, clock = list[dict[str, object]](), itertools.count(1)
    for place in lot.permutation(len(met)).tolist():
        for who in (f"a{place}", f"b{place}"):
            rows += [
                {
                    "store_id": store_id,
                    "seq": (at := next(clock)),
                    "ts": at * 1_000,
                    "kind": int(EventKind.DETAIL_PAGE_VIEW),
                    "item": numbers[name],
                    "shopper": who,
                    "person": who,
                    "imported": False,
                }
                for name in met[place]
            ]
    with database.transaction() as transaction:
        transaction.execute(events.insert(), rows)
        transaction.execute(store_heads.update().values(seq=25_000))


def test_visits_teach_a_store_once_there_are_enough(
    database: Database, tmp_path: Path
) -> None:
    store = new_store(database, "visits.example")
    kinds = {
        f"{shape}-{colour}-{n}": (colour, shape)  # the category is the colour
        for n in range(3)
        for colour in COLOURS
        for shape in SHAPES
    }
    add(database, store.store_id, *kinds)
    shown = {
        name: drawn(*kind, seed, side=64) for seed, (name, kind) in enumerate(kinds.items())
    }
    first = see(database, tmp_path, store.store_id, shown)
    with database.reading() as connection:
        assert stores_with_picture_work(connection, 0) == []
    visit(database, store.store_id, {name: place for place, name in enumerate(kinds)})
    with database.reading() as connection:
        assert stores_with_picture_work(connection, 0) == [store.store_id]

    taught = build_and_publish_visual_model(
        database, tmp_path, store.store_id, BuiltInEmbedding()
    )

    assert taught not in {None, first}
    _, facts = open_arrays(pictures_folder(tmp_path, store.store_id) / str(taught))
    assert facts["taught_by"] in {"visits", "both"}
    with database.reading() as connection:
        standing = PictureRepository(connection, store.store_id).progress()
        assert stores_with_picture_work(connection, 0) == []
    assert (standing.learned_seq, standing.visual_id) == (25_000, taught)
    assert (
        build_and_publish_visual_model(
            database, tmp_path, store.store_id, BuiltInEmbedding()
        )
        is None
    )
