"""Was this asked a moment ago? Finished replies, kept only while they are true."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from productrecs.features.recommendations.request import Engine, Pick
from productrecs.records.catalog.view import Mask

LIMIT_BYTES: Final = 80 << 20
LAG_SECONDS: Final = 12.0
_SECONDS_EACH: Final = 0.002  # some ten times what making a list takes
_BYTES_BESIDE: Final = 600  # of a kept reply: its key, its picks, its place
_ENGINES: Final = tuple(Engine)

Writer = Callable[[Sequence[Pick]], bytes]


class Moment(NamedTuple):
    """What a list is made from; each is replaced whole when it changes."""

    visible: Mask
    models: object
    settings: object
    rules: object = None

    def is_same(self, other: "Moment | None") -> bool:
        """Return whether nothing was replaced."""
        return (
            other is not None
            and self.visible is other.visible
            and self.models is other.models
            and self.settings is other.settings
            and self.rules is other.rules
        )

    def shows_the_same(self, other: "Moment") -> bool:
        """Return whether the same products may be shown, by the same settings and rules."""
        return (
            self.settings is other.settings
            and self.rules is other.rules
            and np.array_equal(self.visible, other.visible)
        )


@dataclass(slots=True)
class _Kept:
    packed: "array[float]"  # item, place in `_ENGINES` and score of each pick
    body: bytes
    listed: Moment  # of which the picks are
    written: Moment  # of which the body is
    good_at: float  # when its picks were last known to be of the present moment

    @property
    def size(self) -> int:
        return len(self.body) + _BYTES_BESIDE

    def picks(self) -> list[Pick]:
        """Return the list that the body shows."""
        numbers = iter(self.packed)
        return [
            Pick(int(item), _ENGINES[int(engine)], score)
            for item, engine, score in zip(numbers, numbers, numbers, strict=True)
        ]


class ReplyCache:
    """Replies to calls that name no shopper, by what was asked.

    Changed settings and rules, and products that come, go or sell out, count at once:
    everything is forgotten. Changed prices and texts count at once too: lists are written
    anew from live cards. When there are new models, lists in use are made anew each at a
    time of its own, a few at once and thousands within `LAG_SECONDS`: made anew all at
    once, they would take the process for a second.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes`, the least recently used leave first."""
        self.size = 0
        self._limit = limit_bytes
        self._moment: Moment | None = None
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._lag = 0.0  # within how many seconds all that is kept is made anew

    def get(
        self, moment: Moment, asked: Hashable, now: float, write: Writer
    ) -> bytes | None:
        """Return the body for `asked` if its list is good enough at `moment`.

        `now` is in seconds on a scale that only grows.
        """
        current = self._turn_to(moment)
        kept = self._kept.get(asked)
        if kept is None:
            return None
        if kept.listed is current:
            kept.good_at = now
        elif now - kept.good_at >= self._lag * (hash(asked) & 1023) / 1024:
            self._drop(asked)
            return None
        elif kept.written is not current:
            self.size -= kept.size
            kept.body, kept.written = write(kept.picks()), current
            self.size += kept.size
        self._kept.move_to_end(asked)
        return kept.body

    def put(self, asked: Hashable, picks: Sequence[Pick], body: bytes, now: float) -> None:
        """Keep a reply made at the moment last asked about."""
        if self._moment is None:
            return
        self._drop(asked)
        packed = array(
            "d",
            [
                number
                for pick in picks
                for number in (pick.item, _ENGINES.index(pick.engine), pick.score)
            ],
        )
        self._kept[asked] = _Kept(packed, body, self._moment, self._moment, now)
        self.size += self._kept[asked].size
        while self.size > self._limit:
            self.size -= self._kept.popitem(last=False)[1].size

    def _turn_to(self, moment: Moment) -> Moment:
        before = self._moment
        if before is not None and moment.is_same(before):
            return before
        if before is None or not moment.shows_the_same(before):
            self._kept.clear()
            self.size = 0
        self._moment = moment
        self._lag = min(LAG_SECONDS, _SECONDS_EACH * len(self._kept))
        return moment

    def _drop(self, asked: Hashable) -> None:
        dropped = self._kept.pop(asked, None)
        if dropped is not None:
            self.size -= dropped.size
