"""Route table of the tests: every route of the service, written from the interface.

Whoever adds a route adds its row here: tests compare this table with the routes that the
service has, and with what /openapi.json says.
"""

import base64
import functools
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.features.assistants.related_products_extension import SCHEMA_PATH
from productrecs.features.mail_slots.mail_slot import MailResource
from productrecs.http.route_table import ROUTES
from tests.support.pictures import drawn, encoded
from tests.support.service import (
    OPERATOR,
    Merchant,
    keep_look_picture,
    switch_on_assistants,
    switch_on_feed,
    switch_on_mail_slot,
)

_COUNT: Final = itertools.count()
PUBLISHABLE, EITHER, SECRET, NOBODY = "publishable", "either", "secret", "none"
INSTALLATION = "operator"
UPLOAD: Final = {"content-type": "multipart/form-data; boundary=cut"}


class Call(NamedTuple):
    """One call without a key."""

    target: str
    body: bytes | None = None
    headers: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Row:
    """One route: whose key it takes (interface 4 and 5), and a call that it answers 2xx."""

    wants: str
    call: Callable[[Merchant], Call]
    widget: bool = False


def body(**fields: object) -> bytes:
    """Return a JSON object."""
    return json.dumps(fields).encode()


def form(csv: str) -> bytes:
    """Return the multipart body of an upload, whose headers are `UPLOAD`."""
    head = 'Content-Disposition: form-data; name="file"; filename="past.csv"'
    return f"--cut\r\n{head}\r\n\r\n{csv}\r\n--cut--\r\n".encode()


def upload(merchant: Merchant, csv: str = "order_id,item_id\nA,a\n") -> str:
    """Upload an order history; return the upload's id."""
    reply = merchant.client.ask(
        "POST", "/orders/upload", form(csv), merchant.server | UPLOAD
    )
    assert reply.status == 202, reply
    return str(reply.json["upload_id"])


def _item_to_delete(merchant: Merchant) -> Call:
    item_id = f"gone-{next(_COUNT)}"
    assert merchant.push({"id": item_id}).status == 200
    return Call(f"/v1/items/{item_id}")


def _item_to_read(merchant: Merchant) -> Call:
    assert merchant.push({"id": "read/1"}).status == 200
    return Call("/v1/items/read%2F1")


def _order_to_read(merchant: Merchant) -> Call:
    assert merchant.order("read/1", "a").status == 200
    return Call("/v1/orders/read%2F1")


def _item_to_forecast(merchant: Merchant) -> Call:
    assert merchant.push({"id": "forecast/1"}).status == 200
    return Call("/v1/forecast/items/forecast%2F1")


@functools.cache  # a store may have twenty that wait
def _upload_to_ask_for(merchant: Merchant) -> Call:
    return Call(f"/orders/upload/{upload(merchant)}")


def _bundle_to_add(merchant: Merchant) -> Call:
    parts = [f"part-{next(_COUNT)}", f"part-{next(_COUNT)}"]
    assert merchant.push(*({"id": one} for one in parts)).status == 200
    return Call("/integration/bundles", body(item_ids=parts))


def _bundle(merchant: Merchant) -> str:
    call = _bundle_to_add(merchant)
    made = merchant.client.ask("POST", call.target, call.body, merchant.server)
    assert made.status == 200, made
    return f"{call.target}?id={made.json['id']}"


def _test() -> bytes:
    changes = {"search_sold_out": "last"}
    variant = {"name": "last", "share": 50, "changes": changes}
    return body(name=f"test-{next(_COUNT)}", variants=[variant])


def _test_to_remove(merchant: Merchant) -> Call:
    target = "/integration/tests"
    made = merchant.client.ask("POST", target, _test(), merchant.server)
    assert made.status == 200, made
    return Call(target, body(name=made.json["name"], action="remove"))


def _event(_merchant: Merchant) -> Call:
    sent = body(event="detail-page-view", item_id="a", session_id="s_1")
    return Call("/v1/events", sent)


def _order(_merchant: Merchant) -> Call:
    return Call("/v1/orders", body(order_id=f"o-{next(_COUNT)}", items=[{"item_id": "a"}]))


def _always(target: str, sent: bytes | None = None) -> Callable[[Merchant], Call]:
    return lambda _: Call(target, sent)


def _script(kind: str) -> Callable[[Merchant], Call]:
    return lambda merchant: Call(f"/widget/v1/{kind}{merchant.account.domain}.js")


@functools.cache
def _look_picture(merchant: Merchant) -> Call:
    return Call(keep_look_picture(merchant.account, encoded(drawn("red", "ball"))))


ASSISTANT_CALLS: Final = (
    ("GET", ".well-known/ucp", None),
    ("GET", "{version}/.well-known/ucp", None),
    ("POST", "{version}/catalog/search", {"query": "tent"}),
    ("POST", "{version}/catalog/lookup", {"ids": ["a"]}),
    ("POST", "{version}/catalog/product", {"id": "a"}),
    ("POST", "{version}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
)
"""What shopping assistants call: method, path below the store, and body."""


def _assistant(path: str, sent: Mapping[str, object] | None) -> Callable[[Merchant], Call]:
    def call(merchant: Merchant) -> Call:
        below = path.replace("{version}", "2026-08-25")
        found = None if sent is None else body(**sent)
        return Call(f"{switch_on_assistants(merchant.account)}/{below}", found)

    return call


def _product_feed(merchant: Merchant) -> Call:
    return Call(switch_on_feed(merchant.account))


def _mail_slot(part: MailResource) -> Callable[[Merchant], Call]:
    return lambda merchant: Call(_mail_paths(merchant)[part])


@functools.cache
def _mail_paths(merchant: Merchant) -> dict[MailResource, str]:
    return switch_on_mail_slot(merchant.account)


PHOTO: Final = base64.b64encode(encoded(drawn("red", "ball"))).decode()
TABLE: Final[Mapping[tuple[str, str], Row]] = MappingProxyType(
    {
        ("GET", "/v1/recommendations"): Row(
            EITHER, _always("/v1/recommendations?item_id=a&num=5"), widget=True
        ),
        ("GET", "/v1/trending"): Row(EITHER, _always("/v1/trending?num=5"), widget=True),
        ("GET", "/v1/search"): Row(EITHER, _always("/v1/search?q=tent&num=5"), widget=True),
        ("POST", "/v1/search/image"): Row(
            PUBLISHABLE, _always("/v1/search/image", body(image=PHOTO, num=5)), widget=True
        ),
        ("POST", "/v1/shop-the-look/analyze"): Row(
            PUBLISHABLE,
            _always("/v1/shop-the-look/analyze", body(image=PHOTO)),
            widget=True,
        ),
        ("GET", "/v1/looks"): Row(EITHER, _always("/v1/looks?item_id=a"), widget=True),
        ("GET", "/v1/widget-config"): Row(
            PUBLISHABLE, _always("/v1/widget-config?type=recs"), widget=True
        ),
        ("GET", "/v1/forecast/summary"): Row(
            EITHER, _always("/v1/forecast/summary"), widget=True
        ),
        ("GET", "/v1/forecast/items/{item_id}"): Row(
            EITHER, _item_to_forecast, widget=True
        ),
        ("POST", "/v1/events"): Row(PUBLISHABLE, _event, widget=True),
        ("POST", "/v1/orders"): Row(EITHER, _order, widget=True),
        ("POST", "/v1/items"): Row(SECRET, _always("/v1/items", body(items=[{"id": "a"}]))),
        ("GET", "/v1/items"): Row(SECRET, _always("/v1/items?limit=1")),
        ("GET", "/v1/items/{item_id}"): Row(SECRET, _item_to_read),
        ("DELETE", "/v1/items/{item_id}"): Row(SECRET, _item_to_delete),
        ("GET", "/v1/orders"): Row(SECRET, _always("/v1/orders?limit=1"), widget=True),
        ("GET", "/v1/orders/{order_id}"): Row(SECRET, _order_to_read),
        ("POST", "/orders/upload"): Row(
            SECRET, lambda _: Call("/orders/upload", form("order_id,item_id\nA,a"), UPLOAD)
        ),
        ("GET", "/orders/upload/{upload_id}"): Row(SECRET, _upload_to_ask_for),
        ("POST", "/integration/connect"): Row(SECRET, _always("/integration/connect")),
        ("GET", "/integration/widget-config"): Row(
            SECRET, _always("/integration/widget-config")
        ),
        ("PUT", "/integration/widget-config"): Row(
            SECRET, _always("/integration/widget-config", body(settings={"columns": 3}))
        ),
        ("GET", "/integration/recommender-settings"): Row(
            SECRET, _always("/integration/recommender-settings")
        ),
        ("PUT", "/integration/recommender-settings"): Row(
            SECRET, _always("/integration/recommender-settings", body(rec_num=7))
        ),
        ("GET", "/integration/bundles"): Row(SECRET, _always("/integration/bundles")),
        ("POST", "/integration/bundles"): Row(SECRET, _bundle_to_add),
        ("PUT", "/integration/bundles"): Row(
            SECRET, lambda merchant: Call(_bundle(merchant), body(name="Camp"))
        ),
        ("DELETE", "/integration/bundles"): Row(
            SECRET, lambda merchant: Call(_bundle(merchant))
        ),
        ("GET", "/integration/purchase-orders"): Row(
            SECRET, _always("/integration/purchase-orders")
        ),
        ("PUT", "/integration/purchase-orders"): Row(
            SECRET,
            _always(
                "/integration/purchase-orders",
                body(lines=[{"item_id": "x", "quantity": 1, "expected_day": "2026-03-01"}]),
            ),
        ),
        ("GET", "/integration/tests"): Row(SECRET, _always("/integration/tests")),
        ("POST", "/integration/tests"): Row(
            SECRET, lambda _: Call("/integration/tests", _test())
        ),
        ("PUT", "/integration/tests"): Row(SECRET, _test_to_remove),
        ("POST", "/integration/engines/init"): Row(
            SECRET, _always("/integration/engines/init")
        ),
        ("POST", "/integration/sync-engines"): Row(
            SECRET, _always("/integration/sync-engines")
        ),
        ("POST", "/integration/train"): Row(SECRET, _always("/integration/train")),
        ("POST", "/integration/customer-ids"): Row(
            SECRET,
            _always(
                "/integration/customer-ids", body(customers=[{"old": "7", "new": "c_7"}])
            ),
        ),
        ("GET", "/integration/status"): Row(SECRET, _always("/integration/status")),
        ("POST", "/integration/dashboard-link"): Row(
            SECRET, _always("/integration/dashboard-link")
        ),
        ("GET", "/integration/report"): Row(SECRET, _always("/integration/report?by=day")),
        ("GET", "/health/live"): Row(NOBODY, _always("/health/live")),
        ("GET", "/health/ready"): Row(NOBODY, _always("/health/ready")),
        ("GET", "/metrics"): Row(INSTALLATION, lambda _: Call("/metrics", None, OPERATOR)),
        ("GET", "/openapi.json"): Row(NOBODY, _always("/openapi.json")),
        ("GET", SCHEMA_PATH): Row(NOBODY, _always(SCHEMA_PATH)),
        ("GET", "/docs"): Row(NOBODY, _always("/docs")),
        ("GET", "/docs/{asset}"): Row(NOBODY, _always("/docs/pages.css")),
        ("GET", "/llms.txt"): Row(NOBODY, _always("/llms.txt")),
        ("GET", "/llms-full.txt"): Row(NOBODY, _always("/llms-full.txt")),
        ("GET", "/docs-md/{slug}.md"): Row(NOBODY, _always("/docs-md/keys.md")),
        ("GET", "/guides"): Row(NOBODY, _always("/guides")),
        ("GET", "/guides/{slug}"): Row(NOBODY, _always("/guides/keys")),
        ("GET", "/widget/v1/{store_domain}.js"): Row(NOBODY, _script("")),
        ("GET", "/widget/v1/search-{store_domain}.js"): Row(NOBODY, _script("search-")),
        ("GET", "/widget/v1/look-{store_domain}.js"): Row(NOBODY, _script("look-")),
        ("GET", "/widget/v1/_/{build}.js"): Row(NOBODY, _always("/widget/v1/_/tools.js")),
        ("GET", "/plugin/service-recommender.zip"): Row(
            NOBODY, _always("/plugin/service-recommender.zip")
        ),
        ("GET", "/plugin/productrecs.ocmod.zip"): Row(
            NOBODY, _always("/plugin/productrecs.ocmod.zip")
        ),
        ("GET", "/plugin/productrecs-prestashop.zip"): Row(
            NOBODY, _always("/plugin/productrecs-prestashop.zip")
        ),
        ("GET", "/look-pictures/{store_domain}/{picture_id}.jpg"): Row(
            NOBODY, _look_picture
        ),
        ("GET", "/product-feeds/{store_domain}/{file_name}"): Row(NOBODY, _product_feed),
        ("GET", "/v1/mail/image/{slot}"): Row(PUBLISHABLE, _mail_slot(MailResource.IMAGE)),
        ("GET", "/v1/mail/link/{slot}"): Row(PUBLISHABLE, _mail_slot(MailResource.LINK)),
        ("GET", "/v1/mail/products/{slot}"): Row(
            PUBLISHABLE, _mail_slot(MailResource.PRODUCTS)
        ),
        **{
            (method, f"/ucp/{{store_domain}}/{path}"): Row(NOBODY, _assistant(path, sent))
            for method, path, sent in ASSISTANT_CALLS
        },
        ("POST", "/mcp"): Row(
            NOBODY, _always("/mcp", body(jsonrpc="2.0", id=1, method="tools/list"))
        ),
        ("GET", "/"): Row(NOBODY, _always("/")),
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


# What is refused with 402 while the plan does not hold.
NEED_A_PLAN: Final = {
    ("POST", "/v1/items"),
    ("POST", "/orders/upload"),
    ("POST", "/integration/connect"),
    ("PUT", "/integration/widget-config"),
    ("PUT", "/integration/recommender-settings"),
    ("POST", "/integration/bundles"),
    ("PUT", "/integration/bundles"),
    ("PUT", "/integration/purchase-orders"),
    ("POST", "/integration/tests"),
    ("PUT", "/integration/tests"),
    ("POST", "/integration/engines/init"),
    ("POST", "/integration/sync-engines"),
    ("POST", "/integration/train"),
    ("POST", "/integration/customer-ids"),
}
