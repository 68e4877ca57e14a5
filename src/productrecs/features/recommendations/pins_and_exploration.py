"""Pins and exploration: places in a finished list for pinned and for new products.

An exploration draw depends on the store, the shopper, the day and the list's subject, so a
list stays the same for a day. The probability of each explored item is known.
"""

import hashlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.features.recommendations.list_request_and_picks import Engine, Pick
from productrecs.features.recommendations.serving_state import EligibleItems

MIN_PICKS: Final = 3  # minimum list length for exploration
_BITS: Final = 64


class Draw(NamedTuple):
    """Random numbers of one list: two of [0, 1)."""

    list_: float
    item: float


class ExploredItem(NamedTuple):
    """An explored item of a list: its place (from 0), and its overall probability."""

    pick: Pick
    place: int
    probability: float


def exploration_draw(
    store_id: StoreId, shopper: str, about: tuple[int, ...], now_ms: int
) -> Draw:
    """Return the random numbers of a shopper's list on a day of UTC."""
    words = ("productrecs explore", store_id, str(now_ms // DAY_MS), shopper, repr(about))
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()
    half = _BITS // 8
    return Draw(
        *(
            int.from_bytes(digest[start : start + half], "big") / 2**_BITS
            for start in (0, half)
        )
    )


def pick_exploration(
    eligible: EligibleItems,
    draw: Draw,
    percent: float,
    anchors: tuple[int, ...],
    picks: list[Pick],
    not_listable: AbstractSet[int],
) -> ExploredItem | None:
    """Return the list's explored item; None for most lists.

    It comes from the narrowest category of the first of `anchors` with new items; without
    anchors, from the store's newest items. It is never one of `picks` or `not_listable`.
    """
    if draw.list_ * 100.0 >= percent or len(picks) < MIN_PICKS:
        return None
    names = (
        dict.fromkeys(eligible.narrowest[item] for item in anchors) if anchors else ("",)
    )
    not_explorable = not_listable | {pick.item for pick in picks}
    for name in names:
        if anchors and not name:
            continue
        items, weights = eligible.cold_start_items(name)
        is_explorable = np.array(
            [item not in not_explorable for item in items.tolist()], bool
        )
        if not is_explorable.any():
            continue
        items, sums = items[is_explorable], np.cumsum(weights[is_explorable])
        index = min(
            int(np.searchsorted(sums, draw.item * sums[-1], "right")), len(sums) - 1
        )
        probability = percent / 100.0 * float(weights[is_explorable][index] / sums[-1])
        engine = Engine.CATEGORY if anchors else Engine.TRENDING
        place = len(picks) - 1
        return ExploredItem(
            Pick(int(items[index]), engine, picks[place].score), place, probability
        )
    return None


FILL_SCORE: Final = 1e-3  # score of a backfill item


def with_pins(
    picks: Sequence[Pick], pinned: Iterable[tuple[int, Pick]], num: int
) -> list[Pick]:
    """Return up to `num` picks with the pins at their positions, by falling score.

    `pinned` are positions (from 0) with their picks, each item once, in order of
    precedence: if a position is taken, the pin gets the next free one; beyond the
    list's end it is last; beyond `num` it is dropped. The other picks keep their
    order; no item occurs twice.
    """
    places: dict[int, Pick] = {}
    for place, pick in pinned:
        while place in places:
            place += 1  # noqa: PLW2901 - the next free position
        if place < num:
            places[place] = pick
    fixed = {pick.item for pick in places.values()}
    others = [pick for pick in picks if pick.item not in fixed]
    found: list[Pick] = []
    used = 0
    for place in range(num):
        if place in places:
            pick = places.pop(place)
            found.append(pick._replace(score=_score_before(found, others[used:])))
        elif used < len(others):
            found.append(others[used])
            used += 1
        else:
            break
    for place in sorted(places):
        found.append(places[place]._replace(score=_score_before(found, ())))
    return found


def _score_before(found: Sequence[Pick], others: Sequence[Pick]) -> float:
    """Return the score of the next pick, which keeps the list in falling order."""
    if others:
        return others[0].score
    return found[-1].score * 0.9 if found else FILL_SCORE
