"""Was this asked a moment ago? Finished replies, kept only while they are true."""

import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from productrecs.features.recommendations.request import Engine, Pick
from productrecs.records.catalog.view import Mask

LIMIT_BYTES: Final = 96 << 20
LAG_SECONDS: Final = 12.0
LONGEST_SECONDS: Final = 600.0
FILLED_SECONDS: Final = 40.0
"""So long lists may stay, unasked, that the store as a whole helped to fill."""

_SECONDS_EACH: Final = 0.002  # some ten times what making a list takes
_BYTES_BESIDE: Final = 400  # of a kept list: its key, its place
_ENGINES: Final = tuple(Engine)
_CODES: Final = {engine: code for code, engine in enumerate(_ENGINES)}
_PROPOSE: Final = {Engine.BUY, Engine.BROWSE, Engine.COMPLEMENTARY}
_FILLERS: Final = frozenset(Engine) - _PROPOSE
_SAME: Final[dict[frozenset[Engine], frozenset[Engine]]] = {}  # one of each, for all lists
_PICK: Final = struct.Struct("=iBf")

Writer = Callable[[Sequence[Pick]], bytes]
Mark = Hashable | None
"""Equal while what it stands for is; None stands for more than marks tell."""


class RestsOn(Protocol):
    """What a list rests on, as it is known now."""

    def own(self) -> Mark:
        """Return the mark of what the list is about."""

    def filling(self, engines: AbstractSet[Engine]) -> Mark:
        """Return the mark of what these engines fill lists up with."""


class Untold:
    """What rests on more than marks tell."""

    def own(self) -> None:
        """Tell no mark."""

    def filling(self, engines: AbstractSet[Engine]) -> None:
        """Tell no mark."""


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
    own: Mark  # what the picks rest on,
    fillers: frozenset[Engine]  # and who filled up from what moves with the whole store,
    filling: Mark  # which stood so
    filled_at: float  # when that was last known to be so
    body: bytes | None = None
    written_by: Mask | None = None  # by which mask its products looked as the body says
    has_used_list: bool = False  # since its turn to leave came last
    has_used_body: bool = False

    def picks(self) -> list[Pick]:
        """Return the list."""
        return [
            Pick(item, _ENGINES[engine], score)
            for item, engine, score in _PICK.iter_unpack(self.packed)
        ]


def _stands(kept: _Kept, now: float, share: float, rests_on: RestsOn) -> bool:
    """Return whether a list is still the one that would be made, as far as is known."""
    if kept.own is None or now - kept.made_at >= LONGEST_SECONDS * share:
        return False
    stands = kept.own == rests_on.own()
    if stands and kept.fillers and now - kept.filled_at >= FILLED_SECONDS * share:
        filling = rests_on.filling(kept.fillers)
        stands = filling is not None and filling == kept.filling
        kept.filled_at = now
    if not stands:
        kept.own = None  # asked once: it is made anew when its time comes
    return stands


class ReplyCache:
    """Replies to calls that name no shopper, by what was asked.

    Changed settings and rules, and products that come, go or sell out, count at once:
    everything is forgotten. Changed prices and texts count at once too: lists are written
    anew from live cards. When there are new models, a list stays for minutes while nothing
    happened that it rests on; where the whole store helped to fill it, less than a minute
    goes by before that is looked at, too. All others in use are made anew each at a time of
    its own, a few at once and thousands within `LAG_SECONDS`: made anew all at once, they
    would take the process for a second.

    A list is a tenth of its body, so half of the room holds lists, more than there are
    bodies; whose body left is written again when it is asked for. Where room is wanted, the
    oldest leaves that was not used since its last turn: to note a use takes a tenth of what
    it takes to keep all in the order of their uses.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes`; what was not used lately leaves first."""
        self._limit = limit_bytes // 2
        self._moment: Moment | None = None
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._written: OrderedDict[Hashable, _Kept] = OrderedDict()  # those with a body
        self._size_kept = self._size_written = 0
        self._lag = 0.0  # within how many seconds all that is kept is made anew

    @property
    def size(self) -> int:
        """About how many bytes are kept."""
        return self._size_kept + self._size_written

    def get(
        self, moment: Moment, asked: Hashable, now: float, write: Writer, rests_on: RestsOn
    ) -> bytes | None:
        """Return the body for `asked` if its list is good enough at `moment`.

        `now` is in seconds on a scale that only grows.
        """
        current = self._turn_to(moment)
        kept = self._kept.get(asked)
        if kept is None:
            return None
        if kept.listed is not current:
            share = (hash(asked) & 1023) / 1024
            if _stands(kept, now, 1.0 - share / 2, rests_on):
                kept.listed = current
            elif now - kept.good_at >= self._lag * share:
                self._drop(asked)
                return None
        if kept.listed is current:
            kept.good_at = now
        kept.has_used_list = True
        body = kept.body
        if body is not None and kept.written_by is current.visible:
            kept.has_used_body = True
            return body
        body = write(kept.picks())
        self._write_down(asked, kept, body, current)
        return body

    def put(
        self,
        asked: Hashable,
        picks: Sequence[Pick],
        body: bytes,
        now: float,
        rests_on: RestsOn,
    ) -> None:
        """Keep a reply made at the moment last asked about, and what it rests on."""
        if self._moment is None:
            return
        self._drop(asked)
        packed = b"".join(
            [_PICK.pack(item, _CODES[engine], score) for item, engine, score in picks]
        )
        filled = _FILLERS.intersection([one.engine for one in picks])
        fillers = _SAME.setdefault(filled, filled)
        filling = rests_on.filling(fillers) if fillers else None
        kept = self._kept[asked] = _Kept(
            packed, self._moment, now, now, rests_on.own(), fillers, filling, now
        )
        self._size_kept += len(packed) + _BYTES_BESIDE
        self._write_down(asked, kept, body, self._moment)
        while self._size_kept > self._limit:
            oldest = next(iter(self._kept))
            if self._kept[oldest].has_used_list:
                self._kept[oldest].has_used_list = False
                self._kept.move_to_end(oldest)
            else:
                self._drop(oldest)

    def _write_down(
        self, asked: Hashable, kept: _Kept, body: bytes, moment: Moment
    ) -> None:
        self._forget_body(asked)
        kept.body, kept.written_by, kept.has_used_body = body, moment.visible, False
        self._written[asked] = kept
        self._size_written += len(body) + _BYTES_BESIDE // 2
        while self._size_written > self._limit:
            oldest, other = next(iter(self._written.items()))
            if other.has_used_body:
                other.has_used_body = False
                self._written.move_to_end(oldest)
            else:
                self._forget_body(oldest)

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
        if forgotten is not None and forgotten.body is not None:
            self._size_written -= len(forgotten.body) + _BYTES_BESIDE // 2
            forgotten.body = forgotten.written_by = None
