"""Session-based engine: results match its formula, compiled and not."""

import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pytest

from productrecs.engines.array_types_and_sorting import Floats, Ints, Items, RankedItems
from productrecs.engines.browse import (
    InteractionType,
    SessionIndex,
    SessionKnnOptions,
    fit_sessions,
    session_knn,
    sessionize,
)
from productrecs.engines.browse import session_index as index_module
from productrecs.engines.browse.session_knn import (
    SessionQuery,
    read_only_layout,
    weight_tables,
)
from tests.engines.kernel_references import reference_next_items
from tests.engines.references import next_items

SCORERS: Final = (reference_next_items, session_knn.next_items_scores_and_support)
"""The reference in numpy, and the compiled kernel."""

Event = tuple[int, int, int]
HOUR = 3_600_000
SMALL = SessionKnnOptions(
    prefix=4, recent_sessions=12, neighbours=5, sessions_per_item=9, longest=6, backward=0.6
)


def fitted(
    events: Sequence[Event],
    n_items: int,
    options: SessionKnnOptions | None = None,
    owners: Sequence[int] | None = None,
) -> SessionIndex:
    sessions, items, times = (np.array(column) for column in zip(*events, strict=True))
    return fit_sessions(
        sessions.astype(np.int64),
        items.astype(np.int32),
        times.astype(np.int64),
        n_items,
        options,
        None if owners is None else np.array(owners, dtype=np.int64),
    )


def walks(*visits_: Sequence[int]) -> list[Event]:
    """Return sessions an hour apart, each view a second after the last."""
    return [
        (number, item, number * HOUR + place * 1000)
        for number, items in enumerate(visits_)
        for place, item in enumerate(items)
    ]


def traffic(seed: int, n_sessions: int, n_items: int) -> list[Event]:
    rng = np.random.default_rng(seed)
    return walks(
        *(
            (
                (rng.integers(n_items) + rng.geometric(0.3, rng.integers(1, 10))) % n_items
            ).tolist()
            for _ in range(n_sessions)
        )
    )


NOBODY: Final = np.zeros(0, dtype=np.int64)


def random_question(
    rng: np.random.Generator,
    n_items: int,
    options: SessionKnnOptions,
    owners: Ints = NOBODY,
) -> SessionQuery:
    length = rng.integers(0, options.prefix + 1)
    items = rng.permutation(n_items)[:length].astype(np.int32)
    return SessionQuery(
        items=items,
        current=int(items[0]) if length else -1,
        own_slots=np.flatnonzero(owners == rng.integers(60)),  # of half of them, nobody's
        recent_sessions=options.recent_sessions,
        neighbours=options.neighbours,
    )


@pytest.mark.parametrize("options", [SMALL, SessionKnnOptions()])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_answer_is_what_the_formula_says(
    seed: int, options: SessionKnnOptions
) -> None:
    rng = np.random.default_rng(seed + 100)
    events = traffic(seed, n_sessions=150, n_items=40)
    index = fitted(events, 45, options)
    for _ in range(40):
        visit = rng.integers(45, size=rng.integers(1, 12)).tolist()

        ranked = index.next_items(visit, 149 * HOUR, 1000)

        # Sums in another order may differ in the last places; so may the order of equals.
        expected = dict(next_items(events, visit, options))
        assert set(ranked.items.tolist()) == set(expected)
        scores = [expected[item] for item in ranked.items.tolist()]
        np.testing.assert_allclose(ranked.scores, scores, rtol=1e-5)
        assert all(np.diff(scores) <= 1e-9)


@pytest.mark.parametrize("options", [SMALL, SessionKnnOptions()])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_kernel_equals_its_twin_to_the_last_bit(
    seed: int, options: SessionKnnOptions
) -> None:
    rng = np.random.default_rng(seed)
    events = traffic(seed, n_sessions=400, n_items=30)
    owners = [event[0] % 30 for event in events]
    arrays = fitted(events, 33, options, owners).to_arrays()
    layout = read_only_layout(arrays)
    weights = weight_tables(options, arrays["returns"])
    for _ in range(200):
        question = random_question(rng, 33, options, layout.owners)
        limit = int(rng.integers(1, 40))

        compiled = session_knn.next_items_scores_and_support(
            layout, weights, question, limit
        )
        plain = reference_next_items(layout, weights, question, limit)

        for array, expected in zip(compiled, plain, strict=True):
            np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("evaluate", SCORERS)
def test_the_newer_of_equally_similar_sessions_vote(
    evaluate: Callable[..., tuple[Items, Floats, Items]],
) -> None:
    # Without fading all five are alike; only the two newest may vote.
    options = SessionKnnOptions(neighbours=2, days_scale=1e15)
    index = fitted(walks([0, 1], [0, 2], [0, 3], [0, 4], [0, 5]), 6, options)
    layout, weights = (
        read_only_layout(index.to_arrays()),
        weight_tables(options, np.zeros(9)),
    )
    question = SessionQuery(np.array([0], np.int32), 0, NOBODY, 1000, 2)

    items = evaluate(layout, weights, question, 9)[0]

    assert items.tolist() == [4, 5]


def test_the_kernel_and_its_reference_answer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    index = fitted(traffic(7, 200, 20), 20)
    visits = [([1, 2, 3], 9), ([5], 3), ([19, 18, 1, 0, 4], 40)]

    first = [index.next_items(visit, 0, limit) for visit, limit in visits]
    reference = reference_next_items
    monkeypatch.setattr(index_module, "next_items_scores_and_support", reference)
    second = [index.next_items(visit, 0, limit) for visit, limit in visits]

    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)


def test_arrays_with_gaps_or_of_a_shorter_kind_answer_alike() -> None:
    # The compiled kernel takes them as they lie, and would misread these.
    index = fitted(traffic(9, 200, 20), 20)
    odd = {name: np.repeat(one, 2)[::2] for name, one in index.to_arrays().items()}
    odd["offsets"] = odd["offsets"].astype(np.int32)

    kept = SessionIndex.from_arrays(odd)

    for item in range(20):
        plain, again = index.next_items([item], 0, 9), kept.next_items([item], 0, 9)
        np.testing.assert_array_equal(plain.items, again.items)
        np.testing.assert_array_equal(plain.scores, again.scores)


def test_a_model_of_before_that_kept_no_order_of_owners_answers_alike() -> None:
    index = fitted(traffic(9, 200, 20), 20)
    before = {name: one for name, one in index.to_arrays().items() if name != "by_owner"}
    older, newer = (
        SessionIndex.from_arrays(arrays) for arrays in (before, index.to_arrays())
    )

    for owner in range(-1, 210):
        one, other = (
            each.next_items([3, 5], 0, 9, exclude_session=owner) for each in (older, newer)
        )
        np.testing.assert_array_equal(one.items, other.items)
        np.testing.assert_array_equal(one.scores, other.scores)


def test_an_order_of_owners_that_is_not_theirs_is_refused() -> None:
    arrays = dict(fitted(traffic(9, 200, 20), 20).to_arrays())
    arrays["by_owner"] = arrays["by_owner"][:-1]

    with pytest.raises(ValueError, match="owners in an order of"):
        SessionIndex.from_arrays(arrays)


def test_threads_do_not_meet_in_scratch_memory() -> None:
    index = fitted(traffic(8, 3000, 300), 300)
    alone = [index.next_items([item], 0, 20).items.tolist() for item in range(300)]
    wrong: list[int] = []

    def ask() -> None:
        again = [index.next_items([item], 0, 20).items.tolist() for item in range(300)]
        wrong.extend(item for item in range(300) if again[item] != alone[item])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_the_current_item_is_not_returned_and_an_earlier_one_may_be() -> None:
    index = fitted(walks([0, 1, 2], [1, 0, 2]), 3)

    ranked = index.next_items([0, 1], HOUR, 10)

    assert 1 not in ranked.items
    assert 0 in ranked.items


def test_a_live_visit_does_not_answer_itself() -> None:
    events = walks([0, 1], [0, 2])
    index = fitted(events, 3, owners=[7, 7, -8, -8])

    assert index.next_items([0], HOUR, 10, exclude_session=-8).items.tolist() == [1]
    assert index.next_items([0], HOUR, 10, exclude_session=7).items.tolist() == [2]
    assert set(index.next_items([0], HOUR, 10).items.tolist()) == {1, 2}


def test_a_session_owns_itself_when_no_owners_are_given() -> None:
    index = fitted(walks([0, 1], [0, 2]), 3)

    assert index.next_items([0], HOUR, 10, exclude_session=1).items.tolist() == [1]


def test_sessions_of_one_item_teach_nothing() -> None:
    index = fitted(walks([0], [1, 1, 1], [1, 2]), 3)

    assert len(index.to_arrays()["owners"]) == 1
    assert index.next_items([0], HOUR, 10).items.tolist() == []


def test_of_a_very_long_session_only_the_newest_items_count() -> None:
    index = fitted(walks(list(range(250))), 250)

    reached = index.next_items([249], 0, 1000).items

    assert sorted(reached.tolist()) == list(range(50, 249))


def test_of_a_popular_item_only_the_newest_sessions_count() -> None:
    options = SessionKnnOptions(sessions_per_item=3)
    index = fitted(walks(*([0, item] for item in range(1, 8))), 8, options)

    assert set(index.next_items([0], 0, 10).items.tolist()) == {5, 6, 7}


def test_a_short_list_may_go_on_with_what_comes_after_what_was_found() -> None:
    events = walks([0, 1], [1, 2], [2, 3], [0, 4])
    index = fitted(events, 5, owners=[5, 5, 6, 6, 7, 7, 8, 8])

    def next_items(limit: int, without: int | None = None) -> RankedItems:
        return index.next_items([0], 4 * HOUR, limit, without, extend=True)

    assert next_items(10).items.tolist() == [4, 1, 2]  # 3 comes only after what follows
    assert all(np.diff(next_items(10).scores) < 0)
    assert next_items(2).items.tolist() == [4, 1]
    assert next_items(10, without=6).items.tolist() == [4, 1]
    assert index.next_items([0], 4 * HOUR, 10).items.tolist() == [4, 1]


def test_newer_sessions_weigh_more() -> None:
    day = 24 * HOUR
    index = fitted([(0, 0, 0), (0, 1, 1), (1, 0, 50 * day), (1, 2, 50 * day + 1)], 3)

    ranked = index.next_items([0], 50 * day, 10)

    assert ranked.items.tolist() == [2, 1]
    assert ranked.scores[1] / ranked.scores[0] == pytest.approx(np.exp(-1), rel=1e-5)


def test_scores_fade_with_the_age_of_the_index_but_never_reach_zero() -> None:
    index = fitted(walks([0, 1]), 2)

    now = index.next_items([0], 0, 1).scores[0]
    later = index.next_items([0], 50 * 24 * HOUR, 1).scores[0]
    ages_later = index.next_items([0], 10**15, 1).scores[0]

    assert later / now == pytest.approx(np.exp(-1), rel=1e-4)
    assert 0 < ages_later < later


def test_items_nearer_to_the_item_weigh_more() -> None:
    index = fitted(walks([0, 1, 2, 3]), 4)

    assert index.next_items([1], 0, 10).items.tolist() == [0, 2, 3]


def test_an_earlier_item_gains_as_much_as_the_stores_visitors_return() -> None:
    returning = [[0, 1, 0], [1, 2, 1], [2, 3, 2]] * 200  # each goes back by one
    going_on = [[0, 1, 2], [1, 2, 3], [2, 3, 4]] * 200
    stay, move = (fitted(walks(*visits), 9) for visits in (returning, going_on))

    # What nobody else saw, 7, is an answer only where people return, and not from afar.
    assert 7 in stay.next_items([8, 7, 2], HOUR, 9).items
    assert 8 not in stay.next_items([8, 7, 2], HOUR, 9).items
    assert 7 not in move.next_items([8, 7, 2], HOUR, 9).items
    assert stay.next_items([7, 8], HOUR, 9).items.tolist() == [7]  # the only answer
    assert SessionIndex.from_arrays(stay.to_arrays()).next_items([2, 1], 0, 1).items[0] == 2
    older = {name: one for name, one in stay.to_arrays().items() if name != "returns"}
    assert 7 not in SessionIndex.from_arrays(older).next_items([8, 7, 2], HOUR, 9).items


def test_neighbours_found_by_an_earlier_item_count_less_for_it() -> None:
    visits = walks(*[[0, 1, 2]] * 9, *[[0, 1]] * 2)
    usual, full = fitted(visits, 3), fitted(visits, 3, SessionKnnOptions(seen=1.0))

    assert usual.next_items([0, 1], 0, 9).items.tolist() == [2, 0]
    assert full.next_items([0, 1], 0, 9).items.tolist() == [0, 2]


def test_support_is_the_number_of_similar_visits_that_hold_an_item() -> None:
    index = fitted(walks(*[[0, 1]] * 3, [0, 2], [3, 2]), 4)

    ranked = index.next_items([0], HOUR, 9)

    assert ranked.support is not None
    assert dict(zip(ranked.items.tolist(), ranked.support.tolist(), strict=True)) == {
        1: 3,
        2: 1,
    }


@pytest.mark.parametrize(
    ("going_back", "visit", "support"),
    [
        (0, [0, 1], [(2, 9), (0, 9)]),
        (200, [0, 1], [(0, 11), (2, 9)]),  # at the top: all similar visits
        (200, [8, 9], [(8, 1)]),  # only returns, no similar visit
    ],
)
def test_an_earlier_item_of_the_visit_has_the_support_of_the_item_above_it(
    going_back: int, visit: list[int], support: list[tuple[int, int]]
) -> None:
    returning = [[7, 4, 7], [4, 7, 4]] * going_back
    index = fitted(walks(*[[0, 1, 2]] * 9, *[[0, 1]] * 2, *returning), 10)

    ranked = index.next_items(visit, HOUR, 9)

    assert ranked.support is not None
    pairs = zip(ranked.items.tolist(), ranked.support.tolist(), strict=True)
    assert list(pairs) == support


def test_reading_an_item_again_before_the_next_is_no_return() -> None:
    index = fitted(walks(*([[0, 0, 1, 1, 2, 2]] * 300)), 9)

    assert index.next_items([7, 8], HOUR, 9).items.tolist() == []


def test_events_may_come_in_any_order() -> None:
    events = traffic(9, 120, 25)
    shuffled = [events[n] for n in np.random.default_rng(1).permutation(len(events))]

    one, other = fitted(events, 25).to_arrays(), fitted(shuffled, 25).to_arrays()

    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


def test_a_visit_ends_after_half_an_hour_of_silence() -> None:
    half = HOUR // 2
    who = np.array([5, 5, 9, 5, 5])
    when = np.array([0, half, 10, 2 * half + 1, 2 * half + 2])

    assert sessionize(who, when).tolist() == [0, 0, 2, 1, 1]


def test_visits_are_split_in_the_order_of_time_not_of_arrival() -> None:
    who, when = np.array([1, 1, 1]), np.array([10 * HOUR, 0, 1000])

    assert sessionize(who, when).tolist() == [1, 0, 0]


def test_no_events_make_no_visits() -> None:
    none = np.zeros(0, dtype=np.int64)

    assert sessionize(none, none).tolist() == []


def before(items: list[int], one: int, other: int) -> bool:
    return items.index(one) < items.index(other)


@pytest.mark.parametrize("answer", SCORERS)
def test_what_was_carted_counts_for_more_than_what_was_looked_at_since(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(index_module, "next_items_scores_and_support", answer)
    seen = walks(*[[0, 5]] * 3, *[[1, 6]] * 3, *[[2, 7]] * 3)
    plain, weighing = fitted(seen, 8), fitted(seen, 8, SessionKnnOptions(carted=6.0))
    carted = {0: InteractionType.CARTED}

    usual = plain.next_items([0, 1], HOUR, 4)
    found = weighing.next_items([0, 1], HOUR, 4, interactions=carted)

    assert before(usual.items.tolist(), 6, 5)
    assert before(found.items.tolist(), 5, 6)
    for index, interactions in (
        (plain, carted),
        (weighing, {}),
        (weighing, {2: InteractionType.CARTED}),
    ):
        same = index.next_items([0, 1], HOUR, 4, interactions=interactions)
        assert same.items.tolist() == usual.items.tolist()
        assert same.scores.tolist() == usual.scores.tolist()
    loaded = SessionIndex.from_arrays(weighing.to_arrays())
    again = loaded.next_items([0, 1], HOUR, 4, interactions=carted)
    assert again.scores.tolist() == found.scores.tolist()


def test_an_older_models_constants_weigh_all_deeds_alike() -> None:
    constants = SessionKnnOptions(carted=6.0).to_array()

    assert not fitted(walks([0, 1]), 2).weights_interactions
    assert SessionKnnOptions.from_array(constants).carted == 6.0
    assert SessionKnnOptions.from_array(constants[:-4]) == SessionKnnOptions()
