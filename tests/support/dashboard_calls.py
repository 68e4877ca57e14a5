"""Dashboard calls: how the tests of access call each page, with one store's ids.

A page needs no line here: what it reads of a query or a form is found in its module. A
name that no page read before must be declared in `PARAMETERS`: which id of a store it
takes, or a plain value. Where one page needs other values for a name, or reads names that
a text search cannot find, `CALLS` says so by its path.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

from productrecs.dashboard.page import Page
from tests.support.filled_store import Filled

# By the name that a page reads: the kind of id (`Filled.ids`) that it takes.
IDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "id": "item",
        "item": "item",
        "item_id": "item",
        "category": "category",
        "customer": "customer",
        "endpoint": "endpoint",
        "file": "file",
        "invitation": "invitation",
        "look": "look",
        "version": "version",
        "member": "user",
        "order": "order",
        "origin": "origin",
        "q": "query",
        "query": "query",
        "on": "item",
        "rule": "rule",
        "pin": "item",
        "of": "item",
        "placement": "placement",
        "bundle": "bundle",
        "part": "item",
        "proposed": "item",
        "stored": "placement",
        "rule_id": "rule",
        "search_rule": "search_rule",
        "synonym": "synonym",
        "test": "test",
        "before": "audit",
        "entry": "audit",
        "session": "session",
        "to_store": "store",
        "token": "token",
        "upload": "upload",
        "upload_id": "upload",
        "user": "user",
        "user_id": "user",
    }
)
# Names that take no id.
PLAIN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "by": "widget",
        "bundle_name": "Set",
        "bundle_version": "1",
        "discount": "percent",
        "value": "10",
        "action": "boost",
        "address": "https://hooks.example/orders",
        "number": "1",
        "anyway": "",
        "categories": "",
        "change": "1",
        "csrf": "",
        "custom_css": "",
        "everywhere": "",
        "filter": "in_stock:true",
        "fallback": "",
        "filters": "",
        "relative": "",
        "shopper": "",
        "strategy": "new",
        "holdout_percent": "10",
        "holdout_test": "walk",
        "spot_height": "",
        "spot_item": "",
        "spot_label": "",
        "spot_remove": "",
        "spot_width": "",
        "spot_x": "",
        "spot_y": "",
        "title": "Look",
        "tool": "brevo",
        "count": "2",
        "then": "publish",
        "what": "unconfirmed",
        "propose": "",
        "currency": "EUR",
        "days": "30",
        "after": "",
        "kind": "buy",
        "mails": "on",
        "may": "change",
        "mine": "",
        "until": "",
        "pause": "",
        "session": "",
        "verdict": "",
        "domain": "new.example",
        "enabled": "",
        "event": "plan.ending",
        "every": "60",
        "hour": "",
        "setting": "shopping_assistants",
        "complete": "on",
        "drop_header": "",
        "secret_header": "",
        "secret_url": "https://shop.example/feed.xml",
        "ends": "",
        "email": "anna@new.example",
        "key": "all",
        "name": "anna@new.example",
        "next": "",
        "overlap": "24",
        "not_in": "",
        "only_in": "",
        "page": "2",
        "password": "a new password",
        "position": "1",
        "price_max": "",
        "price_min": "",
        "priority": "0",
        "show": "shown",
        "source": "mix",
        "starts": "",
        "strength": "",
        "title_words": "",
        "to": "off",
        "code": "000000",
        "new_password": "a newer password",
        "old_password": "correct horse battery",
        "platform": "shopify",
        "role": "viewer",
        "token": "",
        "type": "recs",
    }
)
_PLACEMENT_FORMS: Final = ("", "/placement", "/preview", "/remove")
# By path: the names of one page that mean something else there, or are computed.
CALLS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "/dashboard/register": {"timezone": "", "language": ""},
        **{
            f"/dashboard/imports{form}": {
                "kind": "items",
                "format": "columns",
                "time_format": "",
                "map-id": "",
            }
            for form in ("", "/file", "/start", "/discard", "/undo", "/failed-rows")
        },
        **{
            f"/dashboard/merchandising/settings{form}": {"rec_num": "9"}
            for form in ("", "/effect")
        },
        **{
            f"/dashboard/settings{form}": {
                "currency": "CHF",
                "language": "de",
                "timezone": "Europe/Zurich",
                "price_format": "",
            }
            for form in ("", "/effect")
        },
        "/dashboard/settings/delete": {"domain": "another.example"},
        **{f"/dashboard/placements{form}": {"minimum": "1"} for form in _PLACEMENT_FORMS},
        **{
            f"/dashboard/tests{form}": {
                "subject": "search",
                "variants": "2",
                "goal": "revenue",
                "variant": "b",
                "share": "50",
                "search_meaning": "false",
                "then": "start",
            }
            for form in ("", "/new", "/test")
        },
        **{
            f"/dashboard/merchandising/earnings{form}": {"weight": "0.9"}
            for form in ("", "/replay")
        },
        **{
            f"/dashboard/demand{form}": {"lead_time_days": "9"}
            for form in ("", "/on", "/off", "/ordering", "/mails", "/product")
        },
        **{
            f"/dashboard/search{page}": {
                "action": "pin",
                "texts": "sofa",
                "address": "/sale",
                "find": "lamp",
            }
            for page in ("", "/improve", "/improve/effect", "/improve/preview", "/remove")
        },
        **{
            f"/dashboard/search/relevance{page}": {
                "then": "add",
                "grade": "good",
                "all": "",
            }
            for page in ("", "/query", "/mails")
        },
        **{
            f"/dashboard/customers{page}": {"segment": "active", "confirm": ""}
            for page in ("", "/one", "/export")
        },
        **{
            path: {"store": "new.example", "signature": "0" * 32}
            for path in (
                "/dashboard/security/weekly-report",
                "/dashboard/weekly-report/stop",
            )
        },
        **{
            f"/dashboard/demand/orders{form}": {
                "supplier": "Tents Ltd",
                "lead_time": "9",
                "order_every": "",
                "minimum_order": "",
                "budget": "",
                "order_budget": "100",
                "product": "lamp",
                "quantity": "12",
                "expected_day": "2026-03-20",
                "ordered_from": "Tents Ltd",
                "number": "1",
                "item": "lamp",
                "ordered": "lamp",
                "units": "12",
                "expected": "2026-03-20",
            }
            for form in (
                *("", "/supplier", "/remove", "/terms", "/budget"),
                *("/ordered", "/ordered/add", "/ordered/remove", "/ordered/file"),
                "/ordered/remove-delivery",
            )
        },
        **{
            f"/dashboard/demand/calendar{form}": {
                "kind": "campaign",
                "name": "Sale",
                "first_day": "2026-03-01",
                "last_day": "",
                "entry_category": "",
                "expected_change": "30",
                "price_change": "-20",
                "holiday_country": "DE",
            }
            for form in ("", "/add", "/remove", "/country", "/forecast")
        },
        **{
            f"/dashboard/demand/product{form}": {
                "supplier": "Tents Ltd",
                "pack_size": "6",
                "minimum_quantity": "",
            }
            for form in ("", "/supplier")
        },
        "/dashboard/report.csv": {"report": "credited-sales", "by": ""},
    }
)
_READ: Final = re.compile(
    r"\b(?:query|form)(?:\[|\.\w+\()\s*\"(\w+)\""
    r"|\"(\w+)\" (?:not )?in visit\.(?:query|form)"
)
_COMPUTED: Final = re.compile(r"\b(?:query|form)(?:\[|\.\w+\()\s*[^\s\"]")


def names_read(page: Page) -> set[str]:
    """Return the names that the module of a page reads of queries and forms."""
    return {one or other for one, other in _READ.findall(_source(page))}


def undeclared(page: Page) -> set[str]:
    """Return what a page reads that nobody declared."""
    declared = {*IDS, *PLAIN, *CALLS.get(page.path, {})}
    found = names_read(page) - declared
    if _COMPUTED.search(_source(page)) and page.path not in CALLS:
        found.add("a name that is computed")
    return found


def fields_of(page: Page, filled: Filled) -> dict[str, str]:
    """Return what a page is sent to name things of a store."""
    read = names_read(page)
    ids = {
        name: filled.ids[kind]
        for name, kind in IDS.items()
        if kind in filled.ids and name in read
    }
    plain = {name: text for name, text in PLAIN.items() if name in read}
    return {**plain, **ids, **CALLS.get(page.path, {})}


def address_of(page: Page, filled: Filled) -> str:
    """Return a page's address with one store's ids in its query."""
    fields = {name: text for name, text in fields_of(page, filled).items() if text}
    return f"{page.path}?{urlencode(fields)}" if fields else page.path


def _source(page: Page) -> str:
    handlers: list[Callable[..., object] | None] = [page.show, page.change]
    modules = [inspect.getmodule(one) for one in handlers if one is not None]
    return "\n".join(inspect.getsource(one) for one in modules if one is not None)
