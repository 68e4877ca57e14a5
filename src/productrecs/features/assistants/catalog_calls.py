"""Catalog calls: what assistants send, checked and with its limits."""

from __future__ import annotations

import base64
import re
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec
from msgspec import Meta, Struct, field

from productrecs.core.errors import ProductRecsError
from productrecs.features.assistants.related_products_extension import MAX_COMPLEMENTED
from productrecs.records.catalog.item import ATTRIBUTE_FIELDS
from productrecs.records.catalog.item_filters import Filters, PriceRange

MAX_IDS: Final = 50
"""The most ids of one lookup."""

MAX_LIMIT: Final = 50
DEFAULT_LIMIT: Final = 10
MAX_OFFSET: Final = 1_000
_CURSOR: Final = re.compile(r"after:([0-9]{1,4})")
_PROFILE: Final = re.compile(r"(?i)https?://([a-z0-9.-]{1,100})(?:[:/?#]|$)")
_PROFILE_MEMBER: Final = re.compile(r'\bprofile="([^"]{1,500})"')
WIDGET_PREFIX: Final = "assistant-"
"""Before the assistant, the widget that clicks on its links are counted under."""

UNNAMED_AGENT: Final = "assistant"
"""Stands for an assistant that does not say which one it is."""

_ANY: Final = "*"  # a query for everything

Text = Annotated[str, Meta(max_length=2_000)]
Amount = Annotated[int, Meta(ge=0, le=10**15)]
Texts = Annotated[list[Text], Meta(max_length=50)]


class InvalidCatalogCallError(ProductRecsError):
    """A call of an assistant does not have the form that the protocol gives it."""


class TooManyLookupIdsError(ProductRecsError):
    """A lookup has more ids than one call may have."""


class PriceBounds(Struct):
    """A price filter, in minor units of the context's currency."""

    min: Amount | None = None
    max: Amount | None = None


class CatalogCallFilters(Struct):
    """Filters: two of the protocol's own, the others of this service."""

    categories: Texts | None = None
    price: PriceBounds | None = None
    brand: Texts | None = None
    color: Texts | None = None
    size: Texts | None = None
    material: Texts | None = None
    in_stock: bool | None = None
    on_sale: bool | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is filtered."""
        return self == CatalogCallFilters()

    def to_catalog_filters(self, minor_digits: int | None) -> Filters:
        """Return the catalog's filters; `minor_digits` None leaves the price out."""
        prices: tuple[PriceRange, ...] = ()
        if self.price is not None and minor_digits is not None:
            low, high, unit = self.price.min, self.price.max, 10**minor_digits
            upper = float("inf") if high is None else high / unit
            prices = (PriceRange((low or 0) / unit, upper),)
        return Filters(
            categories=tuple(self.categories or ()),
            prices=prices,
            in_stock=() if self.in_stock is None else (self.in_stock,),
            on_sale=() if self.on_sale is None else (self.on_sale,),
            attributes=tuple(
                (name, value)
                for name in ATTRIBUTE_FIELDS
                for value in getattr(self, name) or ()
            ),
        )


class CatalogCallContext(Struct):
    """What the assistant knows of the shopper, as far as it is used."""

    intent: Text | None = None
    currency: Text | None = None


class SelectedOption(Struct):
    """An option that the shopper chose."""

    name: Text
    label: Text


class Pagination(Struct):
    """Which page of results."""

    cursor: Text | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None


class CatalogCall(Struct, kw_only=True):
    """What all calls may have."""

    context: CatalogCallContext | None = None
    filters: CatalogCallFilters | None = None
    attribution: dict[str, Text] | None = None
    signals: dict[str, Any] | None = None

    @property
    def intent(self) -> str:
        """What the shopper wants, in words; empty if it was not said."""
        return ((self.context and self.context.intent) or "").strip()

    @property
    def currency(self) -> str:
        """The currency that the shopper prefers; empty if it was not said."""
        return ((self.context and self.context.currency) or "").strip().upper()

    @property
    def wanted(self) -> CatalogCallFilters:
        """The filters, also those of a call without any."""
        return self.filters or CatalogCallFilters()


class LookAlikeQuery(Struct):
    """What products are wanted that look like it: a product, or a photo in base64."""

    id: Text | None = None
    image: str | None = None


class ComplementsQuery(Struct):
    """Products whose complements are wanted."""

    ids: Annotated[list[Text], Meta(min_length=1, max_length=MAX_COMPLEMENTED)]


class LookQuery(Struct):
    """The product whose look is wanted."""

    id: Text


class CatalogSearchCall(CatalogCall):
    """A search for products: by words, filters, or what the products are related to."""

    query: Text | None = None
    like: LookAlikeQuery | None = None
    complements: ComplementsQuery | None = None
    looks: LookQuery | None = None
    pagination: Pagination | None = None
    cursor: Text | None = None  # some clients send it outside of `pagination`

    @property
    def words(self) -> str:
        """The words to search for; empty to browse."""
        words = (self.query or "").strip()
        return "" if words == _ANY else words

    @property
    def is_related(self) -> bool:
        """Whether it asks for related products."""
        return bool(self.like or self.complements or self.looks)

    @property
    def anchor_ids(self) -> list[str]:
        """The products that the wanted ones are related to; none for a photo."""
        if self.complements:
            return list(dict.fromkeys(self.complements.ids))
        product = self.like or self.looks
        return [product.id] if product and product.id else []

    @property
    def photo(self) -> str | None:
        """The photo that the wanted products look like."""
        return self.like.image if self.like else None

    @property
    def limit(self) -> int:
        """The page's size."""
        limit = self.pagination.limit if self.pagination else None
        return min(limit or DEFAULT_LIMIT, MAX_LIMIT)

    def offset_from_cursor(self) -> int:
        """Return how many results come before the page.

        Raises:
            InvalidCatalogCallError: when the cursor is none of this service's.
        """
        cursor = (self.pagination and self.pagination.cursor) or self.cursor
        if not cursor:
            return 0
        try:
            text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
            match = _CURSOR.fullmatch(text.decode())
        except ValueError:
            match = None
        if match is None or int(match[1]) > MAX_OFFSET:
            message = "$.pagination.cursor is not one of this catalog"
            raise InvalidCatalogCallError(message)
        return int(match[1])


class CatalogLookupCall(CatalogCall):
    """A lookup of products by the ids of products or variants."""

    ids: list[Text]


class CatalogProductCall(CatalogCall):
    """A call for one product in full."""

    id: Text
    selected: Annotated[list[SelectedOption], Meta(max_length=20)] = field(
        default_factory=list
    )
    preferences: Texts = field(default_factory=list)


Call = TypeVar("Call", bound=CatalogCall)


def parse_catalog_call(body: object, kind: type[Call]) -> Call:
    """Return a call from its JSON; members that the protocol does not know are ignored.

    Raises:
        InvalidCatalogCallError: when it has another form.
        TooManyLookupIdsError: when it has too many ids.
    """
    try:
        call = msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise InvalidCatalogCallError(str(error)) from error
    if isinstance(call, CatalogSearchCall):
        _check_search_inputs(call)
    elif isinstance(call, CatalogLookupCall):
        _check_lookup_ids(call.ids)
    elif isinstance(call, CatalogProductCall):
        names = [option.name for option in call.selected]
        if len(names) != len(set(names)):
            message = "$.selected names an option more than once"
            raise InvalidCatalogCallError(message)
    return call


def _check_search_inputs(call: CatalogSearchCall) -> None:
    call.offset_from_cursor()
    has_query = bool((call.query or "").strip())
    inputs = [call.like, call.complements, call.looks]
    count = has_query + sum(related is not None for related in inputs)
    if count > 1:
        message = "a search has one of query, like, complements and looks"
        raise InvalidCatalogCallError(message)
    if not count and call.wanted.is_empty:
        message = (
            "a search needs a query, like, complements, looks, or a filter: categories, "
            "price, brand, color, size, material, in_stock or on_sale"
        )
        raise InvalidCatalogCallError(message)
    if call.like and (call.like.id is None) == (call.like.image is None):
        message = "$.like needs an id or an image, and not both"
        raise InvalidCatalogCallError(message)


def _check_lookup_ids(ids: list[str]) -> None:
    if not ids:
        message = "$.ids is empty; name at least one product or variant"
        raise InvalidCatalogCallError(message)
    if len(ids) > MAX_IDS:
        message = f"a lookup may have at most {MAX_IDS} ids, and this one has {len(ids)}"
        raise TooManyLookupIdsError(message)


def cursor_after(count: int) -> str:
    """Return the cursor of the page after `count` results."""
    return base64.urlsafe_b64encode(f"after:{count}".encode()).decode()


def agent_host(profile: object) -> str:
    """Return the host of an assistant's profile address; `assistant` if it has none."""
    host = _PROFILE.match(profile) if isinstance(profile, str) else None
    return host[1].lower() if host else UNNAMED_AGENT


def agent_of_header(text: str) -> str:
    """Return the assistant that a `UCP-Agent` header names (RFC 8941)."""
    match = _PROFILE_MEMBER.search(text)
    return agent_host(match[1]) if match else UNNAMED_AGENT


def with_assistant_utm_parameters(url: str, agent: str) -> str:
    """Return a product page's address that tells the shop's reports where it was found."""
    parts = urlsplit(url)
    parameters = {"utm_source": agent, "utm_medium": "assistant"}
    parsed = parse_qsl(parts.query, keep_blank_values=True)
    own = [pair for pair in parsed if pair[0] not in parameters]
    return urlunsplit(parts._replace(query=urlencode([*own, *parameters.items()])))
