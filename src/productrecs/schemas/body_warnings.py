"""Body warnings: fields that the schema of a body lacks, and stored values that look wrong.

The interface has unknown fields dropped and odd values kept, so a reply only reports them.
"""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from productrecs.tenancy.accounts.currency_language_and_zone_codes import known_codes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pydantic import BaseModel

MAX_WARNINGS: Final = 20
_MAX_UNKNOWN: Final = 5  # names, since the nearest known name of each is looked for
_MAX_NAME: Final = 40  # characters
_MAX_CODE: Final = 4  # characters of a currency that is meant as a code
_MEANT_NAMES: Final = MappingProxyType(
    {
        "amount": "value",
        "barcode": "gtin",
        "category": "categories",
        "colour": "color",
        "compare_at_price": "list_price",
        "count": "num",
        "customer_id": "user_id",
        "ean": "gtin",
        "image": "image_url",
        "image_link": "image_url",
        "inventory": "stock_qty",
        "limit": "num",
        "link": "product_url",
        "name": "title",
        "original_price": "list_price",
        "picture": "image_url",
        "product_id": "item_id",
        "qty": "quantity",
        "quantity": "stock_qty",
        "query": "q",
        "regular_price": "list_price",
        "stock": "stock_qty",
        "type": "event",
        "unit_price": "price",
        "url": "product_url",
    }
)
"""What other systems call the fields and parameters."""


class BodyWarnings:
    """Counts what looks wrong in the objects of one body."""

    def __init__(self) -> None:
        """Start without warnings."""
        self._unknown: Counter[str] = Counter()
        self._known: dict[str, Collection[str]] = {}  # by unknown name
        self._odd: Counter[str] = Counter()

    def count_unknown_fields(self, model: type[BaseModel], body: object) -> None:
        """Count the fields of `body` that `model` lacks."""
        known = model.__pydantic_fields__.keys()
        if isinstance(body, dict) and not body.keys() <= known:
            unknown = body.keys() - known
            self._unknown.update(unknown)
            for name in unknown:
                self._known.setdefault(name, known)

    def count_negative_amounts(self, body: object, names: Iterable[str]) -> None:
        """Count the amounts of money below zero."""
        for name in names:
            amount = getattr(body, name)
            if amount is not None and amount < 0:
                self._odd[f"{name} is negative and was stored so"] += 1

    def count_unknown_currency(self, currency: str | None) -> None:
        """Count a currency such as EURO; longer texts are units of a shop, as POINTS."""
        if currency is None or len(currency) > _MAX_CODE:
            return
        if currency not in known_codes().currencies:
            self._odd[
                f"currency {currency!r} is not a code of ISO 4217, such as EUR: its "
                "revenue is not added to that of the store's currency"
            ] += 1

    def count_email_as_user_id(self, user_id: str | None) -> None:
        """Count a customer's id that is an e-mail address."""
        if user_id is not None and "@" in user_id:
            self._odd[
                "user_id looks like an e-mail address: send the shop's own customer id, "
                "on pages and in orders"
            ] += 1

    def texts(self) -> list[str]:
        """Return the warnings, the most frequent of each kind first."""
        if not self._unknown and not self._odd:
            return []
        unknown = [
            (describe_unknown_name("field", name, self._known[name]), count)
            for name, count in self._unknown.most_common(_MAX_UNKNOWN)
        ]
        counted = [*unknown, *self._odd.most_common(MAX_WARNINGS - _MAX_UNKNOWN)]
        return [
            text if count == 1 else f"{text} ({count:,} times)" for text, count in counted
        ]


def describe_unknown_name(kind: str, name: str, known: Collection[str]) -> str:
    """Return that an unknown field or parameter was ignored, and what is near it."""
    shown = name[:_MAX_NAME]
    lower = shown.lower().replace("-", "_")
    meant = _MEANT_NAMES.get(lower)
    if meant not in known:
        meant = next(iter(get_close_matches(lower, known, 1, 0.75)), None)
    guess = "" if meant is None else f"; did you mean {meant!r}?"
    return f"unknown {kind} {shown!r} was ignored{guess}"
