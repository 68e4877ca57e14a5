"""Storefront under test: a store, its pages, and a relay to the service.

`Storefront.page` puts a page into the shop, with a widget's script; all that its browser
asks of the service passes a relay, so that what is counted is what the service saw.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from tests.support.service import Merchant, Service
from tests.support.web import Pages, Relay

SHOP: Final = "shop.example"
TITLES: Final = (
    "Trail tent for two",
    "Gas stove",
    "Climbing rope 60 m, dry treated, in a colour that is seen from far away",
    "Down sleeping bag",
    "Headlamp",
    "Trekking poles",
    "Steel bottle",
    "Merino base layer",
    "Camp chair",
    "Water filter",
)
# A product without a price and one without a picture are among them.
WITHOUT_PRICE, WITHOUT_PICTURE = "p4", "p6"


@dataclass(frozen=True)
class Storefront:
    """One store with its pages and the wire to the service."""

    service: Service
    merchant: Merchant
    pages: Pages
    relay: Relay

    @property
    def key(self) -> str:
        """The store's publishable key."""
        return self.merchant.account.publishable

    def script(self, kind: str = "", attributes: str = "async") -> str:
        """Return the tag of a widget's script: `kind` is empty, `search-` or `look-`."""
        domain = self.merchant.account.domain
        return (
            f'<script {attributes} src="{self.relay.address}/widget/v1/{kind}{domain}.js">'
        )

    def page(
        self,
        path: str,
        body: str,
        *,
        kind: str = "",
        head: str = "",
        tag: str = "async",
        html: str = "lang=en",
    ) -> str:
        """Put a page into the shop; return its address."""
        self.pages.pages[path] = (
            f"<!doctype html><html {html}><head><meta charset=utf-8><title>Shop</title>"
            "<meta name=viewport content='width=device-width,initial-scale=1'>"
            f"<link rel=icon href=data:,>{head}{self.script(kind, tag)}</script></head>"
            f"<body>{body}</body></html>"
        )
        return self.pages.origin(SHOP) + path

    def requests_to(self, path: str) -> list[dict[str, str]]:
        """Return the parameters of each GET of `path` that the service answered."""
        return [
            dict(parse_qsl(urlsplit(one.target).query))
            for one in self.relay.seen
            if (one.method, one.path) == ("GET", path)
        ]

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the events that reached the service, each once, of one kind or of all."""
        found: dict[str, dict[str, Any]] = {}
        for one in self.relay.seen:
            if (one.method, one.path, one.status) == ("POST", "/v1/events", 200):
                sent = json.loads(one.body)
                for event in sent if isinstance(sent, list) else [sent]:
                    found.setdefault(event["event_id"], event)
        return [one for one in found.values() if kind in {None, one["event"]}]


def catalog(origin: str) -> list[Mapping[str, object]]:
    """Return the store's products: p0 to p9, with pages at /p/0 to /p/9."""
    return [
        {
            "id": f"p{n}",
            "title": title,
            "price": None if f"p{n}" == WITHOUT_PRICE else 10 * n + 9.5,
            "image_url": None if f"p{n}" == WITHOUT_PICTURE else f"{origin}/picture.svg",
            "product_url": f"{origin}/p/{n}",
            "categories": ["Camping"],
        }
        for n, title in enumerate(TITLES)
    ]
