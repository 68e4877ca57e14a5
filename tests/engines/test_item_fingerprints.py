"""Item fingerprints: they change exactly when an item's learned data do."""

from dataclasses import replace

import numpy as np

from productrecs.engines.array_types_and_sorting import prefixed
from productrecs.engines.browse import fit_sessions
from productrecs.engines.copurchase import CopurchaseOptions, fit_copurchase
from productrecs.engines.item_fingerprints import item_fingerprints
from productrecs.engines.registry import BROWSE, BUY, SIMILAR
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.visual_similarity import NeighbourTable, PicturedItems
from productrecs.training.trained_models import TrainedModels, empty_models

VIEWS = [(1, 0, 10), (1, 1, 20), (2, 1, 30), (2, 2, 40), (3, 3, 50), (3, 4, 60)]
LINES = [(1, 0), (1, 5), (2, 5), (2, 0), (3, 6), (3, 7)]


def changed(
    views: list[tuple[int, int, int]], lines: list[tuple[int, int]], n_items: int = 8
) -> set[int]:
    """Return the items whose marks differ from those of `VIEWS` and `LINES`."""
    before, after = marks(VIEWS, LINES, 8), marks(views, lines, n_items)
    return set(np.flatnonzero(before != after[:8]).tolist())


def marks(
    views: list[tuple[int, int, int]], lines: list[tuple[int, int]], n_items: int
) -> np.ndarray:
    sessions, items, times = (np.array(column) for column in zip(*views, strict=True))
    index = fit_sessions(sessions, items, times, n_items)
    baskets, bought = (np.array(column) for column in zip(*lines, strict=True))
    ages = np.zeros(len(lines), dtype=np.float32)
    options = CopurchaseOptions()
    models = fit_copurchase(baskets, bought, ages, n_items, options, baskets)
    arrays = {**models.to_arrays(), **prefixed("browse", index.to_arrays())}
    hashes = (words for one in (BUY, BROWSE) for words in one.item_hashes(arrays))
    return item_fingerprints(hashes, n_items)


def test_nothing_new_changes_none() -> None:
    assert changed(VIEWS, LINES) == set()
    assert changed(VIEWS, LINES, n_items=12) == set()


def test_a_visit_changes_its_items_alone_also_when_it_is_late() -> None:
    assert changed([*VIEWS, (4, 1, 70), (4, 4, 80)], LINES) == {1, 4}
    assert changed([*VIEWS, (4, 1, 1), (4, 4, 2)], LINES) == {1, 4}


def test_a_visit_that_goes_on_changes_all_its_items() -> None:
    assert changed([*VIEWS, (1, 6, 25)], LINES) == {0, 1, 6}


def test_the_order_within_a_visit_counts() -> None:
    swapped = [(1, 1, 10), (1, 0, 20), *VIEWS[2:]]

    assert changed(swapped, LINES) == {0, 1}


def test_an_order_changes_what_it_held() -> None:
    assert changed(VIEWS, [*LINES, (4, 6), (4, 7)]) == {6, 7}


def test_a_mark_changes_with_what_the_items_picture_is_like() -> None:
    def looking(*scores: float) -> TrainedModels:
        rows = np.array([[1], [0], [-1]], np.int32)
        near = NeighbourTable(rows, np.array([scores], np.float32).T)
        numbers, nothing = np.arange(3, dtype=np.int32), np.zeros(3, np.float32)
        seen = PicturedItems(np.eye(3, dtype=np.float32), numbers, numbers, nothing)
        marks_of_visits = np.array([5, 6, 7, 8])
        visual = VisualModel(seen, near, 0.0)
        return replace(empty_models(), fingerprints=marks_of_visits).replacing(
            SIMILAR, visual
        )

    before, after = looking(0.9, 0.8, 0.0), looking(0.9, 0.7, 0.0)

    changed = [
        item for item in range(4) if before.fingerprint(item) != after.fingerprint(item)
    ]
    assert changed == [1]
    assert before.fingerprint(4) is None
    unseen = before.replacing(SIMILAR, VisualModel.empty())
    assert unseen.fingerprint(0) != before.fingerprint(0)
