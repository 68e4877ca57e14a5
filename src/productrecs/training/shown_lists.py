"""Shown lists: each list's shopper, page, products and outcomes."""

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.engines.item_impression_stats import ItemStats
from productrecs.engines.ranking.ranker_training import LAST_POSITION
from productrecs.records.events.event import EventKind
from productrecs.records.events.shopper_history_cache import RecentImpressions
from productrecs.training.repository import RankingFact

_OUTCOME_BY_EVENT: Final = {
    int(EventKind.REC_CLICK): 1,
    int(EventKind.ADD_TO_CART): 2,
    int(EventKind.BUY): 3,
}
_SHOWN: Final = int(EventKind.REC_IMPRESSION)
_OUTCOME_WINDOW_MS: Final = DAY_MS
_PAGE_MS: Final = 30 * MINUTE_MS  # a later list is not attributed to the last viewed page
_MIN_ITEMS: Final = 3
_RECENT: Final = 50
_OPEN_LISTS: Final = 8  # of a shopper, that later interactions may be attributed to
_MAX_SHOPPERS: Final = 50_000  # maximum number of shoppers in memory


@dataclass(slots=True)
class ShownList:
    """An impression of a list; parallel lists, one entry a product."""

    ts: int
    person: str
    page: int | None  # the last product that the shopper viewed before
    recent: tuple[int, ...]  # newest last
    items: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # from 1
    rates: list[float] = field(default_factory=list)  # `ItemStats.rates` at that time
    ignored: dict[int, float] = field(default_factory=dict)
    outcomes: list[int] = field(
        default_factory=list
    )  # 0 nothing, 1 click, 2 cart, 3 purchase


@dataclass(slots=True)
class _Shopper:
    seen: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT))
    seen_at: int = 0
    shown: RecentImpressions = field(default_factory=RecentImpressions)
    lists: deque[ShownList] = field(default_factory=lambda: deque(maxlen=_OPEN_LISTS))


class ShownListReader:
    """Reads facts in log order and collects the shown lists."""

    def __init__(self) -> None:
        """Start before the first log entry."""
        self.with_outcome: list[
            ShownList
        ] = []  # lists with at least one outcome, in log order
        self.lists = 0
        self.shown = [0] * LAST_POSITION  # impressions by place
        self.clicked = [0] * LAST_POSITION
        self._tally = ClickRates()
        self._shoppers: OrderedDict[str, _Shopper] = OrderedDict()
        self._open: ShownList | None = None
        self._next_seq = -1

    def read(self, facts: Iterable[RankingFact], purchases: Iterable[RankingFact]) -> None:
        """Read all log entries."""
        for fact in heapq.merge(facts, purchases, key=_by_seq):
            person = self._shopper_of(fact.person)
            if fact.kind == _SHOWN:
                self._show(fact, person)
            else:
                self._apply_event(fact, person)
        self.with_outcome.sort(key=_by_time)

    def _show(self, fact: RankingFact, person: _Shopper) -> None:
        open_lists = self._open
        if (
            open_lists is None
            or fact.seq != self._next_seq
            or (open_lists.person, open_lists.ts) != (fact.person, fact.ts)
        ):
            page = person.seen[-1] if fact.ts - person.seen_at < _PAGE_MS else None
            open_lists = self._open = ShownList(
                fact.ts, fact.person, page, tuple(person.seen)
            )
            open_lists.ignored = person.shown.ignored(fact.ts)
            person.lists.append(open_lists)
            self.lists += 1
        self._next_seq = fact.seq + 1
        open_lists.items.append(fact.item)
        open_lists.places.append(fact.position or 0)
        open_lists.rates.append(self._tally.rate(fact.item))
        open_lists.outcomes.append(0)
        if fact.position:
            self.shown[min(fact.position, LAST_POSITION) - 1] += 1
        person.shown.show(fact.item, fact.ts)
        self._tally.show(fact.item, fact.position)

    def _apply_event(self, fact: RankingFact, person: _Shopper) -> None:
        person.shown.add_action(fact.item, is_purchase=fact.kind == EventKind.BUY)
        person.seen.append(fact.item)
        person.seen_at = fact.ts
        outcome = _OUTCOME_BY_EVENT.get(fact.kind)
        if outcome is None:
            return
        if outcome == 1:
            self._tally.click(fact.item)
        for one in reversed(person.lists):
            if fact.ts - one.ts <= _OUTCOME_WINDOW_MS and fact.item in one.items:
                self._record_outcome(one, one.items.index(fact.item), outcome)
                return

    def _record_outcome(self, one: ShownList, time_ms: int, outcome: int) -> None:
        if min(one.places) < 1 or len(one.items) < _MIN_ITEMS:
            return
        if not any(one.outcomes):
            self.with_outcome.append(one)
        if outcome == 1 and not one.outcomes[time_ms]:
            self.clicked[min(one.places[time_ms], LAST_POSITION) - 1] += 1
        one.outcomes[time_ms] = max(one.outcomes[time_ms], outcome)

    def _shopper_of(self, name: str) -> _Shopper:
        person = self._shoppers.get(name)
        if person is None:
            person = self._shoppers[name] = _Shopper()
            if len(self._shoppers) > _MAX_SHOPPERS:
                self._shoppers.popitem(last=False)
        else:
            self._shoppers.move_to_end(name)
        return person


class ClickRates:
    """Click rates of products up to the current fact."""

    def __init__(self) -> None:
        """Start without counts."""
        self._examined: dict[int, float] = {}
        self._clicks: dict[int, int] = {}
        self._total_examined = 0.0
        self._all_clicks = 0

    def show(self, item: int, place: int | None) -> None:
        """Count an impression."""
        examined = ItemStats.examination_probability(place)
        self._examined[item] = self._examined.get(item, 0.0) + examined
        self._total_examined += examined

    def click(self, item: int) -> None:
        """Count a click."""
        self._clicks[item] = self._clicks.get(item, 0) + 1
        self._all_clicks += 1

    def rate(self, item: int) -> float:
        """Return a product's click rate relative to all, as `ItemStats.rates` does."""
        rate: float = ItemStats.rate(
            self._clicks.get(item, 0),
            self._examined.get(item, 0.0),
            self._all_clicks,
            self._total_examined,
        )
        return rate


def _by_seq(fact: RankingFact) -> int:
    return fact.seq


def _by_time(one: ShownList) -> int:
    return one.ts
