"""Byte budget: fair shares, and everything is returned."""

import pytest

from productrecs.core import memory_budget
from productrecs.core.errors import QueueFullError
from productrecs.core.memory_budget import MIB, SMALL, ByteBudget, ByteClaim

TOTAL = 160 * MIB


def fill(budget: ByteBudget, claimant: str, size: int) -> list[ByteClaim]:
    """Return as many claims of a size as a claimant gets."""
    claims: list[ByteClaim] = []
    while True:
        try:
            claims.append(budget.claim(claimant).grow(size))
        except QueueFullError:
            return claims


@pytest.mark.parametrize(
    ("size", "most"), [(MIB, TOTAL // 2), (SMALL, TOTAL * 3 // 4)], ids=["large", "small"]
)
def test_one_alone_may_hold_so_much_and_no_more(size: int, most: int) -> None:
    budget = ByteBudget(TOTAL)

    claims = fill(budget, "a", size)

    assert most - size < budget.held <= most
    claims.pop().release()
    assert len(fill(budget, "a", size)) == 1


@pytest.mark.parametrize("greedy", [1, 2, 5, 40])
@pytest.mark.parametrize("size", [MIB, 8 * MIB, SMALL])
def test_whoever_comes_after_greedy_ones_gets_an_event_in(greedy: int, size: int) -> None:
    budget = ByteBudget(TOTAL)
    for number in range(greedy):
        fill(budget, f"greedy {number}", size)

    assert budget.held <= TOTAL
    assert budget.claim("quiet").grow(SMALL).size == SMALL


def test_control_without_shares_a_greedy_one_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("_SHARE", "_SHARE_OF_SMALL", "_RESERVE", "_RESERVE_OF_SMALL"):
        monkeypatch.setattr(memory_budget, name, 10**9)
    budget = ByteBudget(TOTAL)
    fill(budget, "greedy", SMALL)

    assert budget.held > TOTAL - 2 * SMALL
    with pytest.raises(QueueFullError):
        budget.claim("quiet").grow(2 * SMALL)


def test_whose_large_bodies_fill_its_share_can_still_send_events() -> None:
    budget = ByteBudget(TOTAL)
    fill(budget, "a", 8 * MIB)

    assert len(fill(budget, "a", SMALL)) > 100


def test_a_body_that_comes_in_steps_is_as_large_as_all_of_them() -> None:
    budget = ByteBudget(TOTAL)
    fill(budget, "a", MIB)

    with budget.claim("a") as claim:
        claim.grow(SMALL)
        with pytest.raises(QueueFullError):
            claim.grow(SMALL)
        assert claim.size == SMALL

    assert budget.held <= TOTAL // 2


def test_what_is_released_shrunk_or_handed_over_is_counted_once() -> None:
    budget = ByteBudget(TOTAL)
    with budget.claim("a") as claim:
        claim.grow(3 * MIB)
        claim.shrink_to(2 * MIB)
        claim.shrink_to(5 * MIB)
        assert budget.held == 2 * MIB
        heir = claim.transfer()
        other = claim.another().grow(MIB)
        assert (claim.size, budget.held) == (0, 3 * MIB)
    other.release()
    assert budget.held == 2 * MIB
    for _ in range(2):
        heir.release()
        claim.release()

    assert budget.held == 0
    assert len(fill(budget, "a", MIB)) == TOTAL // MIB // 2
