"""Price lists: prices of a store's items by market and customer group.

A list is named by its currency (`EUR`), by a customer group (`group:trade`, in the store's
currency), or by both (`USD:group:trade`).
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from productrecs.core.errors import ProductRecsError

MAX_PRICE_LISTS: Final = 50
"""The most price lists of a store: each takes 16 bytes an item of the catalog in memory."""

MAX_NAME: Final = 50
NAME_FORMS: Final = (
    "a price list is a currency such as EUR, a customer group such as group:trade, or "
    "both such as USD:group:trade"
)
NO_PRICES: Final = "[]"
NAME_PATTERN: Final = r"^([A-Za-z]{3}|([A-Za-z]{3}:)?group:[A-Za-z0-9_-]{1,40})$"
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_encode: Final = msgspec.json.Encoder().encode
Amounts: TypeAlias = npt.NDArray[np.float64]


class PriceListNameError(ProductRecsError):
    """A name of a price list has an invalid form."""


class UnknownPriceListError(ProductRecsError):
    """No item of the store has a price in this list."""


class TooManyPriceListsError(ProductRecsError):
    """The push would give the store more than 50 price lists."""


class PriceListName(NamedTuple):
    """The name of a price list, in parts."""

    currency: str  # empty: the store's
    group: str  # empty: everybody

    def __str__(self) -> str:
        """Return the name as it is stored: `EUR`, `group:trade` or `USD:group:trade`."""
        parts = (self.currency, f"group:{self.group}" if self.group else "")
        return ":".join(filter(None, parts))


def parse_list_name(text: str) -> PriceListName:
    """Return the parts of a price list's name; case does not matter.

    Raises:
        PriceListNameError: when it has another form.
    """
    if re.fullmatch(NAME_PATTERN, text) is None:
        message = f"{text[:MAX_NAME]!r} is no price list: {NAME_FORMS}"
        raise PriceListNameError(message)
    start, _, group = text.rpartition("group:")
    if group == text:
        return PriceListName(text.upper(), "")
    return PriceListName(start.removesuffix(":").upper(), group.lower())


class PriceListEntry(NamedTuple):
    """An item's price in one list; in a push, a list without a price loses the item."""

    name: str
    price: float | None
    list_price: float | None = None  # before a reduction


ListPrices: TypeAlias = tuple[PriceListEntry, ...]


def as_list_prices(rows: Iterable[Sequence[Any]]) -> ListPrices:
    """Return prices from their stored form: a name, a price and a price before it."""
    return tuple(PriceListEntry(*row) for row in rows)


def merge_prices(before: ListPrices, pushed: ListPrices) -> ListPrices:
    """Return an item's prices after a push.

    Lists that the push does not name keep theirs; a push without any removes all.
    """
    if not pushed:
        return ()
    merged = {one.name: one for one in (*before, *pushed)}
    return tuple(merged[name] for name in sorted(merged) if merged[name].price is not None)


def price_list_counts_after(
    counts: Mapping[str, int], changes: Mapping[str, int]
) -> dict[str, int]:
    """Return the number of items in each list after a push.

    Raises:
        TooManyPriceListsError: when there are more than 50 lists.
    """
    names = dict.fromkeys((*counts, *changes))
    sums = {name: counts.get(name, 0) + changes.get(name, 0) for name in names}
    found = {name: count for name, count in sums.items() if count > 0}
    if len(found) > MAX_PRICE_LISTS:
        message = (
            f"the store would have {len(found)} price lists and may have "
            f"{MAX_PRICE_LISTS}; nothing of this push was stored. Use one list for each "
            "currency and customer group, and remove those that are no longer used: send "
            "null as their price"
        )
        raise TooManyPriceListsError(message)
    return found


class PriceLists:
    """All lists of one catalog: each item's price and list price, by item number."""

    def __init__(self) -> None:
        """Start without lists."""
        self._columns: dict[str, Amounts] = {}  # [2, items]; NaN where there is no price

    def put(self, number: int, prices_json: str) -> None:
        """Replace the prices of an item by those of its JSON."""
        if prices_json == NO_PRICES and not self._columns:
            return
        for column in self._columns.values():
            if number < column.shape[1]:
                column[:, number] = np.nan
        for one in as_list_prices(json.loads(prices_json)):
            column = self._columns.get(one.name, _NO_COLUMN)
            if number >= column.shape[1]:
                column = self._columns[one.name] = _widened(column, number)
            column[:, number] = _amount(one.list_price), _amount(one.price)

    def names(self) -> list[str]:
        """Return the names of the lists that hold an item, sorted."""
        columns = sorted(self._columns.items())
        return [name for name, column in columns if np.isfinite(column[1]).any()]

    def prices_with_fallbacks(
        self, name: PriceListName, usual: tuple[Amounts, Amounts], currency: str
    ) -> tuple[Amounts, Amounts]:
        """Return price and list price by item number; NaN where there is none.

        An item without a price in the list of a customer group has that of the list's
        currency, then its usual price if this is in the list's `currency` too.

        Raises:
            UnknownPriceListError: when the list holds no item.
        """
        prices, list_prices = self._prices_and_list_prices(str(name), len(usual[0]))
        if not np.isfinite(prices).any():
            message = f"no item has a price in the list {name}"
            raise UnknownPriceListError(message)
        currency_of_list = name.currency or currency
        fallbacks = (
            [self._prices_and_list_prices(currency_of_list, len(prices))]
            if name.group
            else []
        )
        if currency_of_list == currency:
            fallbacks.append(usual)
        for other_prices, other_list_prices in fallbacks:
            is_missing = np.isnan(prices)
            prices = np.where(is_missing, other_prices, prices)
            list_prices = np.where(is_missing, other_list_prices, list_prices)
        return prices, list_prices

    def memory_bytes(self) -> int:
        """Return the memory size of the lists."""
        return sum(column.nbytes for column in self._columns.values())

    def _prices_and_list_prices(self, name: str, size: int) -> tuple[Amounts, Amounts]:
        column = self._columns.get(name, _NO_COLUMN)[:, :size]
        found = np.full((2, size), np.nan)
        found[:, : column.shape[1]] = column
        return found[1], found[0]


class PricedCards:
    """The cards of a catalog with the prices and the currency of one list.

    They are made at each access: a list's products are few, and its bodies are cached.
    """

    def __init__(
        self, cards: Sequence[bytes | None], prices: Amounts, currency: str
    ) -> None:
        """Wrap `cards`: JSON objects with a `price`, without their closing brace."""
        self._cards = cards
        self._prices = prices
        self._currency = currency

    def __len__(self) -> int:
        """Return the number of cards."""
        return len(self._cards)

    def __getitem__(self, item: int) -> bytes | None:
        """Return the card of an item number; None for an item without one."""
        card = self._cards[item]
        if card is None:
            return None
        price = float(self._prices[item]) if item < len(self._prices) else math.nan
        known = None if math.isnan(price) else int(price) if price.is_integer() else price
        fields = _decode(card + b"}") | {"price": known, "currency": self._currency}
        return _encode(fields)[:-1]


Cards: TypeAlias = Sequence[bytes | None] | PricedCards
_NO_COLUMN: Final = np.zeros((2, 0))


def _widened(column: Amounts, number: int) -> Amounts:
    """Return a column that has a place for `number`, and some more."""
    widened = np.full((2, max(number + 1, int(column.shape[1] * 1.25), 64)), np.nan)
    widened[:, : column.shape[1]] = column
    return widened


def _amount(price: float | None) -> float:
    return math.nan if price is None else price
