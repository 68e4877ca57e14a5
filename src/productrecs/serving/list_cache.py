"""List cache: the replies to list requests without a shopper, while they are valid."""

import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, Protocol

from productrecs.core.cache_registry import RegisteredCache
from productrecs.engines.registry import FILLERS
from productrecs.features.recommendations.candidates import (
    backfill_items,
    effective_source,
)
from productrecs.features.recommendations.cooldown_and_fatigue import (
    cooldown_categories_of_cart,
)
from productrecs.features.recommendations.recommendation_request import (
    EngineName,
    Pick,
    RecommendationRequest,
)
from productrecs.features.recommendations.serving_state import (
    EligibleItems,
    StoreState,
    sold_out_anchor,
)
from productrecs.features.recommendations.source_recipes import (
    PageType,
    Recipe,
    choose_recipe,
)
from productrecs.records.catalog.catalog_view import Mask

REFRESH_WITHIN_SECONDS: Final = 12.0
MAX_STALE_SECONDS: Final = 45.0
"""The age since validation at which a stale list is refreshed at once. Including training,
a list is at most a minute behind the events of its products."""

MAX_AGE_SECONDS: Final = 600.0
BACKFILL_CHECK_SECONDS: Final = 40.0
"""The interval between checks of a list's backfill, which depends on the whole store."""

MIN_AGE_SECONDS: Final = 15.0
"""The most time that a new list always stays fresh, in a large cache."""

_MIN_AGE_PER_LIST: Final = 0.002  # seconds for each cached list
_REFRESHES_PER_SECOND: Final = 500.0  # a tenth of a process's CPU time
_REFRESH_BURST: Final = 10.0
_MAX_REFRESH_DEBT: Final = 250.0  # urgent refreshes beyond the rate
_ENTRY_OVERHEAD_BYTES: Final = 400  # per entry: its key and slots
_ENGINES: Final = tuple(EngineName)
_CODES: Final = {engine: code for code, engine in enumerate(_ENGINES)}
_BACKFILL_ENGINES: Final = frozenset(map(EngineName, FILLERS))
_INTERNED_SETS: Final[dict[frozenset[EngineName], frozenset[EngineName]]] = {}
_PICK: Final = struct.Struct("=iBf")

Writer = Callable[[Sequence[Pick]], bytes]
Fingerprint = Hashable | None
"""Equal values mean equal inputs, except with probability 2^-61; None means unknown."""


class FingerprintSource(Protocol):
    """The present fingerprints of a list's inputs."""

    def of_list(self) -> Fingerprint:
        """Return the fingerprint of the list's own inputs."""

    def of_backfill(self, engines: AbstractSet[EngineName]) -> Fingerprint:
        """Return the fingerprint of the backfill of these engines."""


class NoFingerprintSource:
    """The fingerprints of a list without any: the list is always stale."""

    def of_list(self) -> None:
        """Return None."""

    def of_backfill(self, engines: AbstractSet[EngineName]) -> None:
        """Return None."""


class CachedListInputs(NamedTuple):
    """The inputs of a list; each is replaced as a whole when it changes."""

    visible: Mask
    models: object
    settings: object
    rules: object = None
    earnings: object = None

    def is_same(self, other_inputs: "CachedListInputs | None") -> bool:
        """Return whether all inputs are the same objects."""
        return (
            other_inputs is not None
            and self.visible is other_inputs.visible
            and self.models is other_inputs.models
            and self.settings is other_inputs.settings
            and self.rules is other_inputs.rules
            and self.earnings is other_inputs.earnings
        )

    def keeps_lists_from(self, other_inputs: "CachedListInputs") -> bool:
        """Return whether settings and rules are the same, and no product became visible."""
        return (
            self.settings is other_inputs.settings
            and self.rules is other_inputs.rules
            and self.earnings is other_inputs.earnings
            and (
                self.visible is other_inputs.visible
                or not _has_new_items(self.visible, other_inputs.visible)
            )
        )

    def may_show_all(self, picks: Sequence[Pick]) -> bool:
        """Return whether all these products may be shown."""
        visible = self.visible
        return all(pick.item < len(visible) and visible[pick.item] for pick in picks)


def _has_new_items(now: Mask, before: Mask) -> bool:
    """Return whether a product became visible."""
    common_size = min(len(now), len(before))
    return bool(now[common_size:].any() or (now[:common_size] > before[:common_size]).any())


@dataclass(slots=True)
class _CachedList:
    packed: bytes  # item, index in `_ENGINES` and score of each pick
    inputs: CachedListInputs  # for which the picks are valid
    made_at: float
    fingerprint: Fingerprint
    backfill_engines: frozenset[EngineName]  # engines that backfilled it
    backfill_fingerprint: Fingerprint
    backfill_checked_at: float
    validated_at: float  # when its fingerprint last matched
    stale_since: float | None = None  # when it was first requested while stale
    body: bytes | None = None
    body_mask: Mask | None = None  # the visibility mask that the body was written with
    has_used_list: bool = False  # since the last pass of the eviction
    has_used_body: bool = False

    def picks(self) -> list[Pick]:
        """Return the list."""
        return [
            Pick(item, _ENGINES[engine], score)
            for item, engine, score in _PICK.iter_unpack(self.packed)
        ]


def _check_and_mark_freshness(
    entry: _CachedList, now: float, lifetime_share: float, fingerprints: FingerprintSource
) -> bool:
    """Return whether the fingerprints of a list still match."""
    if entry.fingerprint is None or now - entry.made_at >= MAX_AGE_SECONDS * lifetime_share:
        return False
    is_fresh = entry.fingerprint == fingerprints.of_list()
    if (
        is_fresh
        and entry.backfill_engines
        and now - entry.backfill_checked_at >= BACKFILL_CHECK_SECONDS * lifetime_share
    ):
        backfill_fingerprint = fingerprints.of_backfill(entry.backfill_engines)
        is_fresh = (
            backfill_fingerprint is not None
            and backfill_fingerprint == entry.backfill_fingerprint
        )
        entry.backfill_checked_at = now
    if not is_fresh:
        entry.fingerprint = None  # checked once; it stays stale
    return is_fresh


class _RefreshBudget:
    """Token bucket that limits the refreshes of stale lists."""

    __slots__ = ("_tokens", "_updated_at")

    def __init__(self) -> None:
        self._tokens, self._updated_at = _REFRESH_BURST, 0.0

    def try_take(self, now: float) -> bool:
        """Take a token if there is one; return whether there was."""
        self._refill(now)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def take(self, now: float) -> None:
        """Take a token for an urgent refresh, going into debt if there is none."""
        self._refill(now)
        self._tokens = max(-_MAX_REFRESH_DEBT, self._tokens - 1.0)

    def _refill(self, now: float) -> None:
        refilled = self._tokens + (now - self._updated_at) * _REFRESHES_PER_SECOND
        self._tokens, self._updated_at = min(_REFRESH_BURST, refilled), now


class ListCache:
    """Replies to requests without a shopper, by request.

    Invalidation, in one place:

    - Changed settings and rules, and products that become visible, clear the cache at once.
    - A list that holds a product which is no longer visible is recomputed at once.
    - Changed prices and texts: the body is written again from live product cards.
    - New models: a list stays valid while its fingerprint is equal. The fingerprint of its
      backfill, which depends on the whole store, is checked at least once a minute.
    - A stale list is recomputed on request, at some hundreds a second, and at the latest
      `REFRESH_WITHIN_SECONDS` after its first request. Recomputing all at once would block
      the process for a second. A list that would be a minute behind is recomputed at once.
    - Popular lists change all the time, so a new list stays fresh for some seconds when the
      cache is large.

    A list takes a tenth of the memory of its body, so half of the memory is for lists, and
    the cache holds more lists than bodies. An evicted body is rebuilt on request. Eviction
    is second chance (CLOCK): recording a use costs a tenth of updating an LRU order.
    """

    def __init__(
        self, limit_bytes: int = RegisteredCache.RECOMMENDATION_LISTS.limit
    ) -> None:
        """Hold up to `limit_bytes`; evict entries that were not used recently."""
        self._limit = limit_bytes // 2
        self._inputs: CachedListInputs | None = None
        self._lists: OrderedDict[Hashable, _CachedList] = OrderedDict()
        self._bodies: OrderedDict[Hashable, _CachedList] = (
            OrderedDict()
        )  # entries with a body
        self._lists_size = self._bodies_size = 0
        self._refresh_budget = _RefreshBudget()
        self._min_age = 0.0  # seconds that a new list always stays fresh

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return self._lists_size + self._bodies_size

    def get(
        self,
        inputs: CachedListInputs,
        key: Hashable,
        now: float,
        write: Writer,
        fingerprints: FingerprintSource,
    ) -> bytes | None:
        """Return the body for `key` if its list is fresh enough for `inputs`.

        `now` is in seconds on a scale that only grows.
        """
        current = self._keep_or_switch_inputs(inputs)
        entry = self._lists.get(key)
        if entry is None:
            self._refresh_budget.take(now)
            return None
        if entry.inputs is current:
            entry.validated_at = now
        elif now - entry.made_at >= self._min_age:
            if _check_and_mark_freshness(
                entry, now, 1.0 - (hash(key) & 1023) / 2048, fingerprints
            ):
                entry.inputs, entry.validated_at = current, now
            elif self._take_refresh_if_due(entry, now):
                self._evict(key)
                return None
        entry.has_used_list = True
        body = entry.body
        if body is not None and entry.body_mask is current.visible:
            entry.has_used_body = True
            return body
        picks = entry.picks()
        if not current.may_show_all(picks):
            self._refresh_budget.take(now)
            self._evict(key)
            return None
        body = write(picks)
        self._store_body_and_evict(key, entry, body, current)
        return body

    def put(
        self,
        key: Hashable,
        picks: Sequence[Pick],
        body: bytes,
        now: float,
        fingerprints: FingerprintSource,
    ) -> None:
        """Store a reply that was computed from the inputs of the last `get`."""
        if self._inputs is None:
            return
        self._evict(key)
        packed = b"".join(
            [_PICK.pack(item, _CODES[engine], score) for item, engine, score in picks]
        )
        engines = _BACKFILL_ENGINES.intersection([pick.engine for pick in picks])
        backfill_engines = _INTERNED_SETS.setdefault(engines, engines)
        backfill_fingerprint = (
            fingerprints.of_backfill(backfill_engines) if backfill_engines else None
        )
        entry = self._lists[key] = _CachedList(
            packed,
            self._inputs,
            now,
            fingerprints.of_list(),
            backfill_engines,
            backfill_fingerprint,
            now,
            now,
        )
        self._lists_size += len(packed) + _ENTRY_OVERHEAD_BYTES
        self._store_body_and_evict(key, entry, body, self._inputs)
        while self._lists_size > self._limit:
            oldest_key = next(iter(self._lists))
            if self._lists[oldest_key].has_used_list:
                self._lists[oldest_key].has_used_list = False
                self._lists.move_to_end(oldest_key)
            else:
                self._evict(oldest_key)

    def _take_refresh_if_due(self, entry: _CachedList, now: float) -> bool:
        """Return whether a stale list is recomputed now, which takes from the budget."""
        if now - entry.validated_at >= MAX_STALE_SECONDS:
            self._refresh_budget.take(now)
            return True
        if self._refresh_budget.try_take(now):
            return True
        if entry.stale_since is None:
            entry.stale_since = now
        return now - entry.stale_since >= REFRESH_WITHIN_SECONDS

    def _store_body_and_evict(
        self, key: Hashable, entry: _CachedList, body: bytes, inputs: CachedListInputs
    ) -> None:
        self._evict_body(key)
        entry.body, entry.body_mask, entry.has_used_body = body, inputs.visible, False
        self._bodies[key] = entry
        self._bodies_size += len(body) + _ENTRY_OVERHEAD_BYTES // 2
        while self._bodies_size > self._limit:
            oldest_key, oldest_entry = next(iter(self._bodies.items()))
            if oldest_entry.has_used_body:
                oldest_entry.has_used_body = False
                self._bodies.move_to_end(oldest_key)
            else:
                self._evict_body(oldest_key)

    def _keep_or_switch_inputs(self, inputs: CachedListInputs) -> CachedListInputs:
        previous = self._inputs
        if previous is not None and inputs.is_same(previous):
            return previous
        if previous is None or not inputs.keeps_lists_from(previous):
            self._lists.clear()
            self._bodies.clear()
            self._lists_size = self._bodies_size = 0
        self._inputs = inputs
        self._min_age = min(MIN_AGE_SECONDS, _MIN_AGE_PER_LIST * len(self._lists))
        return inputs

    def _evict(self, key: Hashable) -> None:
        evicted = self._lists.pop(key, None)
        if evicted is not None:
            self._lists_size -= len(evicted.packed) + _ENTRY_OVERHEAD_BYTES
            self._evict_body(key)

    def _evict_body(self, key: Hashable) -> None:
        evicted = self._bodies.pop(key, None)
        if evicted is not None and evicted.body is not None:
            self._bodies_size -= len(evicted.body) + _ENTRY_OVERHEAD_BYTES // 2
            evicted.body = evicted.body_mask = None


class ListFingerprintSource:
    """The present fingerprints of the list of one call."""

    __slots__ = ("_now_ms", "_request", "_state")

    def __init__(
        self, state: StoreState, request: RecommendationRequest, now_ms: int
    ) -> None:
        """Store the arguments; each fingerprint is computed on request."""
        self._state = state
        self._request = request
        self._now_ms = now_ms

    def of_list(self) -> Fingerprint:
        """Return a value that changes when the models' data of the call's items changes.

        While it is equal, the candidates of these items are equal, except for small changes
        that affect all lists.
        """
        if sold_out_anchor(self._state, self._request, self._now_ms) is not None:
            return None  # replacements depend on their whole category
        numbers = self._anchor_numbers()
        item_hashes = [
            None if number is None else self._state.models.fingerprint(number)
            for number in numbers
        ]
        if not item_hashes or None in item_hashes:
            return None
        return hash((tuple(item_hashes), self._cooldown_categories(numbers)))

    def of_backfill(self, engines: AbstractSet[EngineName]) -> Fingerprint:
        """Return a value that changes with the first backfill items of `engines`.

        It covers all items that the list can need, unless variant groups and cooldown skip
        more items than the list is long.
        """
        eligible, recipe = self._eligible_and_recipe()
        numbers = self._anchor_numbers()
        cooldown, narrowest = self._cooldown_categories(numbers), eligible.narrowest
        anchors = [number for number in numbers if number is not None]
        num = self._request.num
        # Cooldown demotes or drops items, so look at more than the list needs.
        depth = 2 * (2 * num + len(anchors)) + 2 if cooldown else num + len(anchors)
        first_items = (
            tuple(
                islice(
                    (
                        item
                        for item in backfill_items(engine, eligible, anchors)
                        if engine is EngineName.TRENDING or narrowest[item] not in cooldown
                    ),
                    depth,
                )
            )
            for engine in recipe.backfill
            if engine in engines
        )
        return hash((tuple(first_items), cooldown))

    def _eligible_and_recipe(self) -> tuple[EligibleItems, Recipe]:
        state, request = self._state, self._request
        recipe = choose_recipe(effective_source(state, request), state.settings)
        page_type = PageType.CART if request.basket else PageType.PRODUCT
        return state.eligible_items(self._now_ms, page_type, request.source), recipe

    def _cooldown_categories(self, numbers: Sequence[int | None]) -> frozenset[str]:
        """Return the categories on cooldown in a cart's list."""
        if not self._request.basket:
            return frozenset()
        eligible, recipe = self._eligible_and_recipe()
        cart = [number for number in numbers if number is not None]
        return (
            cooldown_categories_of_cart(eligible, cart)
            if recipe.has_cooldown
            else frozenset()
        )

    def _anchor_numbers(self) -> list[int | None]:
        request, number = self._request, self._state.catalog.number
        names = (request.item_id, *request.basket) if request.item_id else request.basket
        return [number(name) for name in names]
