"""Feed entries: what a feed says of each product, which products it leaves out, and why.

A feed has what a product's page shows, and up to three labels for campaigns: how well the
product sells, its stock, and the class of its margin. Feeds that cannot carry labels leave
them out. The address of a feed is signed; replacing the store's secret key replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from productrecs.core.errors import ProductRecsError
from productrecs.core.html_text import html_to_text, html_to_title
from productrecs.records.catalog.availability import (
    Availability,
    effective_availability,
)
from productrecs.tenancy.accounts.api_keys import sign_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from productrecs.records.catalog.item import Item
    from productrecs.tenancy.accounts.api_keys import SecretKeyHashes

_BEST_SHARE: Final = 0.1
_EXAMPLES: Final = 5
_MARGIN_CLASSES: Final = ("margin_low", "margin_medium", "margin_high")
_LEVEL: Final = ">"
_GTIN_LENGTHS: Final = frozenset({8, 12, 13, 14})


class UnknownExportedFeedError(ProductRecsError):
    """There is no feed at an address: it is off, or the signature is wrong."""


class FeedFormat(StrEnum):
    """A feed, by the name of its file."""

    GOOGLE = "google.xml"
    META = "meta.csv"
    OPENAI = "openai.jsonl"


class FeedExclusionReason(StrEnum):
    """Why a product is not in a feed; the value follows "with"."""

    NO_TITLE = "no title"
    NO_PAGE = "no page at an http or https address"
    NO_PICTURE = "no picture at an http or https address"
    NO_PRICE = "no price above zero"
    LONG_ID = "an id that is too long for this feed"


class SalesLabel(StrEnum):
    """How well a product sells in the days that trending counts."""

    BESTSELLER = "bestseller"  # of the tenth that sells best
    SELLS = "sells"
    NO_SALES = "no_sales"


class FeedProductLabels(NamedTuple):
    """A product's labels; empty where the reason for one is not known."""

    sales: str = ""
    stock: str = ""
    margin: str = ""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One product of a feed; texts are plain, prices in the store's currency."""

    item: Item
    title: str
    description: str
    category: str  # the deepest one
    page: str
    picture: str
    price: float
    list_price: float | None  # above the price; None: not reduced
    availability: Availability
    gtin: str  # empty if it is missing or its check digit is wrong
    group: str  # the id that its variants share; empty without variants
    labels: FeedProductLabels


@dataclass(slots=True)
class FeedProductCounts:
    """How many products a feed has, and which it left out by reason."""

    products: int = 0
    left_out: dict[FeedExclusionReason, list[str]] = field(
        default_factory=dict
    )  # first ids
    left_out_counts: dict[FeedExclusionReason, int] = field(default_factory=dict)

    def count_left_out(self, reason: FeedExclusionReason, item_id: str) -> None:
        """Count a product that is left out, and keep the first ids."""
        self.left_out_counts[reason] = self.left_out_counts.get(reason, 0) + 1
        examples = self.left_out.setdefault(reason, [])
        if len(examples) < _EXAMPLES:
            examples.append(item_id)


class ProductLabeller:
    """Labels products by sales, stock and margin; works on one state of a store."""

    def __init__(
        self,
        ranks: Mapping[str, int],
        stock_labels: Mapping[str, str],
        margin_limits: tuple[float, float] | None,
    ) -> None:
        """Use the ranks of sold products, the stock labels of forecasts, margin limits.

        `margin_limits` are the shares of the price that separate three classes of equal
        size; None: too few products have a cost.
        """
        self._ranks, self._stock_labels = ranks, stock_labels
        self._best = max(1, round(_BEST_SHARE * len(ranks)))
        self._margin_limits = margin_limits

    def labels_of(self, item: Item, availability: Availability) -> FeedProductLabels:
        """Return the labels of a product."""
        return FeedProductLabels(
            self._sales_label(item.item_id),
            self._stock_label(item, availability),
            self._margin_label(item),
        )

    def _sales_label(self, item_id: str) -> str:
        if not self._ranks:
            return ""
        rank = self._ranks.get(item_id)
        if rank is None:
            return SalesLabel.NO_SALES
        return SalesLabel.BESTSELLER if rank < self._best else SalesLabel.SELLS

    def _stock_label(self, item: Item, availability: Availability) -> str:
        if availability is Availability.OUT_OF_STOCK:
            return Availability.OUT_OF_STOCK
        return self._stock_labels.get(item.item_id, "")

    def _margin_label(self, item: Item) -> str:
        share = margin_share(item)
        if share is None or self._margin_limits is None:
            return ""
        return _MARGIN_CLASSES[sum(share > limit for limit in self._margin_limits)]


def margin_share(item: Item) -> float | None:
    """Return a product's margin as a share of its price; None if it is not known."""
    if not item.price or item.cost is None:
        return None
    return (item.price - item.cost) / item.price


def select_and_count_feed_entries(
    items: Iterable[tuple[Item, str]],
    labeller: ProductLabeller,
    longest_id: int,
    counts: FeedProductCounts,
) -> Iterator[FeedEntry]:
    """Yield the products of a feed; count them in `counts`, and those left out.

    `items` are those that pages show, each with the id that its variants share.
    """
    for item, group in items:
        title, price = html_to_title(item.title), item.price
        page, picture = _web_address(item.product_url), _web_address(item.image_url)
        for reason, is_fine in (
            (FeedExclusionReason.LONG_ID, len(item.item_id) <= longest_id),
            (FeedExclusionReason.NO_TITLE, title),
            (FeedExclusionReason.NO_PAGE, page),
            (FeedExclusionReason.NO_PICTURE, picture),
            (FeedExclusionReason.NO_PRICE, price is not None and price > 0),
        ):
            if not is_fine:
                counts.count_left_out(reason, item.item_id)
                break
        else:
            counts.products += 1
            yield _to_feed_entry(item, group, title, labeller)


def _to_feed_entry(
    item: Item, group: str, title: str, labeller: ProductLabeller
) -> FeedEntry:
    price = item.price or 0.0
    availability = effective_availability(item.availability, item.stock_qty)
    is_reduced = item.list_price is not None and item.list_price > price
    return FeedEntry(
        item=item,
        title=title,
        description=html_to_text(item.description or "") or title,
        category=max(item.categories, key=lambda name: name.count(_LEVEL), default=""),
        page=_web_address(item.product_url),
        picture=_web_address(item.image_url),
        price=price,
        list_price=item.list_price if is_reduced else None,
        availability=availability,
        gtin=item.gtin if item.gtin and is_gtin(item.gtin) else "",
        group=group,
        labels=labeller.labels_of(item, availability),
    )


def _web_address(url: str | None) -> str:
    """Return an absolute address of http or https; else an empty text."""
    address = (url or "").strip()
    return address if address.lower().startswith(("https://", "http://")) else ""


def is_gtin(code: str) -> bool:
    """Return whether a code has a GTIN's length and the right check digit."""
    if not (code.isascii() and code.isdecimal() and len(code) in _GTIN_LENGTHS):
        return False
    digits = [int(digit) for digit in reversed(code)]
    weighted = (digit * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    return sum(weighted) % 10 == 0


def feed_path(secret_hash: str, domain: str, feed: FeedFormat) -> str:
    """Return the path of a store's feed with its signature."""
    signature = sign_address(secret_hash, _subject(feed))
    return f"/product-feeds/{domain}/{feed}?signature={signature}"


def is_feed_signature_valid(
    secrets: SecretKeyHashes, feed: FeedFormat, signature: str, now_ms: int
) -> bool:
    """Return whether a feed's signature is right; a replaced key counts while accepted."""
    return secrets.accepts_signature(_subject(feed), signature, now_ms)


def _subject(feed: FeedFormat) -> str:
    return f"product-feed:{feed}"
