"""Write-behind buffer: stored once, bounded, and never lost silently."""

from __future__ import annotations

from productrecs.core.ids import StoreId
from productrecs.records.experiments.holdouts_and_explorations import Arm, Exposure
from productrecs.records.experiments.write_behind import WriteBehindBuffer

SHOP = StoreId("st_1")


def met(name: str, arm: Arm = Arm.SHOWN, test: str = "holdout", at: int = 1) -> Exposure:
    return Exposure(SHOP, name, test, arm, name, at)


def names(exposures: WriteBehindBuffer[Exposure]) -> list[str]:
    return [one.identity for one in exposures.take(1_000)]


def test_a_shopper_is_noted_once_in_one_arm() -> None:
    exposures = WriteBehindBuffer[Exposure]()
    for at in range(3):
        exposures.note(met("s_1", at=at))
    exposures.note(met("s_1", Arm.HELD_OUT))
    exposures.note(met("s_1", test="spring"))

    assert [(one.arm, one.test, one.first_at) for one in exposures.take(9)] == [
        (Arm.SHOWN, "holdout", 0),
        (Arm.HELD_OUT, "holdout", 1),
        (Arm.SHOWN, "spring", 1),
    ]
    exposures.note(met("s_1"))
    assert exposures.depth == 0


def test_some_are_taken_and_the_others_wait() -> None:
    exposures = WriteBehindBuffer[Exposure]()
    for name in "abc":
        exposures.note(met(name))

    assert [one.identity for one in exposures.take(2)] == ["a", "b"]
    assert exposures.depth == 1


def test_what_finds_no_room_is_counted_and_noted_when_it_repeats() -> None:
    exposures = WriteBehindBuffer[Exposure](limit=2)
    for name in "abc":
        exposures.note(met(name))

    assert (exposures.depth, exposures.lost) == (2, 1)
    assert names(exposures) == ["a", "b"]
    exposures.note(met("c"))
    assert names(exposures) == ["c"]


def test_what_could_not_be_stored_waits_on_before_the_rest() -> None:
    exposures = WriteBehindBuffer[Exposure](limit=3)
    exposures.note(met("a"))
    exposures.note(met("b"))
    taken = exposures.take(9)
    for name in "cd":
        exposures.note(met(name))

    exposures.put_back(taken)

    assert exposures.lost == 1
    assert names(exposures) == ["a", "b", "c"]
    exposures.note(met("d"))  # it was lost, so it may come again
    exposures.note(met("a"))
    assert names(exposures) == ["d"]


def test_what_is_remembered_is_bounded_and_a_repeat_is_harmless() -> None:
    exposures = WriteBehindBuffer[Exposure](remembered=10)
    for number in range(100):
        exposures.note(met(f"s_{number}"))
    exposures.take(1_000)

    exposures.note(met("s_99"))
    exposures.note(met("s_0"))

    assert names(exposures) == ["s_0"]
