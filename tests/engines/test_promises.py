"""Engine contract: one suite that every recommendation engine passes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import Arrays, RankedItems
from productrecs.engines.browse import SessionIndex, fit_sessions
from productrecs.engines.copurchase import CopurchaseModel, fit_copurchase

N_ITEMS = 40
Model = CopurchaseModel | SessionIndex


@dataclass(frozen=True)
class EngineUnderTest:
    """How the suite speaks to one engine: groups are baskets or sessions."""

    name: str
    fit: Callable[[Any, Any, Any], Model]
    ask: Callable[[Any, list[int], int], RankedItems]
    load: Callable[[Arrays], Model]
    empty: Callable[[], Model]


def _fit_copurchase(groups: Any, items: Any, times: Any) -> Model:
    return fit_copurchase(groups, items, (times / 1e9).astype(np.float32), N_ITEMS).plain


def _fit_sessions(groups: Any, items: Any, times: Any) -> Model:
    return fit_sessions(groups, items, times, N_ITEMS)


ENGINES = [
    EngineUnderTest(
        "copurchase",
        _fit_copurchase,
        lambda model, anchors, limit: model.complete(anchors, limit),
        CopurchaseModel.from_arrays,
        CopurchaseModel.empty,
    ),
    EngineUnderTest(
        "browse",
        _fit_sessions,
        lambda model, anchors, limit: model.next_items(anchors, 0, limit),
        SessionIndex.from_arrays,
        SessionIndex.empty,
    ),
]
ASKED = [[3], [3, 8], [8, 3, 3, 1, 0], [39, 2, 17, 5, 11, 4, 6, 7, 9, 12, 1]]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> EngineUnderTest:
    assert isinstance(request.param, EngineUnderTest)
    return request.param


def facts(seed: int = 1) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, N_ITEMS + 1)
    items = rng.choice(N_ITEMS, 3000, p=weights / weights.sum()).astype(np.int32)
    groups = rng.integers(0, 900, size=3000)
    return groups, items, np.arange(3000) * 60_000


def same(one: RankedItems, other: RankedItems) -> bool:
    return [column.tolist() for column in one[:2]] == [
        column.tolist() for column in other[:2]
    ]


@pytest.mark.parametrize("anchors", ASKED)
def test_the_limit_is_kept_and_a_shorter_list_is_the_head_of_a_longer(
    engine: EngineUnderTest, anchors: list[int]
) -> None:
    model = engine.fit(*facts())

    longest = engine.ask(model, anchors, 1000)

    assert len(longest.items) > 5
    for limit in (-1, 0, 1, 4, 5, 1000):
        ranked = engine.ask(model, anchors, limit)
        kept = max(limit, 0)
        assert ranked.items.tolist() == longest.items[:kept].tolist()
        assert ranked.scores.tolist() == longest.scores[:kept].tolist()


@pytest.mark.parametrize("anchors", ASKED)
def test_lists_are_ordered_distinct_and_of_the_promised_types(
    engine: EngineUnderTest, anchors: list[int]
) -> None:
    ranked = engine.ask(engine.fit(*facts()), anchors, 1000)

    assert ranked.items.dtype == np.int32
    assert ranked.scores.dtype == np.float32
    assert len(set(ranked.items.tolist())) == len(ranked.items) == len(ranked.scores)
    assert (ranked.scores > 0).all()
    pairs = list(zip((-ranked.scores).tolist(), ranked.items.tolist(), strict=True))
    assert pairs == sorted(pairs)


@pytest.mark.parametrize("anchors", ASKED)
def test_the_newest_anchor_is_never_returned(
    engine: EngineUnderTest, anchors: list[int]
) -> None:
    ranked = engine.ask(engine.fit(*facts()), anchors, 1000)

    assert anchors[-1] not in ranked.items


@pytest.mark.parametrize("anchors", ASKED)
def test_the_same_facts_give_the_same_answer_in_whatever_order(
    engine: EngineUnderTest, anchors: list[int]
) -> None:
    groups, items, times = facts()
    shuffled = np.random.default_rng(2).permutation(len(groups))

    one = engine.fit(groups, items, times)
    other = engine.fit(groups[shuffled], items[shuffled], times[shuffled])

    assert same(engine.ask(one, anchors, 30), engine.ask(other, anchors, 30))
    assert same(engine.ask(one, anchors, 30), engine.ask(one, anchors, 30))


@pytest.mark.parametrize("anchors", [[], [-1], [N_ITEMS], [10**9, -5]])
def test_unknown_items_are_answered_by_an_empty_list(
    engine: EngineUnderTest, anchors: list[int]
) -> None:
    ranked = engine.ask(engine.fit(*facts()), anchors, 10)

    assert ranked.items.tolist() == []
    assert ranked.scores.tolist() == []


def test_unknown_items_beside_a_known_one_are_passed_over(engine: EngineUnderTest) -> None:
    model = engine.fit(*facts())

    ranked = engine.ask(model, [N_ITEMS + 5, -3, 8], 10)

    assert len(ranked.items) == 10
    assert 8 not in ranked.items


def test_an_empty_model_answers_with_an_empty_list(engine: EngineUnderTest) -> None:
    none = np.zeros(0, dtype=np.int64)
    learned_of_nothing = engine.fit(none, none.astype(np.int32), none)

    for model in (engine.empty(), learned_of_nothing):
        assert engine.ask(model, [0], 10).items.tolist() == []


@pytest.mark.parametrize("number", [-1, N_ITEMS])
def test_item_numbers_outside_the_store_are_refused(
    engine: EngineUnderTest, number: int
) -> None:
    groups, items, times = facts()
    items[17] = number

    with pytest.raises(ValueError, match=r"0\.\.39"):
        engine.fit(groups, items, times)


@pytest.mark.parametrize("mode", ["r", None])
def test_a_model_kept_as_arrays_answers_as_before(
    engine: EngineUnderTest, mode: Any, tmp_path: Path
) -> None:
    model = engine.fit(*facts())
    for name, array in model.to_arrays().items():
        np.save(tmp_path / f"{name}.npy", array, allow_pickle=False)

    loaded = engine.load(
        {path.stem: np.load(path, mmap_mode=mode) for path in tmp_path.glob("*.npy")}
    )

    for anchors in ASKED:
        assert same(engine.ask(model, anchors, 30), engine.ask(loaded, anchors, 30))


def test_a_model_with_an_array_missing_is_refused(engine: EngineUnderTest) -> None:
    arrays = dict(engine.fit(*facts()).to_arrays())
    del arrays["offsets"]

    with pytest.raises(KeyError, match="offsets"):
        engine.load(arrays)
