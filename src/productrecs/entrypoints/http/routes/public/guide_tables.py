"""Guide tables: tables of the guides that are made from the program's own data."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from productrecs.entrypoints.http.pipeline.authentication import ROUTES, Credential
from productrecs.entrypoints.http.pipeline.error_responses import ERROR_CODES, ROUTER_CODES
from productrecs.entrypoints.http.routes.public.health import NOT_READY
from productrecs.entrypoints.http.routes.public.pinned_scripts import tags
from productrecs.entrypoints.http.routes.server import items, orders
from productrecs.entrypoints.http.routes.widget import (
    list_parameters,
    recommendations,
    search,
)
from productrecs.entrypoints.http.schemas.events import (
    MAX_EVENT_ID,
    MAX_EVENTS,
    MAX_SHOWN,
    EventBody,
)
from productrecs.entrypoints.http.schemas.field_readers import MAX_ID
from productrecs.entrypoints.http.schemas.items import (
    MAX_CATEGORIES,
    MAX_DESCRIPTION,
    MAX_ITEMS,
    MAX_TITLE,
    MAX_URL,
    ItemBody,
)
from productrecs.entrypoints.http.schemas.orders import MAX_LINES, OrderBody, OrderLineBody
from productrecs.entrypoints.http.transport.error_body import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    INTERNAL_ERROR,
)
from productrecs.entrypoints.http.transport.request_body import (
    EVENT_LIMIT,
    EVENTS_LIMIT,
    KIB,
    MIB,
)
from productrecs.features.guides.guide_texts import BASE, Facts
from productrecs.features.search.product_search import LONGEST_QUERY
from productrecs.features.widgets.reserved_height import head_tags
from productrecs.settings import KNOBS
from productrecs.tenancy.accounts.store_settings import SETTINGS, StoreSettings
from productrecs.tenancy.billing.plans import DEFAULT_PLANS

_KEYS: Final[Mapping[Credential, str]] = MappingProxyType(
    {
        Credential.NONE: "none",
        Credential.PUBLISHABLE: "publishable",
        Credential.EITHER: "either",
        Credential.SECRET: "secret",
        Credential.OPERATOR: "the operator's token",
    }
)


def codes() -> dict[str, int]:
    """Return every code that an error's body may have, with its status, in their order."""
    of_the_server = (BAD_REQUEST, HEADERS_TOO_LARGE, NOT_READY, INTERNAL_ERROR)
    known = [*ERROR_CODES.values(), *ROUTER_CODES.values(), *of_the_server]
    return {one.code: one.status for one in sorted(known, key=lambda one: one.status)}


def _settings() -> str:
    defaults = StoreSettings()
    rows = [
        (f"`{one.name}`", f"`{_shown(getattr(defaults, one.name))}`", one.meaning)
        for one in SETTINGS
    ]
    return _table(("setting", "default", "meaning"), rows)


def _knobs() -> str:
    rows = [
        (f"`{one.environment}`", f"`{one.default}`" if one.default else "", one.meaning)
        for one in KNOBS
    ]
    return _table(("variable", "default", "meaning"), rows)


def _routes() -> str:
    rows = [
        (f"`{method} {path}`", _KEYS[credential])
        for path, route in ROUTES.items()
        for method, credential in route.methods.items()
    ]
    return _table(("call", "key"), rows)


def _codes() -> str:
    rows = [(str(status), f"[`{code}`](#{code})") for code, status in codes().items()]
    return _table(("status", "code"), rows)


def _limits() -> str:
    rows = [
        ("items in one push", _count(MAX_ITEMS)),
        (
            "an item's title, description, address",
            f"{_count(MAX_TITLE)}, {_count(MAX_DESCRIPTION)}, {_count(MAX_URL)} characters",
        ),
        ("categories of an item", _count(MAX_CATEGORIES)),
        ("an id", f"{MAX_ID} characters"),
        ("lines of an order", _count(MAX_LINES)),
        ("events in one array", _count(MAX_EVENTS)),
        ("products of one impression", _count(MAX_SHOWN)),
        ("`event_id`", f"{MAX_EVENT_ID} characters"),
        ("`num` of recommendations and trending", f"1 to {list_parameters.MAX_NUM}"),
        ("`num` of search", f"1 to {search.MAX_NUM}"),
        ("`q` of search, the rest is cut off", f"{LONGEST_QUERY} characters"),
        ("`item_ids` of recommendations", _count(recommendations.MAX_ANCHORS)),
        (
            "`exclude` of recommendations and trending",
            _count(list_parameters.MAX_EXCLUDED),
        ),
        ("body of a push of items", f"{items.BODY_LIMIT // MIB} MiB"),
        ("body of an order", f"{orders.BODY_LIMIT // MIB} MiB"),
        (
            "body of one event, of an array",
            f"{EVENT_LIMIT // KIB} KiB, {EVENTS_LIMIT // MIB} MiB",
        ),
    ]
    return _table(("what", "at most"), rows)


def _plans() -> str:
    rows = [
        (
            f"`{plan.name}`",
            _allowed(plan.monthly_calls),
            _allowed(plan.catalog_items),
            "until it is changed" if plan.days is None else f"{plan.days} days",
        )
        for plan in DEFAULT_PLANS.values()
    ]
    return _table(("plan", "calls a month", "items", "lasts"), rows)


def _metered() -> str:
    rows = [
        (f"`{method} {path}`", f"`{route.empty.decode()}`")
        for path, route in ROUTES.items()
        if route.empty
        for method in route.methods
    ]
    return _table(("call that counts", "its reply without content"), rows)


def _builds() -> str:
    return "\n".join(("```html", *tags(BASE, "pk_..."), "```"))


def _reserve() -> str:
    return "\n".join(("```html", head_tags(StoreSettings(), {}), "```"))


def _allowed(limit: int | None) -> str:
    return "unlimited" if limit is None else _count(limit)


def _fields(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    rows = []
    for name, field in schema["properties"].items():
        words = field.get("description", "")
        shown = f"`{name}`, required" if name in required else f"`{name}`"
        rows.append((shown, _type(field, schema.get("$defs", {})), words))
    return _table(("field", "type", "meaning"), rows)


def _type(field: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return _type(known[field["$ref"].rpartition("/")[2]], known)
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if "anyOf" in field:
        kinds = [_type(one, known) for one in field["anyOf"]]
        return " or ".join(dict.fromkeys(filter(None, kinds)))
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}), known)}"
    kind = field.get("type", "any")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(one for one in kinds if one != "null")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _count(number: int) -> str:
    return f"{number:,}"


def _shown(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


GUIDE_TABLES: Final[Facts] = MappingProxyType(
    {
        "settings": _settings,
        "knobs": _knobs,
        "routes": _routes,
        "codes": _codes,
        "limits": _limits,
        "metered": _metered,
        "plans": _plans,
        "item-fields": lambda: _fields(ItemBody),
        "event-fields": lambda: _fields(EventBody),
        "order-fields": lambda: _fields(OrderBody),
        "builds": _builds,
        "reserve": _reserve,
        "line-fields": lambda: _fields(OrderLineBody),
    }
)
