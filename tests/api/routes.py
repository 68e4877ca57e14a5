"""Every route of the service once more, as the interface has it: the tests' own table.

Whoever adds a route adds its row here: tests compare this table with the routes that the
service has, and with what /openapi.json says.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from productrecs.entrypoints.http.authentication import ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.service import Merchant

_COUNT: Final = itertools.count()
PUBLISHABLE, EITHER, SECRET, NOBODY = "publishable", "either", "secret", "none"
Call = tuple[str, bytes | None]  # the address without a key, and the body


@dataclass(frozen=True)
class Row:
    """One route: whose key it takes (interface 4 and 5), and a call that it answers 200."""

    wants: str
    call: Callable[[Merchant], Call]
    widget: bool = False


def _json(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def _item_to_delete(merchant: Merchant) -> Call:
    item_id = f"gone-{next(_COUNT)}"
    assert merchant.push({"id": item_id}).status == 200
    return f"/v1/items/{item_id}", None


TABLE: Final[Mapping[tuple[str, str], Row]] = MappingProxyType(
    {
        ("GET", "/v1/recommendations"): Row(
            PUBLISHABLE,
            lambda _: ("/v1/recommendations?item_id=a&num=5", None),
            widget=True,
        ),
        ("GET", "/v1/trending"): Row(
            PUBLISHABLE, lambda _: ("/v1/trending?num=5", None), widget=True
        ),
        ("GET", "/v1/widget-config"): Row(
            PUBLISHABLE, lambda _: ("/v1/widget-config?type=fbt", None), widget=True
        ),
        ("POST", "/v1/events"): Row(
            PUBLISHABLE,
            lambda _: (
                "/v1/events",
                _json(event="detail-page-view", item_id="a", session_id="s_1"),
            ),
            widget=True,
        ),
        ("POST", "/v1/orders"): Row(
            EITHER,
            lambda _: (
                "/v1/orders",
                _json(order_id=f"order-{next(_COUNT)}", items=[{"item_id": "a"}]),
            ),
            widget=True,
        ),
        ("POST", "/v1/items"): Row(
            SECRET, lambda _: ("/v1/items", _json(items=[{"id": "a", "title": "A"}]))
        ),
        ("DELETE", "/v1/items/{item_id}"): Row(SECRET, _item_to_delete),
        ("POST", "/integration/connect"): Row(
            SECRET, lambda _: ("/integration/connect", _json(platform="magento"))
        ),
        ("GET", "/integration/widget-config"): Row(
            SECRET, lambda _: ("/integration/widget-config?type=recs", None)
        ),
        ("PUT", "/integration/widget-config"): Row(
            SECRET,
            lambda _: (
                "/integration/widget-config?type=recs",
                _json(settings={"layout": "grid"}),
            ),
        ),
        ("GET", "/integration/recommender-settings"): Row(
            SECRET, lambda _: ("/integration/recommender-settings", None)
        ),
        ("PUT", "/integration/recommender-settings"): Row(
            SECRET, lambda _: ("/integration/recommender-settings", _json(rec_num=8))
        ),
        ("POST", "/integration/engines/init"): Row(
            SECRET, lambda _: ("/integration/engines/init", None)
        ),
        ("POST", "/integration/sync-engines"): Row(
            SECRET, lambda _: ("/integration/sync-engines", None)
        ),
        ("POST", "/integration/train"): Row(
            SECRET, lambda _: ("/integration/train?engine=both", None)
        ),
        ("GET", "/integration/status"): Row(
            SECRET, lambda _: ("/integration/status", None)
        ),
        ("GET", "/health/live"): Row(NOBODY, lambda _: ("/health/live", None)),
        ("GET", "/health/ready"): Row(NOBODY, lambda _: ("/health/ready", None)),
        ("GET", "/openapi.json"): Row(NOBODY, lambda _: ("/openapi.json", None)),
        ("GET", "/"): Row(NOBODY, lambda _: ("/", None)),
    }
)


def routes_of_the_service() -> set[tuple[str, str]]:
    """Return every (method, path) that the service has."""
    return {(method, path) for path, route in ROUTES.items() for method in route.methods}


def with_query(target: str, query: str) -> str:
    """Return the address with another parameter at its end."""
    if not query:
        return target
    return f"{target}{'&' if '?' in target else '?'}{query}"
