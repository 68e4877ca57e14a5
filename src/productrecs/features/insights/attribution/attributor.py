"""Attributor: reads each store's log incrementally and stores attributed carts and sales.

Each step reads the next part of the log, attributes what is new or changed in it, and
stores outcomes, sums and its progress in one transaction. Incremental reading gives exactly
the result of reading everything. It runs in the background: no request waits for it.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.cache_registry import Cache
from productrecs.core.ids import StoreId
from productrecs.engines.hyperloglog import NOBODY, merge, sketch
from productrecs.features.insights.attribution.attributed_outcomes import (
    CART,
    QUARTER_MS,
    SALE,
    AttributedOutcome,
    DaySums,
    LocalDays,
    SearchDay,
    sum_by_day,
)
from productrecs.features.insights.attribution.last_touch import (
    AttributionQueries,
    LastTouches,
    attribute_last_touch,
    last_search_clicks,
    pair_codes,
)
from productrecs.features.insights.attribution.repository import (
    AttributionProgress,
    AttributionRepository,
    ReachKey,
    Row,
    TouchpointColumns,
    log_positions,
)
from productrecs.features.insights.attribution.search_clicks import (
    Intents,
    counted_searches,
)
from productrecs.features.insights.attribution.touchpoint_index import (
    SEGMENT_LENGTH,
    ShopperCodes,
    TouchpointIndex,
)
from productrecs.records.events.event import EventKind
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

_CLICK: Final = int(EventKind.REC_CLICK)

ReachSketches = dict[ReachKey, tuple[bytes, bytes]]


def updated_reach(
    repository: AttributionRepository,
    touches: TouchpointColumns,
    codes: ShopperCodes,
    days: LocalDays,
) -> ReachSketches:
    """Return the sketches of shoppers shown and clicking, updated with `touches`."""
    fresh = _fresh(touches, codes, days)
    stored = repository.crowds(fresh)
    grown: ReachSketches = {}
    for place, (shown, clicked) in fresh.items():
        before = stored.get(place, (NOBODY, NOBODY))
        after = (merge((before[0], shown)), merge((before[1], clicked)))
        if after != before:
            grown[place] = after
    return grown


def _fresh(
    touches: TouchpointColumns, codes: ShopperCodes, days: LocalDays
) -> Mapping[ReachKey, tuple[bytes, bytes]]:
    if not touches.seqs:
        return {}
    quarters = (np.array(touches.times, np.int64) // QUARTER_MS).tolist()
    places: dict[tuple[int, str | None, str | None], int] = {}
    numbers = [
        places.setdefault(place, len(places))
        for place in zip(quarters, touches.widgets, touches.sources, strict=True)
    ]
    shoppers = codes.of(touches.shoppers)
    clicked = np.array(touches.kinds, np.int64) == _CLICK
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(places)))[:-1]
    parts: dict[ReachKey, list[tuple[bytes, bytes]]] = defaultdict(list)
    for (quarter, widget, source), rows in zip(places, np.split(order, ends), strict=True):
        who, clicks = shoppers[rows], clicked[rows]
        key = (days.of(quarter * QUARTER_MS), widget or "", source or "")
        parts[key].append((sketch(who[~clicks]), sketch(who[clicks])))
    return {
        key: (merge(one[0] for one in both), merge(one[1] for one in both))
        for key, both in parts.items()
    }


VERSION: Final = 4
"""The version of the stored results; a new version recomputes them from the beginning."""

STEP: Final = 50_000
"""The part of the log in one transaction: it holds the write lock for about 40 ms."""

_EMPTYING: Final = -1
_EMPTIED_AT_ONCE: Final = 5_000
_LOOK: Final = "look"  # the widget

InLooks = Mapping[tuple[str, int], tuple[int, int]]
Touched = Mapping[tuple[str, str, str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class AttributionStep:
    """The result of processing one part of the log."""

    before: AttributionProgress
    after: AttributionProgress
    forgotten: Sequence[int]  # facts that changed or no longer exist
    outcomes: Sequence[AttributedOutcome]
    days: Sequence[str]  # the days whose sums change
    sums: DaySums
    touched: Touched
    in_looks: InLooks
    crowds: Mapping[ReachKey, tuple[bytes, bytes]]
    searches: Sequence[SearchDay]
    hours: Sequence[Row]


@dataclass
class Attributor:
    """Reads stores' logs incrementally; caches the touchpoint indexes of recent stores.

    `folder` holds the files of touchpoint indexes: derived data, safe to delete.
    """

    database: Database
    folder: Path
    step: int = STEP
    stretch: int = SEGMENT_LENGTH
    _touchpoint_indexes: OrderedDict[StoreId, TouchpointIndex] = field(
        default_factory=OrderedDict
    )
    _codes: ShopperCodes = field(default_factory=ShopperCodes)

    def catch_up(self, store: Store, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Process the log until its end or `is_over`; return whether the end was reached.

        Several processes may do this at once: if another process committed the same step
        first, this one is rolled back.

        Raises:
            StoreDeletedError: when the store was deleted.
            StorageError: committed steps remain.
        """
        while self._advance(store):
            if is_over():
                return False
        return True

    def _advance(self, store: Store) -> bool:
        """Take one step; return whether more may follow."""
        settings = store.settings
        target = AttributionProgress(0, settings.timezone, VERSION, settings.language)
        with self.database.reading() as connection:
            repository = AttributionRepository(connection, store.store_id)
            mark, head = repository.mark(), repository.head()
            if mark is not None and mark.seq >= 0 and mark[1:] == target[1:]:
                if mark.seq >= head:
                    return False
                trail = self._touchpoint_index(store.store_id)
                if not trail.prepare(repository, mark.seq):
                    return True
                up_to = min(head, mark.seq + self.step, trail.end)
                step = _read_step(repository, trail, mark, up_to, settings.zone)
                trail.close_segment(repository)
            else:
                step = None
        if step is not None:
            self._store(store.store_id, step)
        elif mark is None:
            with self.database.transaction(synced=False) as transaction:
                AttributionRepository(transaction, store.store_id).begin(target)
        else:
            self._restart(store.store_id, mark, target)
        return True

    def _store(self, store_id: StoreId, step: AttributionStep) -> None:
        with self.database.transaction(synced=False) as transaction:
            repository = AttributionRepository(transaction, store_id)
            if not repository.advance(step.before, step.after):
                return
            repository.replace(self.database, step.forgotten, step.outcomes)
            repository.replace_days(self.database, step.days, step.sums)
            repository.count_touches(step.touched)
            repository.count_looks(step.in_looks)
            repository.replace_crowds(self.database, step.crowds)
            repository.replace_searches(self.database, step.searches)
            repository.count_events(step.hours)

    def _restart(
        self, store_id: StoreId, mark: AttributionProgress, target: AttributionProgress
    ) -> None:
        """Delete the results in batches, and reset the position to the beginning."""
        with self.database.transaction(synced=False) as transaction:
            repository = AttributionRepository(transaction, store_id)
            emptying = mark._replace(seq=_EMPTYING)
            if repository.advance(mark, emptying) and repository.empty(_EMPTIED_AT_ONCE):
                repository.advance(emptying, target)

    def _touchpoint_index(self, store_id: StoreId) -> TouchpointIndex:
        trail = self._touchpoint_indexes.pop(store_id, None)
        if trail is None:
            trail = TouchpointIndex(self.folder / store_id, self._codes, self.stretch)
        self._touchpoint_indexes[store_id] = trail
        while len(self._touchpoint_indexes) > 1 and self._size() > Cache.TOUCHPOINTS.limit:
            self._touchpoint_indexes.popitem(last=False)
        return trail

    def _size(self) -> int:
        return sum(trail.size for trail in self._touchpoint_indexes.values())


def stores_to_attribute(database: Database, accounts: AccountDirectory) -> list[StoreId]:
    """Return the stores with unread records, or another time zone, language or format."""
    with database.reading() as connection:
        rows = log_positions(connection)
    return [
        row.store_id
        for row in rows
        if (store := accounts.by_id(row.store_id)) is not None
        and row.head > 0
        and row.mark
        != AttributionProgress(
            row.head, store.settings.timezone, VERSION, store.settings.language
        )
    ]


def _read_step(
    repository: AttributionRepository,
    trail: TouchpointIndex,
    mark: AttributionProgress,
    up_to: int,
    zone: tzinfo,
) -> AttributionStep:
    touches, searches = repository.touches(mark.seq, up_to)
    trail.take(touches, searches, up_to)
    days, intents = LocalDays(zone), Intents(mark.language)
    carts = repository.carts(mark.seq, up_to)
    lines = repository.lines(mark.seq, up_to)
    changed = [row[0] for row in lines if row[0] <= mark.seq]
    replaced = repository.outcomes_of(changed) if changed else []
    standing = [(CART, *row, None) for row in carts]
    standing += [(SALE, *row[:-1]) for row in lines if not row[-1]]
    outcomes = _credited(repository, trail, standing, days, intents)
    gone = {one.fact for one in replaced}
    touched_days = sorted({one.day for one in (*outcomes, *replaced)})
    return AttributionStep(
        before=mark,
        after=mark._replace(seq=up_to),
        forgotten=sorted(gone),
        outcomes=outcomes,
        days=touched_days,
        sums=_sums(repository, touched_days, outcomes, gone),
        touched=_counted(touches, days),
        in_looks=_in_looks(touches, days),
        crowds=updated_reach(repository, touches, trail.codes, days),
        searches=counted_searches(repository, searches, trail.codes, days, intents),
        hours=repository.hours(mark.seq, up_to),
    )


def _sums(
    repository: AttributionRepository,
    days: Sequence[str],
    fresh: Sequence[AttributedOutcome],
    gone: Collection[int],
) -> DaySums:
    """Yield the sums of days one by one: an uploaded file may change a whole year."""
    by_day: dict[str, list[AttributedOutcome]] = defaultdict(list)
    for one in fresh:
        by_day[one.day].append(one)
    sums = DaySums([], [], [])
    for day in days:
        remaining = [one for one in repository.outcomes_on(day) if one.fact not in gone]
        of_day = sum_by_day([*remaining, *by_day[day]])
        sums.credited.extend(of_day.credited)
        sums.whole.extend(of_day.whole)
        sums.searched.extend(of_day.searched)
    return sums


def _credited(
    repository: AttributionRepository,
    trail: TouchpointIndex,
    standing: Sequence[Row],
    days: LocalDays,
    intents: Intents,
) -> list[AttributedOutcome]:
    """Return the outcomes of carts and order lines, each with its attributed touchpoint.

    Rows are (kind, seq, ts, item, shopper, quantity, value, currency, basket).
    """
    if not standing:
        return []
    wanted = _wanted(trail, standing)
    found = attribute_last_touch(trail.segments, wanted)
    searched = last_search_clicks(trail.segments, wanted)
    places = repository.places(found.seqs[found.seqs >= 0].tolist())
    terms = repository.terms(searched.seqs[searched.seqs >= 0].tolist())
    by_search = {seq: intents[term] for seq, term in terms.items()}
    columns = zip(standing, _touches_of(found), searched.seqs.tolist(), strict=True)
    return [
        _outcome(row, touch, places, days)._replace(
            search=seq if seq >= 0 else None, intent=by_search.get(seq, "")
        )
        for row, touch, seq in columns
    ]


def _wanted(trail: TouchpointIndex, standing: Sequence[Row]) -> AttributionQueries:
    _, seqs, times, items, shoppers, *_ = zip(*standing, strict=True)
    return AttributionQueries(
        pair_codes(trail.codes.of(shoppers), np.array(items, np.int64)),
        np.array(seqs, np.int64),
        np.array(times, np.int64),
        np.array([bool(name) for name in shoppers]),
    )


class _Touch(NamedTuple):
    """The impression or click that an outcome is attributed to; `seq` is -1 for none."""

    seq: int
    touched_at: int
    clicked: bool


def _touches_of(found: LastTouches) -> Iterator[_Touch]:
    columns = (found.seqs.tolist(), found.times.tolist(), found.clicked.tolist())
    return map(_Touch, *columns)


def _outcome(
    row: Row,
    touch: _Touch,
    places: Mapping[int, tuple[str | None, str | None, int | None]],
    days: LocalDays,
) -> AttributedOutcome:
    kind, fact, ts, item, _, quantity, value, currency, basket = row
    is_credited = touch.seq >= 0
    widget, source, position = places[touch.seq] if is_credited else (None, None, None)
    return AttributedOutcome(
        fact=fact,
        kind=kind,
        day=days.of(ts),
        ts=ts,
        item=item,
        basket=basket,
        units=1 if quantity is None else quantity,
        value=value or 0.0,
        currency=currency or "",
        touch=touch.seq if is_credited else None,
        clicked=touch.clicked if is_credited else None,
        touched_at=touch.touched_at if is_credited else None,
        widget=widget or "",
        source=source or "",
        position=position or 0,
        search=None,
        intent="",
    )


def _counted(touches: TouchpointColumns, days: LocalDays) -> Touched:
    """Return impression and click counts by day, widget, source and position."""
    quarters = (np.array(touches.times, np.int64) // QUARTER_MS).tolist()
    alike = Counter(
        zip(
            quarters,
            touches.widgets,
            touches.sources,
            touches.positions,
            touches.kinds,
            strict=True,
        )
    )
    counts: dict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for (quarter, widget, source, position, kind), count in alike.items():
        day = days.of(quarter * QUARTER_MS)
        place = (day, widget or "", source or "", position or 0)
        counts[place][kind == _CLICK] += count
    return {place: (shown, clicked) for place, (shown, clicked) in counts.items()}


def _in_looks(touches: TouchpointColumns, days: LocalDays) -> InLooks:
    """Return each product's impression and click counts in looks, by day."""
    counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    columns = zip(touches.times, touches.widgets, touches.items, touches.kinds, strict=True)
    for time, widget, item, kind in columns:
        if widget == _LOOK:
            day = days.of(time // QUARTER_MS * QUARTER_MS)
            counts[day, item][kind == _CLICK] += 1
    return {key: (shown, clicked) for key, (shown, clicked) in counts.items()}
