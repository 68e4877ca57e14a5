"""Search attribution parameters: source, medium and campaign of assistants' searches.

An assistant may say in `attribution` where its user comes from. Only the names of campaigns
are counted. Click ids and other values that may name a person are never stored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from productrecs.core.clock import DAY_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from productrecs.core.ids import StoreId

PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "source": ("utm_source", "campaign_source", "source"),
    "medium": ("utm_medium", "campaign_medium", "medium"),
    "campaign": ("utm_campaign", "campaign_name", "campaign"),
}
"""The counted parameters, each with the names that assistants send it by."""

MAX_VALUES: Final = 50
"""The most values of one parameter of one store; further ones are `other`."""

OTHER: Final = "other"
_VALUE: Final = re.compile(r"[^\W_][\w .+-]{0,39}")
_MAX_DIGITS: Final = 6  # a year and a month; ids, phone and card numbers have more


class AttributedAssistantSearch(NamedTuple):
    """A search with one parameter of its attribution, on a day (UTC, since 1970)."""

    store_id: StoreId
    parameter: str
    value: str
    day: int

    @property
    def key(self) -> None:
        """Every search counts."""


def searches_to_count_by_attribution(
    store_id: StoreId, attribution: Mapping[str, str] | None, now_ms: int
) -> list[AttributedAssistantSearch]:
    """Return what to count of one search: each of `PARAMETERS` that its attribution has."""
    searches = []
    for parameter, names in PARAMETERS.items():
        texts = ((attribution or {}).get(name, "").strip() for name in names)
        text = next(filter(None, texts), "")
        if text:
            value = normalized_value_or_other(text)
            searches.append(
                AttributedAssistantSearch(store_id, parameter, value, now_ms // DAY_MS)
            )
    return searches


def normalized_value_or_other(text: str) -> str:
    """Return a value as it is counted; `other` if it may name a person or is too long."""
    value = " ".join(text.split()).lower()
    has_few_digits = sum(map(str.isdigit, value)) <= _MAX_DIGITS
    return value if _VALUE.fullmatch(value) and has_few_digits else OTHER
