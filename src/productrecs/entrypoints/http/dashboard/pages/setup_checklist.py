"""Setup checklist: from the key to the first recommendation on the site."""

import json
from dataclasses import dataclass
from typing import Final

from productrecs.entrypoints.http.dashboard.page_and_visit import Group, Page, Reply, Visit
from productrecs.entrypoints.http.routes.public.embed_code import live_tags, widget_element
from productrecs.features.insights.tracking_health.repository import DiagnosisRepository
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.store_management import read_plan_usage


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the checklist: whether it is done, and the snippet that does it."""

    name: str
    title: str
    is_done: bool
    told: str  # the status text
    help: str
    snippet: str
    language: str


def show_start(visit: Visit) -> Reply:
    """Show every step; htmx polls only the list."""
    steps = _steps(visit)
    done = sum(step.is_done for step in steps)
    first = next((step.name for step in steps if not step.is_done), "")
    template = "start_steps.html" if visit.is_partial else "start.html"
    return visit.render(template, steps=steps, done=done, first=first)


def _steps(visit: Visit) -> list[Step]:
    store, fmt, base = visit.store, visit.formats, visit.base_url
    with visit.database.reading() as connection:
        items = CatalogRepository(connection, store.store_id).size()
        is_seen = DiagnosisRepository(connection, store.store_id).has_product_view()
    activity = visit.context.activity.of(store.store_id)
    usage = read_plan_usage(
        visit.database, store, visit.services.settings.plans, visit.now_ms
    )
    tags = list(live_tags(base, store.domain))
    widget = f"{tags[0]}\n{widget_element()}"
    return [
        Step(
            "key",
            "Copy your publishable key",
            is_done=bool(items or activity.events or usage.calls),
            told="In use" if usage.calls else "Ready",
            help="It stands in your shop's pages and may be seen by anyone. Your server "
            "uses the secret key, which you make under Keys.",
            snippet=store.publishable_key,
            language="key",
        ),
        Step(
            "products",
            "Send your products",
            is_done=items > 0,
            told=f"{fmt.number(items)} received",
            help="Your server sends them with the secret key. Your shop's plugin or an "
            "import does it for you.",
            snippet=_push(base),
            language="shell",
        ),
        Step(
            "script",
            "Add the script to your product page",
            is_done=is_seen,
            told=f"Seen on {store.domain}" if is_seen else "Not seen yet",
            help="Put it where the list should stand, with the product's id filled in by "
            "your theme. It is done when a page of one of your products was viewed.",
            snippet=widget,
            language="html",
        ),
        Step(
            "event",
            "See the first event",
            is_done=activity.events > 0,
            told=f"{fmt.number(activity.events)} in 30 days",
            help="Open a product page of your shop. The script sends the page view.",
            snippet=_event(base, store.publishable_key),
            language="shell",
        ),
        Step(
            "orders",
            "Send your orders",
            is_done=activity.orders > 0,
            told=f"{fmt.number(activity.orders)} in 30 days",
            help="Past orders make lists good from the first day; each new order keeps "
            "them good.",
            snippet=_order(base),
            language="shell",
        ),
        Step(
            "served",
            "Serve the first recommendation",
            is_done=usage.calls > 0,
            told=f"{fmt.count(usage.calls, 'call')} this month",
            help="This call is what the script makes. Its products appear on your page.",
            snippet=f'curl "{base}/v1/recommendations?num=4&key={store.publishable_key}"',
            language="shell",
        ),
    ]


def _push(base: str) -> str:
    item = {"id": "sku-1", "title": "Your product", "price": 19.9, "categories": ["All"]}
    return (
        f'curl {base}/v1/items -H "X-API-Key: YOUR_SECRET_KEY" \\\n'
        f"  -d '{json.dumps({'items': [item]})}'"
    )


def _event(base: str, key: str) -> str:
    event = {"event": "detail-page-view", "item_id": "sku-1", "session_id": "s_test"}
    return (
        f'curl "{base}/v1/events?key={key}" -H "Content-Type: text/plain" \\\n'
        f"  -d '{json.dumps(event)}'"
    )


def _order(base: str) -> str:
    order = {
        "order_id": "1001",
        "session_id": "s_test",
        "items": [{"item_id": "sku-1", "quantity": 1, "price": 19.9}],
    }
    return (
        f'curl {base}/v1/orders -H "X-API-Key: YOUR_SECRET_KEY" \\\n'
        f"  -d '{json.dumps(order)}'"
    )


PAGES: Final = (Page("/dashboard/start", "Get started", show_start, group=Group.CONNECT),)
