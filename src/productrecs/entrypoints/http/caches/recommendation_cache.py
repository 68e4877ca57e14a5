"""Recommendation cache: list replies to requests without a shopper, while still fresh."""

import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from productrecs.features.recommendations.request import Engine, Pick
from productrecs.records.catalog.catalog_view import Mask

LIMIT_BYTES: Final = 96 << 20
REFRESH_WITHIN_SECONDS: Final = 12.0
MAX_STALE_SECONDS: Final = 45.0
"""A changed list that was last known to stand so long ago does not wait: with the time
that learning takes, a minute at most goes by from what happened to its products."""

MAX_AGE_SECONDS: Final = 600.0
BACKFILL_CHECK_SECONDS: Final = 40.0
"""So long lists may stay, unasked, that the store as a whole helped to fill."""

MIN_AGE_SECONDS: Final = 15.0
"""So long a list stays, whatever is learned, where very many are kept."""

_REST_EACH: Final = 0.002  # seconds for each list that is kept; with few, none rests
_ANEW_A_SECOND: Final = 500.0  # lists: making them takes a tenth of a process's time
_AT_ONCE: Final = 10.0
_BEHIND: Final = 250.0  # so many lists that nobody had asked for are made up for
_BYTES_BESIDE: Final = 400  # of a kept list: its key, its place
_ENGINES: Final = tuple(Engine)
_CODES: Final = {engine: code for code, engine in enumerate(_ENGINES)}
_PROPOSE: Final = {Engine.BUY, Engine.BROWSE, Engine.COMPLEMENTARY}
_FILLERS: Final = frozenset(Engine) - _PROPOSE
_SAME: Final[dict[frozenset[Engine], frozenset[Engine]]] = {}  # one of each, for all lists
_PICK: Final = struct.Struct("=iBf")

Writer = Callable[[Sequence[Pick]], bytes]
FingerprintValue = Hashable | None
"""Equal while what it stands for is; None stands for more than marks tell."""


class FingerprintSource(Protocol):
    """What a list rests on, as it is known now."""

    def own(self) -> FingerprintValue:
        """Return the mark of what the list is about."""

    def filling(self, engines: AbstractSet[Engine]) -> FingerprintValue:
        """Return the mark of what these engines fill lists up with."""


class NoFingerprint:
    """What rests on more than marks tell."""

    def own(self) -> None:
        """Tell no mark."""

    def filling(self, engines: AbstractSet[Engine]) -> None:
        """Tell no mark."""


class ListInputs(NamedTuple):
    """What a list is made from; each is replaced whole when it changes."""

    visible: Mask
    models: object
    settings: object
    rules: object = None

    def is_same(self, other: "ListInputs | None") -> bool:
        """Return whether nothing was replaced."""
        return (
            other is not None
            and self.visible is other.visible
            and self.models is other.models
            and self.settings is other.settings
            and self.rules is other.rules
        )

    def keeps_lists_of(self, other: "ListInputs") -> bool:
        """Return whether settings and rules are the same, and no product came."""
        return (
            self.settings is other.settings
            and self.rules is other.rules
            and (self.visible is other.visible or not _came(self.visible, other.visible))
        )

    def shows(self, picks: Sequence[Pick]) -> bool:
        """Return whether all these products may be shown."""
        visible = self.visible
        return all(pick.item < len(visible) and visible[pick.item] for pick in picks)


def _came(now: Mask, before: Mask) -> bool:
    """Return whether a product may be shown now that might not be shown before."""
    both = min(len(now), len(before))
    return bool(now[both:].any() or (now[:both] > before[:both]).any())


@dataclass(slots=True)
class _Kept:
    packed: bytes  # item, place in `_ENGINES` and score of each pick
    listed: ListInputs  # of which the picks are, or might be
    made_at: float
    own: FingerprintValue  # what the picks rest on,
    fillers: frozenset[Engine]  # and who filled up from what moves with the whole store,
    filling: FingerprintValue  # which stood so
    filled_at: float  # when that was last known to be so
    stood_at: float  # when it was last known to be the list that would be made
    fell_at: float | None = None  # when it was first asked for and did not stand any more
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


def _stands(kept: _Kept, now: float, share: float, rests_on: FingerprintSource) -> bool:
    """Return whether a list is still the one that would be made, as far as is known."""
    if kept.own is None or now - kept.made_at >= MAX_AGE_SECONDS * share:
        return False
    stands = kept.own == rests_on.own()
    if stands and kept.fillers and now - kept.filled_at >= BACKFILL_CHECK_SECONDS * share:
        filling = rests_on.filling(kept.fillers)
        stands = filling is not None and filling == kept.filling
        kept.filled_at = now
    if not stands:
        kept.own = None  # asked once: it is made anew when its time comes
    return stands


class _Making:
    """Is there time to make a list anew that may wait? Only so many are made a second."""

    __slots__ = ("_at", "_left")

    def __init__(self) -> None:
        self._left, self._at = _AT_ONCE, 0.0

    def may_begin(self, now: float) -> bool:
        """Return whether one may be made now; if so it counts as made."""
        self._rest(now)
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def must_begin(self, now: float) -> None:
        """Count one that could not wait: others wait the longer."""
        self._rest(now)
        self._left = max(-_BEHIND, self._left - 1.0)

    def _rest(self, now: float) -> None:
        rested = self._left + (now - self._at) * _ANEW_A_SECOND
        self._left, self._at = min(_AT_ONCE, rested), now


class RecommendationCache:
    """Replies to calls that name no shopper, by what was asked.

    Changed settings and rules, and products that come or come back, count at once:
    everything is forgotten. Products that go or sell out count at once too: a list that
    holds one is made anew. So do changed prices and texts: lists are written anew from live
    cards. When there are new models, a list stays for minutes while nothing happened that
    it rests on; where the whole store helped to fill it, less than a minute goes by before
    that is looked at, too. All others are made anew when they are asked for, some hundreds
    a second, and each within `REFRESH_WITHIN_SECONDS` from when it was first asked for:
    made anew all at once, they would take the process for a second. One that nobody had
    asked for so long that it may be a minute behind does not wait. What is asked for all
    the time, something happens to all the time: it rests when it was made, for seconds.

    A list is a tenth of its body, so half of the room holds lists, more than there are
    bodies; whose body left is written again when it is asked for. Where room is wanted, the
    oldest leaves that was not used since its last turn: to note a use takes a tenth of what
    it takes to keep all in the order of their uses.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Keep up to `limit_bytes`; what was not used lately leaves first."""
        self._limit = limit_bytes // 2
        self._moment: ListInputs | None = None
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._written: OrderedDict[Hashable, _Kept] = OrderedDict()  # those with a body
        self._size_kept = self._size_written = 0
        self._making = _Making()
        self._rests = 0.0  # how long lists rest that were just made

    @property
    def size(self) -> int:
        """About how many bytes are kept."""
        return self._size_kept + self._size_written

    def get(
        self,
        moment: ListInputs,
        asked: Hashable,
        now: float,
        write: Writer,
        rests_on: FingerprintSource,
    ) -> bytes | None:
        """Return the body for `asked` if its list is good enough at `moment`.

        `now` is in seconds on a scale that only grows.
        """
        current = self._turn_to(moment)
        kept = self._kept.get(asked)
        if kept is None:
            self._making.must_begin(now)
            return None
        if kept.listed is current:
            kept.stood_at = now
        elif now - kept.made_at >= self._rests:
            if _stands(kept, now, 1.0 - (hash(asked) & 1023) / 2048, rests_on):
                kept.listed, kept.stood_at = current, now
            elif self._is_made_anew(kept, now):
                self._drop(asked)
                return None
        kept.has_used_list = True
        body = kept.body
        if body is not None and kept.written_by is current.visible:
            kept.has_used_body = True
            return body
        picks = kept.picks()
        if not current.shows(picks):
            self._making.must_begin(now)
            self._drop(asked)
            return None
        body = write(picks)
        self._write_down(asked, kept, body, current)
        return body

    def put(
        self,
        asked: Hashable,
        picks: Sequence[Pick],
        body: bytes,
        now: float,
        rests_on: FingerprintSource,
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
            packed, self._moment, now, rests_on.own(), fillers, filling, now, now
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

    def _is_made_anew(self, kept: _Kept, now: float) -> bool:
        """Return whether a list that stands no more has to be made anew now."""
        if now - kept.stood_at >= MAX_STALE_SECONDS:
            self._making.must_begin(now)
            return True
        if self._making.may_begin(now):
            return True
        if kept.fell_at is None:
            kept.fell_at = now
        return now - kept.fell_at >= REFRESH_WITHIN_SECONDS

    def _write_down(
        self, asked: Hashable, kept: _Kept, body: bytes, moment: ListInputs
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

    def _turn_to(self, moment: ListInputs) -> ListInputs:
        before = self._moment
        if before is not None and moment.is_same(before):
            return before
        if before is None or not moment.keeps_lists_of(before):
            self._kept.clear()
            self._written.clear()
            self._size_kept = self._size_written = 0
        self._moment = moment
        self._rests = min(MIN_AGE_SECONDS, _REST_EACH * len(self._kept))
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
