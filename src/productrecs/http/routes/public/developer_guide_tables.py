"""Developer guide tables: those that are made from the program's own data."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from productrecs.features.guides.developer_guide_rendering import BASE, Facts
from productrecs.features.search.product_search import LONGEST_QUERY
from productrecs.features.widgets.reserved_height import head_tags
from productrecs.http.pipeline.error_responses import ERROR_CODES, ROUTER_CODES
from productrecs.http.pipeline.route_declaration import CredentialKind, routes_by_path
from productrecs.http.routes.public.health import NOT_READY
from productrecs.http.routes.public.widget_scripts import pinned_script_tags
from productrecs.http.routes.server import item_changes, orders
from productrecs.http.routes.widget import (
    list_parameters,
    recommendations,
    search,
)
from productrecs.http.transport.error_body import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    INTERNAL_ERROR,
)
from productrecs.http.transport.request_body import EVENTS_LIMIT, KIB, MIB
from productrecs.schemas.events import (
    EVENT_LIMIT,
    MAX_EVENT_ID,
    MAX_EVENTS,
    MAX_SHOWN,
    EventBody,
)
from productrecs.schemas.field_readers import MAX_ID
from productrecs.schemas.items import (
    MAX_CATEGORIES,
    MAX_DESCRIPTION,
    MAX_ITEMS,
    MAX_TITLE,
    MAX_URL,
    ItemBody,
)
from productrecs.schemas.orders import MAX_LINES, OrderBody, OrderLineBody
from productrecs.settings import SETTING_DESCRIPTIONS
from productrecs.tenancy.accounts.store_settings import SETTINGS, StoreSettings
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS

_KEYS: Final[Mapping[CredentialKind, str]] = MappingProxyType(
    {
        CredentialKind.NONE: "none",
        CredentialKind.PUBLISHABLE: "publishable",
        CredentialKind.EITHER: "either",
        CredentialKind.SECRET: "secret",
        CredentialKind.OPERATOR: "the operator's token",
    }
)


def status_by_error_code() -> dict[str, int]:
    """Return every code that an error's body may have, with its status, in their order."""
    of_the_server = (BAD_REQUEST, HEADERS_TOO_LARGE, NOT_READY, INTERNAL_ERROR)
    known = [*ERROR_CODES.values(), *ROUTER_CODES.values(), *of_the_server]
    return {code.code: code.status for code in sorted(known, key=lambda code: code.status)}


def _store_settings_table() -> str:
    defaults = StoreSettings()
    rows = [
        (
            f"`{setting.name}`",
            f"`{_format_default(getattr(defaults, setting.name))}`",
            setting.meaning,
        )
        for setting in SETTINGS
    ]
    return _markdown_table(("setting", "default", "meaning"), rows)


def _installation_settings_table() -> str:
    rows = [
        (
            f"`{setting.environment}`",
            f"`{setting.default}`" if setting.default else "",
            setting.meaning,
        )
        for setting in SETTING_DESCRIPTIONS
    ]
    return _markdown_table(("variable", "default", "meaning"), rows)


def _routes_table() -> str:
    rows = [
        (f"`{method} {path}`", _KEYS[credential])
        for path, route in routes_by_path().items()
        for method, credential in route.methods.items()
    ]
    return _markdown_table(("call", "key"), rows)


def _error_codes_table() -> str:
    rows = [
        (str(status), f"[`{code}`](#{code})")
        for code, status in status_by_error_code().items()
    ]
    return _markdown_table(("status", "code"), rows)


def _limits_table() -> str:
    rows = [
        ("items in one push", _format_number(MAX_ITEMS)),
        (
            "an item's title, description, address",
            (
                f"{_format_number(MAX_TITLE)}, {_format_number(MAX_DESCRIPTION)}, "
                f"{_format_number(MAX_URL)} characters"
            ),
        ),
        ("categories of an item", _format_number(MAX_CATEGORIES)),
        ("an id", f"{MAX_ID} characters"),
        ("lines of an order", _format_number(MAX_LINES)),
        ("events in one array", _format_number(MAX_EVENTS)),
        ("products of one impression", _format_number(MAX_SHOWN)),
        ("`event_id`", f"{MAX_EVENT_ID} characters"),
        ("`num` of recommendations and trending", f"1 to {list_parameters.MAX_NUM}"),
        ("`num` of search", f"1 to {search.MAX_NUM}"),
        ("`q` of search, the rest is cut off", f"{LONGEST_QUERY} characters"),
        ("`item_ids` of recommendations", _format_number(recommendations.MAX_ANCHORS)),
        (
            "`exclude` of recommendations and trending",
            _format_number(list_parameters.MAX_EXCLUDED),
        ),
        ("body of a push of items", f"{item_changes.BODY_LIMIT // MIB} MiB"),
        ("body of an order", f"{orders.BODY_LIMIT // MIB} MiB"),
        (
            "body of one event, of an array",
            f"{EVENT_LIMIT // KIB} KiB, {EVENTS_LIMIT // MIB} MiB",
        ),
    ]
    return _markdown_table(("what", "at most"), rows)


def _plans_table() -> str:
    rows = [
        (
            f"`{plan.name}`",
            _format_limit(plan.monthly_calls),
            _format_limit(plan.catalog_items),
            "until it is changed" if plan.days is None else f"{plan.days} days",
        )
        for plan in DEFAULT_PLANS.values()
    ]
    return _markdown_table(("plan", "calls a month", "items", "lasts"), rows)


def _metered_routes_table() -> str:
    rows = [
        (f"`{method} {path}`", f"`{route.empty.decode()}`")
        for path, route in routes_by_path().items()
        if route.empty
        for method in route.methods
    ]
    return _markdown_table(("call that counts", "its reply without content"), rows)


def _format_limit(limit: int | None) -> str:
    return "unlimited" if limit is None else _format_number(limit)


def _model_fields_table(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    required = schema.get("required", [])
    rows = []
    for name, field in schema["properties"].items():
        words = field.get("description", "")
        shown = f"`{name}`, required" if name in required else f"`{name}`"
        rows.append((shown, _describe_type(field, schema.get("$defs", {})), words))
    return _markdown_table(("field", "type", "meaning"), rows)


def _describe_type(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if "$ref" in field:
        return _describe_type(definitions[field["$ref"].rpartition("/")[2]], definitions)
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if "anyOf" in field:
        kinds = [_describe_type(alternative, definitions) for alternative in field["anyOf"]]
        return " or ".join(dict.fromkeys(filter(None, kinds)))
    if field.get("type") == "array":
        return f"list of {_describe_type(field.get('items', {}), definitions)}"
    kind = field.get("type", "any")
    kinds = kind if isinstance(kind, list) else [kind]
    return " or ".join(kind for kind in kinds if kind != "null")


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _format_number(number: int) -> str:
    return f"{number:,}"


def _format_default(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:.12g}"
        if isinstance(value, float)
        else str(value)
    )


GUIDE_TABLES: Final[Facts] = MappingProxyType(
    {
        "settings": _store_settings_table,
        "installation-settings": _installation_settings_table,
        "routes": _routes_table,
        "codes": _error_codes_table,
        "limits": _limits_table,
        "metered": _metered_routes_table,
        "plans": _plans_table,
        "item-fields": lambda: _model_fields_table(ItemBody),
        "event-fields": lambda: _model_fields_table(EventBody),
        "order-fields": lambda: _model_fields_table(OrderBody),
        "builds": lambda: "\n".join(
            ("```html", *pinned_script_tags(BASE, "pk_..."), "```")
        ),
        "reserve": lambda: "\n".join(("```html", head_tags(StoreSettings(), {}), "```")),
        "line-fields": lambda: _model_fields_table(OrderLineBody),
    }
)
