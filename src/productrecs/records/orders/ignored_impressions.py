"""Recent impressions: products that a shopper was shown recently without a click.

An impression counts until the shopper acts on its product: a click, a view, the cart or a
purchase. Memory is bounded: the last hundred impressions, and none from before the
shopper's last three hundred other actions.
"""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from productrecs.core.clock import DAY_MS

SHOWN_LIMIT: Final = 100
ACTION_LIMIT: Final = 300  # later actions after which an impression is dropped
HALF_LIFE_MS: Final = 7 * DAY_MS  # since the product's last impression
_MIN_IMPRESSIONS: Final = 2  # impressions; products with fewer are not reported
_ACTED_ON: Final = -1


def _numbers() -> "array[int]":
    return array("i")


def _empty_times() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class RecentImpressions:
    """One shopper's last impressions, newest last: parallel arrays."""

    items: "array[int]" = field(default_factory=_numbers)  # _ACTED_ON after an action
    times: "array[int]" = field(default_factory=_empty_times)  # UTC ms
    actions_at: "array[int]" = field(
        default_factory=_numbers
    )  # `action_count` at the impression
    action_count: int = 0  # actions so far, without impressions and purchases
    newest_ms: int = 0  # of all facts, including impressions

    def show(self, item: int, ts: int) -> None:
        """Add an impression."""
        self.items.append(item)
        self.times.append(ts)
        self.actions_at.append(self.action_count)
        if len(self.items) > SHOWN_LIMIT:
            self._drop(len(self.items) - SHOWN_LIMIT)

    def add_action(self, item: int | None, *, is_purchase: bool) -> None:
        """Add any other action, with or without a product."""
        if not self.items:
            self.action_count += not is_purchase
            return
        if item is not None and item in self.items:
            for place, shown in enumerate(self.items):
                if shown == item:
                    self.items[place] = _ACTED_ON
        if not is_purchase:
            self.action_count += 1
            old = 0
            while (
                old < len(self.items)
                and self.action_count - self.actions_at[old] >= ACTION_LIMIT
            ):
                old += 1
            self._drop(old)

    def ignored(self, now_ms: int) -> dict[int, float]:
        """Return the impression counts of products shown more than twice, discounted.

        A count halves with every week since the product was last shown.
        """
        if len(self.items) <= _MIN_IMPRESSIONS:
            return {}
        last = dict(zip(self.items, self.times, strict=True))
        return {
            item: times * 0.5 ** (max(now_ms - last[item], 0) / HALF_LIFE_MS)
            for item, times in Counter(self.items).items()
            if times > _MIN_IMPRESSIONS and item != _ACTED_ON
        }

    def _drop(self, oldest: int) -> None:
        for column in (self.items, self.times, self.actions_at):
            del column[:oldest]
