"""Attributor: reads each store's log incrementally and stores attributed carts and sales.

Each step reads the next part of the log, attributes what is new or changed in it, and
stores outcomes, sums and its progress in one transaction. Incremental reading gives exactly
the result of reading everything. It runs in the background: no request waits for it.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.ids import StoreId
from productrecs.engines.hyperloglog import EMPTY_SKETCH, merge, sketch
from productrecs.features.attribution.daily_sums import (
    CART,
    QUARTER_MS,
    SALE,
    AttributedOutcome,
    AttributionDaySums,
    DailySearchClicks,
    LocalDayMapper,
    sum_outcomes_by_day,
)
from productrecs.features.attribution.last_touch import (
    OutcomesToAttribute,
    attribute_last_touch,
    hash_shopper_item_pairs,
    last_search_clicks,
)
from productrecs.features.attribution.repository import (
    AttributionProgress,
    AttributionRepository,
    ReachKey,
    Row,
    TouchpointColumns,
    attribution_backlogs_of_all_stores,
    columns_since,
)
from productrecs.features.attribution.search_clicks import (
    IntentByTerm,
    updated_daily_search_clicks,
)
from productrecs.features.attribution.touchpoint_index import (
    SEGMENT_LENGTH,
    TouchpointIndex,
    VisitorHashCache,
)
from productrecs.records.events.event import EventKind
from productrecs.records.events.event_log.repository import TouchpointPlace
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

_CLICK: Final = int(EventKind.REC_CLICK)

ReachSketches = dict[ReachKey, tuple[bytes, bytes]]


def updated_reach_sketches(
    repository: AttributionRepository,
    touchpoints: TouchpointColumns,
    codes: VisitorHashCache,
    days: LocalDayMapper,
) -> ReachSketches:
    """Return the sketches of shoppers shown and clicking, updated with `touchpoints`."""
    new_sketches = _new_reach_sketches(touchpoints, codes, days)
    stored = repository.reach_sketches(new_sketches)
    changed: ReachSketches = {}
    for key, (shown, clicked) in new_sketches.items():
        previous = stored.get(key, (EMPTY_SKETCH, EMPTY_SKETCH))
        updated = (merge((previous[0], shown)), merge((previous[1], clicked)))
        if updated != previous:
            changed[key] = updated
    return changed


def _new_reach_sketches(
    touchpoints: TouchpointColumns, codes: VisitorHashCache, days: LocalDayMapper
) -> Mapping[ReachKey, tuple[bytes, bytes]]:
    if not touchpoints.seqs:
        return {}
    quarters = (np.array(touchpoints.times, np.int64) // QUARTER_MS).tolist()
    group_numbers: dict[tuple[int, str | None, str | None], int] = {}
    numbers = [
        group_numbers.setdefault(group, len(group_numbers))
        for group in zip(quarters, touchpoints.widgets, touchpoints.sources, strict=True)
    ]
    shoppers = codes.of(touchpoints.shoppers)
    is_clicked = np.array(touchpoints.kinds, np.int64) == _CLICK
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(group_numbers)))[:-1]
    sketches: dict[ReachKey, list[tuple[bytes, bytes]]] = defaultdict(list)
    for (quarter, widget, source), rows in zip(
        group_numbers, np.split(order, ends), strict=True
    ):
        shoppers_of_group, is_click = shoppers[rows], is_clicked[rows]
        key = (days.day_of(quarter * QUARTER_MS), widget or "", source or "")
        sketches[key].append(
            (sketch(shoppers_of_group[~is_click]), sketch(shoppers_of_group[is_click]))
        )
    return {
        key: (
            merge(sketches_of_quarter[0] for sketches_of_quarter in pairs),
            merge(sketches_of_quarter[1] for sketches_of_quarter in pairs),
        )
        for key, pairs in sketches.items()
    }


VERSION: Final = 6
"""The version of the stored results; a new version recomputes them from the beginning."""

STEP: Final = 50_000
"""The part of the log in one transaction: it holds the write lock for about 40 ms."""

_DELETING: Final = -1
_DELETE_BATCH: Final = 5_000
_LOOK_WIDGET: Final = "look"  # the widget
_NO_PLACE: Final[TouchpointPlace] = (None, None, None, None)

LookItemCounts = Mapping[tuple[str, str, int], tuple[int, int]]
TouchpointCounts = Mapping[tuple[str, str, str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class AttributionStepResult:
    """The result of processing one part of the log."""

    before: AttributionProgress
    after: AttributionProgress
    removed: Sequence[int]  # facts that changed or no longer exist
    outcomes: Sequence[AttributedOutcome]
    days: Sequence[str]  # the days whose sums change
    sums: AttributionDaySums
    touchpoint_counts: TouchpointCounts
    look_counts: LookItemCounts
    reach_sketches: Mapping[ReachKey, tuple[bytes, bytes]]
    searches: Sequence[DailySearchClicks]
    hours: Sequence[Row]


@dataclass
class Attributor:
    """Reads stores' logs incrementally; caches the touchpoint indexes of recent stores.

    `folder` holds the files of touchpoint indexes: derived data, safe to delete.
    """

    database: Database
    folder: Path
    step: int = STEP
    segment_length: int = SEGMENT_LENGTH
    _touchpoint_indexes: OrderedDict[StoreId, TouchpointIndex] = field(
        default_factory=OrderedDict
    )
    _codes: VisitorHashCache = field(default_factory=VisitorHashCache)

    def catch_up(self, store: Store, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Process the log until its end or `is_over`; return whether the end was reached.

        Several processes may do this at once: if another process committed the same step
        first, this one is rolled back.

        Raises:
            StoreDeletedError: when the store was deleted.
            StorageError: committed steps remain.
        """
        while self._take_step_if_behind(store):
            if is_over():
                return False
        return True

    def _take_step_if_behind(self, store: Store) -> bool:
        """Take one step; return whether more may follow."""
        settings = store.settings
        target = AttributionProgress(0, settings.timezone, VERSION, settings.language)
        with self.database.reading() as connection:
            repository = AttributionRepository(connection, store.store_id)
            position, head = repository.progress(), repository.head()
            if position is not None and position.seq >= 0 and position[1:] == target[1:]:
                if position.seq >= head:
                    return False
                index = self._get_or_open_touchpoint_index(store.store_id)
                if not index.try_read_up_to(repository, position.seq):
                    return True
                up_to = min(head, position.seq + self.step, index.end)
                step = _advance_index_and_compute_step(
                    repository, index, position, up_to, settings.zone
                )
                index.close_segment_if_full(repository)
            else:
                step = None
        if step is not None:
            self._store_step_unless_stored(store.store_id, step)
        elif position is None:
            with self.database.transaction(synced=False) as transaction:
                AttributionRepository(transaction, store.store_id).begin_progress(target)
        else:
            self._delete_batch_or_restart(store.store_id, position, target)
        return True

    def _store_step_unless_stored(
        self, store_id: StoreId, step: AttributionStepResult
    ) -> None:
        with self.database.transaction(synced=False) as transaction:
            repository = AttributionRepository(transaction, store_id)
            if not repository.advance_progress(step.before, step.after):
                return
            repository.replace_outcomes(self.database, step.removed, step.outcomes)
            repository.replace_day_sums(self.database, step.days, step.sums)
            repository.add_touchpoint_counts(step.touchpoint_counts)
            repository.add_look_item_counts(step.look_counts)
            repository.replace_reach_sketches(self.database, step.reach_sketches)
            repository.replace_daily_search_clicks(self.database, step.searches)
            repository.add_event_counts(step.hours)

    def _delete_batch_or_restart(
        self, store_id: StoreId, position: AttributionProgress, target: AttributionProgress
    ) -> None:
        """Delete the results in batches, and reset the position to the beginning."""
        with self.database.transaction(synced=False) as transaction:
            repository = AttributionRepository(transaction, store_id)
            deleting = position._replace(seq=_DELETING)
            if repository.advance_progress(
                position, deleting
            ) and repository.delete_open_outcomes_then_sums(_DELETE_BATCH):
                repository.advance_progress(deleting, target)

    def _get_or_open_touchpoint_index(self, store_id: StoreId) -> TouchpointIndex:
        index = self._touchpoint_indexes.pop(store_id, None)
        if index is None:
            index = TouchpointIndex(
                self.folder / store_id, self._codes, self.segment_length
            )
        self._touchpoint_indexes[store_id] = index
        while (
            len(self._touchpoint_indexes) > 1
            and self._size() > RegisteredCache.TOUCHPOINTS.limit
        ):
            self._touchpoint_indexes.popitem(last=False)
        return index

    def _size(self) -> int:
        return sum(
            index.touchpoints_in_memory for index in self._touchpoint_indexes.values()
        )


def stores_to_attribute(database: Database, accounts: AccountDirectory) -> list[StoreId]:
    """Return the stores with unread records, or another time zone, language or format."""
    with database.reading() as connection:
        rows = attribution_backlogs_of_all_stores(connection)
    return [
        row.store_id
        for row in rows
        if (store := accounts.by_id(row.store_id)) is not None
        and row.head > 0
        and row.progress
        != AttributionProgress(
            row.head, store.settings.timezone, VERSION, store.settings.language
        )
    ]


def _advance_index_and_compute_step(
    repository: AttributionRepository,
    index: TouchpointIndex,
    position: AttributionProgress,
    up_to: int,
    zone: tzinfo,
) -> AttributionStepResult:
    settled = repository.settled_days()
    touchpoints, searches = repository.touchpoints_and_search_clicks(position.seq, up_to)
    index.add(touchpoints, searches, up_to)
    if settled.before_ms:
        touchpoints = columns_since(touchpoints, settled.before_ms)
        searches = columns_since(searches, settled.before_ms)
    days = LocalDayMapper(zone, settled.first_open_day)
    intents = IntentByTerm(position.language)
    carts = repository.log.cart_additions(position.seq, up_to)
    lines = repository.sold_lines.changed_live_lines(position.seq, up_to)
    changed = [row[0] for row in lines if row[0] <= position.seq or settled.before_ms]
    stored_outcomes = repository.outcomes_of_facts(changed) if changed else []
    outcome_rows = [(CART, *row, None) for row in carts]
    outcome_rows += [(SALE, *row[:-1]) for row in lines if not row[-1]]
    open_rows = [row for row in outcome_rows if row[2] >= settled.before_ms]
    outcomes = _attribute_outcomes(repository, index, open_rows, days, intents)
    outcomes += _settled_outcomes_with_new_values(
        [row for row in outcome_rows if row[0] == SALE and row[2] < settled.before_ms],
        stored_outcomes,
        LocalDayMapper(zone),
    )
    removed_facts = {outcome.fact for outcome in stored_outcomes}
    changed_days = sorted({outcome.day for outcome in (*outcomes, *stored_outcomes)})
    return AttributionStepResult(
        before=position,
        after=position._replace(seq=up_to),
        removed=sorted(removed_facts),
        outcomes=outcomes,
        days=changed_days,
        sums=_recompute_day_sums(repository, changed_days, outcomes, removed_facts),
        touchpoint_counts=_touchpoint_counts(touchpoints, days),
        look_counts=_look_item_counts(touchpoints, days),
        reach_sketches=updated_reach_sketches(repository, touchpoints, index.codes, days),
        searches=updated_daily_search_clicks(
            repository, searches, index.codes, days, intents
        ),
        hours=[
            row
            for row in repository.log.counts_by_hour_and_kind(position.seq, up_to)
            if row[0] >= settled.first_open_hour
        ],
    )


def _recompute_day_sums(
    repository: AttributionRepository,
    days: Sequence[str],
    new_outcomes: Sequence[AttributedOutcome],
    removed_facts: Collection[int],
) -> AttributionDaySums:
    """Return the sums of days of the stored outcomes, without removed ones, and new ones.

    Day by day: an uploaded file may change a whole year.
    """
    by_day: dict[str, list[AttributedOutcome]] = defaultdict(list)
    for outcome in new_outcomes:
        by_day[outcome.day].append(outcome)
    sums = AttributionDaySums([], [], [], [])
    for day in days:
        remaining = [
            outcome
            for outcome in repository.outcomes_on(day)
            if outcome.fact not in removed_facts
        ]
        sums_of_day = sum_outcomes_by_day([*remaining, *by_day[day]])
        sums.credited.extend(sums_of_day.credited)
        sums.items.extend(sums_of_day.items)
        sums.totals.extend(sums_of_day.totals)
        sums.searched.extend(sums_of_day.searched)
    return sums


def _attribute_outcomes(
    repository: AttributionRepository,
    index: TouchpointIndex,
    outcome_rows: Sequence[Row],
    days: LocalDayMapper,
    intents: IntentByTerm,
) -> list[AttributedOutcome]:
    """Return the outcomes of carts and order lines, each with its attributed touchpoint.

    Rows are (kind, seq, ts, item, shopper, quantity, value, currency, basket).
    """
    if not outcome_rows:
        return []
    rows_with_owner = _indexed_rows_per_shopper_id(repository, outcome_rows)
    outcomes = _to_outcome_arrays(index, [row for _, row in rows_with_owner])
    owners = np.array([owner for owner, _ in rows_with_owner])
    touchpoints = attribute_last_touch(index.segments, outcomes).best_per_owner(owners)
    search_clicks = last_search_clicks(index.segments, outcomes).best_per_owner(owners)
    places = repository.log.touchpoint_places(
        touchpoints.seqs[touchpoints.seqs >= 0].tolist()
    )
    terms = repository.log.terms_of_events(
        search_clicks.seqs[search_clicks.seqs >= 0].tolist()
    )
    intent_by_search = {seq: intents[term] for seq, term in terms.items()}
    columns = zip(
        outcome_rows,
        touchpoints.seqs.tolist(),
        touchpoints.times.tolist(),
        touchpoints.clicked.tolist(),
        search_clicks.seqs.tolist(),
        strict=True,
    )
    return [
        _to_attributed_outcome(row, _Touchpoint(*touchpoint), places, days)._replace(
            search=seq if seq >= 0 else None, intent=intent_by_search.get(seq, "")
        )
        for row, *touchpoint, seq in columns
    ]


def _settled_outcomes_with_new_values(
    line_rows: Sequence[Row], stored: Iterable[AttributedOutcome], days: LocalDayMapper
) -> list[AttributedOutcome]:
    """Return lines of settled days with their present value and first touchpoint."""
    stored_by_fact = {outcome.fact: outcome for outcome in stored}
    updated = []
    for row in line_rows:
        outcome = _to_attributed_outcome(row, _Touchpoint(-1, 0, clicked=False), {}, days)
        if (first := stored_by_fact.get(outcome.fact)) is not None:
            outcome = first._replace(
                item=outcome.item,
                basket=outcome.basket,
                units=outcome.units,
                value=outcome.value,
                currency=outcome.currency,
            )
        updated.append(outcome)
    return updated


def _indexed_rows_per_shopper_id(
    repository: AttributionRepository, outcome_rows: Sequence[Row]
) -> list[tuple[int, Row]]:
    """Return the rows and their places, and each again under its customer's other ids."""
    rows = list(enumerate(outcome_rows))
    ids_by_shopper = repository.other_ids(row[4] for row in outcome_rows if row[4])
    rows += [
        (index, (*row[:4], other_id.name, *row[5:]))
        for index, row in enumerate(outcome_rows)
        for other_id in ids_by_shopper.get(row[4], ())
        if other_id.since_seq < row[1]
    ]
    return rows


def _to_outcome_arrays(
    index: TouchpointIndex, outcome_rows: Sequence[Row]
) -> OutcomesToAttribute:
    _, seqs, times, items, shoppers, *_ = zip(*outcome_rows, strict=True)
    return OutcomesToAttribute(
        hash_shopper_item_pairs(index.codes.of(shoppers), np.array(items, np.int64)),
        np.array(seqs, np.int64),
        np.array(times, np.int64),
        np.array([bool(name) for name in shoppers]),
    )


class _Touchpoint(NamedTuple):
    """The impression or click that an outcome is attributed to; `seq` is -1 for none."""

    seq: int
    touched_at: int
    clicked: bool


def _to_attributed_outcome(
    row: Row,
    touchpoint: _Touchpoint,
    places: Mapping[int, TouchpointPlace],
    days: LocalDayMapper,
) -> AttributedOutcome:
    kind, fact, ts, item, _, quantity, value, currency, basket = row
    has_touchpoint = touchpoint.seq >= 0
    widget, source, position, look = places[touchpoint.seq] if has_touchpoint else _NO_PLACE
    return AttributedOutcome(
        fact=fact,
        kind=kind,
        day=days.day_of(ts),
        ts=ts,
        item=item,
        basket=basket,
        units=1 if quantity is None else quantity,
        value=value or 0.0,
        currency=currency or "",
        touch=touchpoint.seq if has_touchpoint else None,
        clicked=touchpoint.clicked if has_touchpoint else None,
        touched_at=touchpoint.touched_at if has_touchpoint else None,
        widget=widget or "",
        source=source or "",
        position=position or 0,
        search=None,
        intent="",
        look=(look or "") if widget == _LOOK_WIDGET else "",
    )


def _touchpoint_counts(
    touchpoints: TouchpointColumns, days: LocalDayMapper
) -> TouchpointCounts:
    """Return impression and click counts by day, widget, source and position."""
    quarters = (np.array(touchpoints.times, np.int64) // QUARTER_MS).tolist()
    counts_by_quarter = Counter(
        zip(
            quarters,
            touchpoints.widgets,
            touchpoints.sources,
            touchpoints.positions,
            touchpoints.kinds,
            strict=True,
        )
    )
    counts: dict[tuple[str, str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for (quarter, widget, source, position, kind), count in counts_by_quarter.items():
        day = days.day_of(quarter * QUARTER_MS)
        place = (day, widget or "", source or "", position or 0)
        counts[place][kind == _CLICK] += count
    return {place: (shown, clicked) for place, (shown, clicked) in counts.items()}


def _look_item_counts(
    touchpoints: TouchpointColumns, days: LocalDayMapper
) -> LookItemCounts:
    """Return each product's impression and click counts in each look, by day."""
    counts: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    columns = zip(
        touchpoints.times,
        touchpoints.widgets,
        touchpoints.looks,
        touchpoints.items,
        touchpoints.kinds,
        strict=True,
    )
    for time, widget, look, item, kind in columns:
        if widget == _LOOK_WIDGET and look:
            day = days.day_of(time // QUARTER_MS * QUARTER_MS)
            counts[day, look, item][kind == _CLICK] += 1
    return {key: (shown, clicked) for key, (shown, clicked) in counts.items()}
