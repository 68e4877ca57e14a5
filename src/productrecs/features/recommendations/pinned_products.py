"""Pinned products: inserts them into a finished list at the places that rules give them."""

from collections.abc import Iterable, Sequence
from typing import Final

from productrecs.features.recommendations.request import Pick

FILL_SCORE: Final = 1e-3  # of what no engine found


def with_pins(
    picks: Sequence[Pick], pinned: Iterable[tuple[int, Pick]], wanted: int
) -> list[Pick]:
    """Return up to `wanted` picks with the pins at their positions, by falling score.

    `pinned` are positions (from 0) with their picks, each item once, in order of
    precedence: if a position is taken, the pin gets the next free one; beyond the
    list's end it is last; beyond `wanted` it is dropped. The other picks keep their
    order; no item occurs twice.
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
    """Return the score of the next pick, which keeps the list in falling order."""
    if rest:
        return rest[0].score
    return found[-1].score * 0.9 if found else FILL_SCORE
