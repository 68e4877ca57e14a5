"""Pinned products: inserts them into a finished list at the places that rules give them."""

from collections.abc import Iterable, Sequence
from typing import Final

from productrecs.features.recommendations.request import Pick

FILL_SCORE: Final = 1e-3  # of what no engine found


def with_pins(
    picks: Sequence[Pick], pinned: Iterable[tuple[int, Pick]], wanted: int
) -> list[Pick]:
    """Return up to `wanted` picks with the pins at their places, by falling score.

    `pinned` are places (the first is 0) with their picks, each item once, in the order in
    which they are obeyed: one whose place is taken has the next free one, one whose place
    lies beyond the list's end stands at its end, one beyond `wanted` is not pinned. The
    other picks keep their order; no item comes twice.
    """
    places: dict[int, Pick] = {}
    for place, pick in pinned:
        while place in places:
            place += 1  # noqa: PLW2901 - the next free one
        if place < wanted:
            places[place] = pick
    fixed = {pick.item for pick in places.values()}
    rest = [pick for pick in picks if pick.item not in fixed]
    found: list[Pick] = []
    used = 0
    for place in range(wanted):
        if place in places:
            pick = places.pop(place)
            found.append(pick._replace(score=_score_before(found, rest[used:])))
        elif used < len(rest):
            found.append(rest[used])
            used += 1
        else:
            break
    for place in sorted(places):
        found.append(places[place]._replace(score=_score_before(found, ())))
    return found


def _score_before(found: Sequence[Pick], rest: Sequence[Pick]) -> float:
    """Return a score that keeps the list in falling order: that of the next pick."""
    if rest:
        return rest[0].score
    return found[-1].score * 0.9 if found else FILL_SCORE
