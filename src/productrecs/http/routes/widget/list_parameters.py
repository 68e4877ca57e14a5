"""Query parameters of lists: how many products, which ones never, filters and prices."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

import msgspec
from fastapi import Query
from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from productrecs.http.pipeline.authentication import Caller, SecretKeyRequiredError
from productrecs.http.pipeline.fast_query_reader import FastQueryReader
from productrecs.http.pipeline.route_context import FastRouteCall
from productrecs.http.pipeline.route_declaration import SECRET
from productrecs.records.catalog.item_filters import (
    FILTER_FORMS,
    MAX_FILTERS,
    FilterError,
    Filters,
    parse_filters,
)
from productrecs.records.catalog.price_lists import (
    PriceListNameError,
    UnknownPriceListError,
    parse_list_name,
)
from productrecs.schemas.body_warnings import describe_unknown_name
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem
from productrecs.serving.cached_store import CachedStore

MAX_NUM: Final = 20
MAX_EXCLUDED: Final = 100
_MAX_UNKNOWN: Final = 5  # parameters that a reply warns of

Num = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_NUM,
        description="How many products; default: the store's setting.",
        examples=[4],
    ),
]
Excluded = Annotated[
    str | None,
    Query(
        alias="exclude",
        description=(
            "Ids that the page already shows, comma-separated, up to 100: they "
            "are left out."
        ),
        examples=["stove,lamp"],
    ),
]


Shown = Annotated[
    int | None,
    Query(
        ge=1,
        le=MAX_NUM,
        description=("Accepted and ignored."),
        examples=[8],
    ),
]
PriceListQuery = Annotated[
    str,
    Query(
        description=(
            "The price list to show, filter and sort by: a currency (`USD`), a customer "
            "group (`group:trade`) or both (`USD:group:trade`). The list of a group needs "
            "the secret key, unless the setting `public_price_groups` names the group. "
            "Default: the usual prices."
        ),
        examples=["USD"],
    ),
]
_AT: Final = ("query", "price_list")
_LONGEST_FILTER: Final = 1_100  # a category's name may have 1,000 characters
_PRICE: Final = r"[0-9]{1,15}(\.[0-9]{1,5})?"
_FILTER: Final = (
    r"^((categories|brand|color|size|material|attributes\.[^:]+):[\s\S]*\S[\s\S]*"
    r"|(in_stock|on_sale):(true|false)"
    rf"|price:({_PRICE}\.\.<?{_PRICE}|{_PRICE}\.\.|\.\.<?{_PRICE}))$"
)


def _without_blank_filters(value: object) -> object:
    """Return the filters that say something: templates leave parameters empty."""
    if isinstance(value, list):
        return [text for text in value if text != ""]
    return value


def _check_filter(value: str) -> str:
    if re.fullmatch(_FILTER, value) is None or len(value) > _LONGEST_FILTER:
        raise PydanticCustomError("filter", FILTER_FORMS)
    return value


_Filter = Annotated[
    str,
    AfterValidator(_check_filter),
    WithJsonSchema({"type": "string", "pattern": _FILTER, "maxLength": _LONGEST_FILTER}),
]
FilterQuery = Annotated[
    list[_Filter],
    BeforeValidator(_without_blank_filters),
    Query(
        alias="filter",
        max_length=MAX_FILTERS,
        description=(
            "Filters on the results: `categories:NAME`, `price:LOW..HIGH` (also "
            "`LOW..`, `..HIGH`, and `LOW..<HIGH` without HIGH itself), "
            "`in_stock:true`, `on_sale:true`, `brand:NAME`, `color:NAME`, `size:NAME`, "
            "`material:NAME`, `attributes.NAME:VALUE`. May be repeated: filters of one "
            "kind are alternatives, different kinds must all match."
        ),
        examples=[["price:10..50", "in_stock:true"]],
    ),
]

LOOKS_LIKE_FILTER: Final = frozenset(
    (
        *("attributes", "availability", "brand", "categories", "category", "category_id"),
        *("color", "colour", "filters", "gtin", "in_stock", "material", "max_price"),
        *("min_price", "on_sale", "price", "price_from", "price_max", "price_min"),
        *("price_to", "size"),
    )
)
"""Parameters that a caller may take for filters; lists take `filter` alone."""


def parse_filter_parameters(texts: list[str]) -> Filters:
    """Return the filters of a call.

    Raises:
        InvalidInputError: when one is invalid in a way that its pattern cannot express.
    """
    try:
        return parse_filters(texts)
    except FilterError as error:
        problem = ValidationProblem(("query", "filter"), str(error), "value_error", texts)
        raise InvalidInputError([problem]) from error


def apply_price_list(
    caller: Caller, cached_store: CachedStore, list_name: str
) -> CachedStore:
    """Return a store with the prices of the list that a call names; itself without one.

    Raises:
        InvalidInputError: when no item has a price in the list; names the caller's lists.
        SecretKeyRequiredError: when the list is of a group, and the key publishable.
    """
    if not list_name:
        return cached_store
    state = cached_store.state
    public_groups = state.settings.public_price_groups.split(",")

    def may_read(group: str) -> bool:
        return not group or caller.credential is SECRET or group in public_groups

    try:
        if not may_read(parse_list_name(list_name).group):
            message = (
                f"the price list {list_name} is of a customer group: send the secret key "
                "(sk_...) as the header X-API-Key, or name the group in the setting "
                "public_price_groups, which lets everybody read its prices"
            )
            raise SecretKeyRequiredError(message)
        return cached_store.with_price_list(list_name)
    except (PriceListNameError, UnknownPriceListError) as error:
        names = state.catalog.price_lists.names()
        readable_names = ", ".join(
            known for known in names if may_read(parse_list_name(known).group)
        )
        message = f"{error}; known lists: {readable_names or 'none'}"
        raise InvalidInputError(
            [ValidationProblem(_AT, message, "unknown_price_list", list_name)]
        ) from error


def find_cached_store_with_price_list(call: FastRouteCall) -> CachedStore | None:
    """Return the caller's store with the call's prices, if it is in memory.

    Raises:
        InvalidInputError, SecretKeyRequiredError: as `apply_price_list`.
    """
    cached_store = call.context.stores.get(call.caller.store)
    if cached_store is None or call.query is None:
        return None
    return apply_price_list(call.caller, cached_store, call.query.get("price_list", ""))


def refuse_unknown_filters(names: Iterable[str]) -> None:
    """Refuse a parameter that looks like a filter, rather than ignore it.

    Raises:
        InvalidInputError: for the first such parameter.
    """
    for name in names:
        if name in LOOKS_LIKE_FILTER:
            message = f"there is no parameter {name}; {FILTER_FORMS}, as filter=..."
            raise InvalidInputError(
                [ValidationProblem(("query", name), message, "unknown_filter", name)]
            )


def warn_of_unknown_parameters(
    body: bytes, reader: FastQueryReader[Any], sent: Iterable[str]
) -> bytes:
    """Return a reply with a warning for each parameter that its route lacks."""
    unknown = reader.unknown_names(sent)
    if not unknown:
        return body
    reply = msgspec.json.decode(body)
    reply["warnings"] = [
        *reply.get("warnings", ()),
        *(
            describe_unknown_name("parameter", name, reader.names)
            + (f"; {FILTER_FORMS}, as filter=..." if name in LOOKS_LIKE_FILTER else "")
            for name in unknown[:_MAX_UNKNOWN]
        ),
    ]
    return msgspec.json.encode(reply)


def split_item_ids(item_ids: str | None) -> tuple[str, ...]:
    """Return the ids of a comma-separated list."""
    if not item_ids:
        return ()
    return tuple(part for item_id in item_ids.split(",") if (part := item_id.strip()))


def check_excluded_count(excluded: Sequence[str], raw_value: str | None) -> None:
    """Refuse more ids to exclude than a call may have.

    Raises:
        InvalidInputError: when there are more.
    """
    if len(excluded) > MAX_EXCLUDED:
        message = f"a call may exclude at most {MAX_EXCLUDED} items"
        raise InvalidInputError(
            [ValidationProblem(("query", "exclude"), message, "too_long", input=raw_value)]
        )
