"""Bundle: two to four products that a merchant offers as one set, with its price."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from productrecs.core.errors import ProductRecsError

MIN_PARTS: Final = 2
MAX_PARTS: Final = 4
MAX_BUNDLES: Final = 1_000
MAX_NAME: Final = 200
MAX_ITEM_ID: Final = 255
_MAX_AMOUNT: Final = 1e12
_WHOLE: Final = 100  # percent
_CENT: Final = Decimal("0.01")


class BundleState(StrEnum):
    """The merchant's decision on a set of products."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"  # not served, and not proposed again


class BundleError(ProductRecsError):
    """The bundle is invalid; `field` is the part to change."""

    def __init__(self, message: str, field: str) -> None:
        """Take the part of the bundle that is invalid."""
        super().__init__(message)
        self.field = field


class UnknownBundleError(ProductRecsError):
    """The store has no bundle with that number."""


class BundleChangedError(ProductRecsError):
    """The bundle was changed since the caller read it; nothing was stored."""


@dataclass(frozen=True, slots=True)
class BundleContent:
    """The merchant's part of a bundle; at most one of the discounts is given.

    `items` are the ids of its products, in order. `proposed` are those of the proposal that
    the merchant changed before accepting it.
    """

    items: tuple[str, ...]
    name: str = ""
    state: BundleState = BundleState.ACCEPTED
    discount_percent: float | None = None
    discount_amount: float | None = None  # in the store's currency
    proposed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A stored bundle; `version` grows with every change in its store."""

    bundle_id: int
    content: BundleContent
    version: int
    created_at: int
    updated_at: int


class BundlePrice(NamedTuple):
    """The sum of the parts' prices, and the price after the discount.

    Both are rounded to cents. They are None while a part has no price.
    """

    total: float | None
    price: float | None


def bundle_price(prices: Sequence[float | None], content: BundleContent) -> BundlePrice:
    """Return the sum and the price of parts with these prices; NaN is an unknown price."""
    total = _sum(prices)
    if total is None:
        return BundlePrice(None, None)
    price = total
    if content.discount_percent is not None:
        price = total * (_WHOLE - Decimal(str(content.discount_percent))) / _WHOLE
    elif content.discount_amount is not None:
        price = total - Decimal(str(content.discount_amount))
    return BundlePrice(_cents(total), _cents(price))


def sum_of(amounts: Sequence[float | None]) -> float | None:
    """Return the sum of amounts, rounded to cents; None if one is unknown."""
    total = _sum(amounts)
    return None if total is None else _cents(total)


def is_offerable(price: BundlePrice, content: BundleContent) -> bool:
    """Return whether the price can be shown: a discount leaves something to pay."""
    has_discount = (
        content.discount_percent is not None or content.discount_amount is not None
    )
    return not has_discount or (price.price is not None and price.price > 0)


def validate_bundle(content: BundleContent) -> BundleContent:
    """Return the content in its stored form.

    Raises:
        BundleError: when it is invalid.
    """
    if not MIN_PARTS <= len(content.items) <= MAX_PARTS:
        message = (
            f"a bundle has {MIN_PARTS} to {MAX_PARTS} products; this one has "
            f"{len(content.items)}"
        )
        raise BundleError(message, "items")
    if len(set(content.items)) < len(content.items):
        message = "a product is in the bundle twice; name each product once"
        raise BundleError(message, "items")
    if any(
        not 0 < len(item_id) <= MAX_ITEM_ID or "\0" in item_id for item_id in content.items
    ):
        message = f"a product id has 1 to {MAX_ITEM_ID} characters"
        raise BundleError(message, "items")
    name = " ".join(content.name.split())
    if len(name) > MAX_NAME or "\0" in name:
        message = f"the name may have at most {MAX_NAME} characters"
        raise BundleError(message, "name")
    _check_discount(content)
    return replace(content, name=name)


def check_discount_against(total: float | None, content: BundleContent) -> None:
    """Check that the discount leaves something to pay of the parts' sum.

    Raises:
        BundleError: when it does not.
    """
    if content.discount_amount is None or total is None or content.discount_amount < total:
        return
    message = (
        f"the discount ({content.discount_amount:.12g}) is not below the sum of the prices "
        f"({total:.12g}); make it smaller"
    )
    raise BundleError(message, "discount_amount")


def accepted_bundles_by_item(bundles: Iterable[Bundle]) -> Mapping[str, tuple[Bundle, ...]]:
    """Return the accepted bundles that contain each product, the oldest first."""
    found: dict[str, list[Bundle]] = {}
    for bundle in sorted(bundles, key=lambda bundle: bundle.bundle_id):
        if bundle.content.state is BundleState.ACCEPTED:
            for item_id in bundle.content.items:
                found.setdefault(item_id, []).append(bundle)
    return {item_id: tuple(some) for item_id, some in found.items()}


def _check_discount(content: BundleContent) -> None:
    percent, amount = content.discount_percent, content.discount_amount
    if percent is not None and amount is not None:
        message = "give the discount in percent or as an amount, not both"
        raise BundleError(message, "discount_amount")
    if percent is not None and not 0 < percent < _WHOLE:  # false for NaN too
        message = (
            "the discount must be above 0 and below 100 percent; leave it out for none"
        )
        raise BundleError(message, "discount_percent")
    if amount is not None and not 0 < amount <= _MAX_AMOUNT:
        message = "the discount must be an amount above 0; leave it out for none"
        raise BundleError(message, "discount_amount")


def _sum(amounts: Sequence[float | None]) -> Decimal | None:
    known = [one for one in amounts if one is not None and not math.isnan(one)]
    if len(known) < len(amounts):
        return None
    return sum((Decimal(str(one)) for one in known), Decimal(0))


def _cents(amount: Decimal) -> float:
    return float(amount.quantize(_CENT, ROUND_HALF_UP))
