"""Fit cache: an engine is refitted only when its inputs changed."""

from __future__ import annotations

import pytest

from productrecs.training.fit_cache import FitCache


@pytest.fixture(name="learned")
def _learned() -> list[int]:
    return []


def ask(kept: FitCache, learned: list[int], facts: tuple[object, ...], by: int = 1) -> int:
    def learn() -> int:
        learned.append(len(learned))
        return learned[-1]

    return kept.of("pairs", facts, by, learn)


def test_the_same_objects_teach_once(learned: list[int]) -> None:
    kept, facts = FitCache(), ([1], [2])

    assert [ask(kept, learned, facts) for _ in range(3)] == [0, 0, 0]


def test_equal_facts_that_are_others_and_other_constants_teach_anew(
    learned: list[int],
) -> None:
    kept, facts = FitCache(), ([1], [2])

    found = [ask(kept, learned, one) for one in (facts, (facts[0], [2]), facts[:1], facts)]
    found.append(ask(kept, learned, facts, by=2))

    assert found == [0, 1, 2, 3, 4]


def test_a_failure_is_not_kept(learned: list[int]) -> None:
    kept, facts = FitCache(), ([1],)
    with pytest.raises(ZeroDivisionError):
        kept.of("pairs", facts, 1, lambda: 1 // 0)

    assert ask(kept, learned, facts) == 0
