"""Was this asked a moment ago? Finished replies, kept only while they are true."""

import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from productrecs.features.recommendations.request import Engine, Pick
from productrecs.records.catalog.view import Mask

LIMIT_BYTES: Final = 96 << 20
LAG_SECONDS: Final = 12.0
LONGEST_SECONDS: Final = 600.0
FILLED_SECONDS: Final = 40.0
"""So long lists may stay that the store as a whole helped to fill."""

_SECONDS_EACH: Final = 0.002  # some ten times what making a list takes
_BYTES_BESIDE: Final = 400  # of a kept list: its key, its place
_ENGINES: Final = tuple(Engine)
_CODES: Final = {engine: code for code, engine in enumerate(_ENGINES)}
_PROPOSE: Final = {Engine.BUY, Engine.BROWSE, Engine.COMPLEMENTARY}
_FILLERS: Final = frozenset(Engine) - _PROPOSE
_PICK: Final = struct.Struct("=iBf")

Writer = Callable[[Sequence[Pick]], bytes]
Mark = Hashable | None
Marker = Callable[[], Mark]


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
            and (
                self.visible is other.visible or np.array_equal(self.visible, other.visible)
            )
        )


@dataclass(slots=True)
class _Kept:
    packed: bytes  # item, place in `_ENGINES` and score of each pick
    listed: Moment  # of which the picks are, or might be
    good_at: float  # when its picks were last known to be of the present moment
    made_at: float
    mark: Mark  # what the picks rest on
    is_filled: bool  # also from what moves with the whole store

    def picks(self) -> list[Pick]:
        """Return the list."""
        return [
            Pick(item, _ENGINES[engine], score)
            for item, engine, score in _PICK.iter_unpack(self.packed)
        ]


_Written = tuple[bytes, Mask]
"""A body, and by which mask its products looked as it says; plain, so that the collector
of cycles passes it over."""


class ReplyCache:
    """Replies to calls that name no shopper, by what was asked.

    Changed settings and rules, and products that come, go or sell out, count at once:
    everything is forgotten. Changed prices and texts count at once too: lists are written
    anew from live cards. When there are new models, a list stays for minutes whose mark is
    the same: nothing happened that it rests on (for less than one where the whole store
    helped to fill it). All others in use are made anew each at a time of its own, a few at
    once and thousands within `LAG_SECONDS`: made anew all at once, they would take the
    process for a second.

    A list is a tenth of its body, so half of the room holds lists, more than there are
    bodies; whose body left is written again when it is asked for.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes`, the least recently used leave first."""
        self._limit = limit_bytes // 2
        self._moment: Moment | None = None
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._written: OrderedDict[Hashable, _Written] = OrderedDict()
        self._size_kept = self._size_written = 0
        self._lag = 0.0  # within how many seconds all that is kept is made anew

    @property
    def size(self) -> int:
        """About how many bytes are kept."""
        return self._size_kept + self._size_written

    def get(
        self, moment: Moment, asked: Hashable, now: float, write: Writer, mark: Marker
    ) -> bytes | None:
        """Return the body for `asked` if its list is good enough at `moment`.

        `now` is in seconds on a scale that only grows. `mark` tells what the list rests on
        now; None stands for more than marks tell.
        """
        current = self._turn_to(moment)
        kept = self._kept.get(asked)
        if kept is None:
            return None
        if kept.listed is not current:
            share = (hash(asked) & 1023) / 1024
            lasts = FILLED_SECONDS if kept.is_filled else LONGEST_SECONDS
            is_young = now - kept.made_at < lasts * (1.0 - share / 2)
            if is_young and kept.mark is not None and kept.mark == mark():
                kept.listed = current
            elif now - kept.good_at >= self._lag * share:
                self._drop(asked)
                return None
        if kept.listed is current:
            kept.good_at = now
        self._kept.move_to_end(asked)
        written = self._written.get(asked)
        if written is not None and written[1] is current.visible:
            self._written.move_to_end(asked)
            return written[0]
        body = write(kept.picks())
        self._keep_body(asked, body)
        return body

    def put(
        self, asked: Hashable, picks: Sequence[Pick], body: bytes, now: float, mark: Mark
    ) -> None:
        """Keep a reply made at the moment last asked about, that rests on `mark`."""
        if self._moment is None:
            return
        self._drop(asked)
        packed = b"".join(
            [_PICK.pack(item, _CODES[engine], score) for item, engine, score in picks]
        )
        is_filled = not _FILLERS.isdisjoint([one.engine for one in picks])
        self._kept[asked] = _Kept(packed, self._moment, now, now, mark, is_filled)
        self._size_kept += len(packed) + _BYTES_BESIDE
        self._keep_body(asked, body)
        while self._size_kept > self._limit:
            self._drop(next(iter(self._kept)))

    def _keep_body(self, asked: Hashable, body: bytes) -> None:
        if self._moment is None:
            return
        self._forget_body(asked)
        self._written[asked] = body, self._moment.visible
        self._size_written += len(body) + _BYTES_BESIDE // 2
        while self._size_written > self._limit:
            self._forget_body(next(iter(self._written)))

    def _turn_to(self, moment: Moment) -> Moment:
        before = self._moment
        if before is not None and moment.is_same(before):
            return before
        if before is None or not moment.shows_the_same(before):
            self._kept.clear()
            self._written.clear()
            self._size_kept = self._size_written = 0
        self._moment = moment
        self._lag = min(LAG_SECONDS, _SECONDS_EACH * len(self._kept))
        return moment

    def _drop(self, asked: Hashable) -> None:
        dropped = self._kept.pop(asked, None)
        if dropped is not None:
            self._size_kept -= len(dropped.packed) + _BYTES_BESIDE
            self._forget_body(asked)

    def _forget_body(self, asked: Hashable) -> None:
        forgotten = self._written.pop(asked, None)
        if forgotten is not None:
            self._size_written -= len(forgotten[0]) + _BYTES_BESIDE // 2
