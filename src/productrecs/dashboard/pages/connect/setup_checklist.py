"""Setup checklist: from the shop system to the first recommendation on the site."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlencode

from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    Reply,
    Visit,
    form_pages,
    is_private_host,
)
from productrecs.features.reports.tracking_health.repository import TrackingIssueRepository
from productrecs.features.reports.tracking_health.tracking_health_report import (
    events_in_24_hours,
)
from productrecs.http.pipeline.route_declaration import (
    OPENCART_PATH,
    PLUGIN_PATH,
    PRESTASHOP_PATH,
)
from productrecs.http.routes.public.embed_code import live_script_tags, widget_element
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.serving.activity_counts import WINDOW_MS
from productrecs.tenancy.accounts.api_keys import PAGES_KEY_ID
from productrecs.tenancy.accounts.key_uses.repository import KeyUseRepository
from productrecs.tenancy.accounts.shop_connections.repository import (
    ShopConnectionRepository,
)
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    find_store,
    read_plan_usage,
    rotate_secret,
)
from productrecs.tenancy.users.dashboard_user import Role

START_PATH: Final = "/dashboard/start"


class ShopModuleDownload(NamedTuple):
    """An archive that a merchant installs in their shop."""

    path: str
    kind: str
    steps: str


PLATFORMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "woocommerce": "WooCommerce",
        "shopify": "Shopify",
        "magento": "Magento",
        "prestashop": "PrestaShop",
        "opencart": "OpenCart",
        "custom": "My own shop",
    }
)
_PLUGIN: Final = "woocommerce"
_DOWNLOADS: Final = MappingProxyType(
    {
        _PLUGIN: ShopModuleDownload(
            PLUGIN_PATH, "plugin", "In WordPress, choose Plugins, Add New, Upload Plugin."
        ),
        "opencart": ShopModuleDownload(
            OPENCART_PATH,
            "extension",
            "In OpenCart, choose Extensions, Installer, and upload it without renaming it. "
            "Install it there, and once more under Extensions, Extensions, Modules.",
        ),
        "prestashop": ShopModuleDownload(
            PRESTASHOP_PATH,
            "module",
            "In PrestaShop, choose Modules, Module Manager, Upload a module. "
            "Then press Configure.",
        ),
    }
)
"""What connects a shop system by itself."""


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    """One step of the checklist: whether it is done, and the snippet that does it."""

    name: str
    title: str
    is_done: bool
    status_text: str  # the status text
    help: str
    snippet: str
    language: str
    warning: str = ""


def create_first_secret_key(visit: Visit) -> Reply:
    """Create the store's first secret key and show it once; a key in use stays."""
    store = find_store(visit.database, visit.store.domain)
    if store.secrets.active_keys(visit.system_ms):
        return show_setup_checklist(visit)
    secret = rotate_secret(visit.database, store, visit.system_ms)
    visit.refresh_accounts()
    return show_setup_checklist(visit, secret)


def count_done_and_all_setup_steps(visit: Visit) -> tuple[int, int]:
    """Return how many steps are done, and how many there are."""
    steps = _checklist_steps(visit)
    return sum(step.is_done for step in steps), len(steps)


def show_setup_checklist(visit: Visit, secret: str = "") -> Reply:
    """Show every step; htmx polls only the list."""
    steps = _checklist_steps(visit)
    done = sum(step.is_done for step in steps)
    first = next((step.name for step in steps if not step.is_done), "")
    store = find_store(visit.database, visit.store.domain)
    return visit.render(
        "start_steps.html" if visit.is_partial else "start.html",
        steps=steps,
        done=done,
        first=first,
        platforms=PLATFORMS,
        downloads=_DOWNLOADS,
        platform=_chosen_or_connected_platform(visit),
        secret=secret,
        has_secret=bool(store.secrets.active_keys(visit.system_ms)),
        is_owner=visit.user.role is Role.OWNER,
        guide_query=urlencode({"key": store.publishable_key, "shop": store.domain}),
    )


def _chosen_or_connected_platform(visit: Visit) -> str:
    """Return the chosen shop system, else the connected one; "" if neither is known."""
    chosen = visit.query["platform"] or visit.form["platform"]
    if chosen in PLATFORMS:
        return chosen
    with visit.database.reading() as connection:
        shop_connection = ShopConnectionRepository(connection, visit.store.store_id).find()
    return shop_connection.platform.value if shop_connection.platform else ""


def _script_seen_text_and_warning(store: Store, host: str | None) -> tuple[str, str]:
    """Return where the script ran last, and what is wrong with that place."""
    if host is None:
        return "Seen", ""
    known_hosts = {
        store.domain,
        *(origin.partition("://")[2].partition(":")[0] for origin in store.origins),
    }
    if host.removeprefix("www.") in {known.removeprefix("www.") for known in known_hosts}:
        return f"Seen on {host}", ""
    if is_private_host(host):
        return f"Seen on {host}", (
            f"{host} is an address of your own network: shoppers do not see this page. Put "
            f"the script on {store.domain} too."
        )
    return f"Seen on {host}", (
        f"The last events came from {host}, but this store is {store.domain}. If both are "
        "yours, add the site under Keys and plan, Origins."
    )


def _checklist_steps(visit: Visit) -> list[ChecklistStep]:
    store, fmt, base = visit.store, visit.formats, visit.base_url
    with visit.database.reading() as connection:
        items = CatalogRepository(connection, store.store_id).size()
        is_seen = TrackingIssueRepository(connection, store.store_id).has_product_view()
        uses = KeyUseRepository(connection, store.store_id).last_addresses()
    activity = visit.context.activity.cached_or_counted(store.store_id)
    recent = events_in_24_hours(visit.database, store, visit.now_ms)
    usage = read_plan_usage(
        visit.database, store, visit.services.settings.plans, visit.now_ms
    )
    is_connected = bool(items or activity.events or usage.calls)
    tags = list(live_script_tags(base, store.domain))
    widget = f"{tags[0]}\n{widget_element()}"
    seen, warning = _script_seen_text_and_warning(store, uses.get(PAGES_KEY_ID))
    return [
        ChecklistStep(
            "key",
            "Connect your shop",
            is_done=is_connected,
            status_text="In use" if is_connected else "Not used yet",
            help="The publishable key stands in your shop's pages; anyone may see it. "
            "The secret key is for your shop's server or plugin only. This step is done "
            "when the first products, events or calls arrive.",
            snippet=store.publishable_key,
            language="key",
        ),
        ChecklistStep(
            "products",
            "Send your products",
            is_done=items > 0,
            status_text=f"{fmt.number(items)} received",
            help=_product_source_text(_chosen_or_connected_platform(visit)),
            snippet=_push_curl_command(base),
            language="shell",
        ),
        ChecklistStep(
            "script",
            "Add the script to your product page",
            is_done=is_seen,
            status_text=seen if is_seen else "Not seen yet",
            warning=warning if is_seen else "",
            help="Put it where the list should stand, with the product's id filled in by "
            "your theme. It is done when a page of one of your products was viewed.",
            snippet=widget,
            language="html",
        ),
        ChecklistStep(
            "event",
            "See the first event",
            is_done=activity.events > 0,
            status_text=_describe_event_count(visit, recent, activity.events),
            help="Open a product page of your shop. The script sends the page view. "
            "Your own visits count like those of shoppers.",
            snippet=_event_curl_command(base, store.publishable_key),
            language="shell",
        ),
        ChecklistStep(
            "orders",
            "Send your orders",
            is_done=activity.orders > 0,
            status_text=f"{fmt.number(activity.orders)} since "
            f"{fmt.time(visit.now_ms - WINDOW_MS)}, imported orders of these days too",
            help="Past orders make lists good from the first day; each new order keeps "
            "them good.",
            snippet=_order_curl_command(base),
            language="shell",
        ),
        ChecklistStep(
            "served",
            "Serve the first recommendation",
            is_done=usage.calls > 0 and items > 0,
            status_text=f"{fmt.count(usage.calls, 'call')} this month"
            + (", no products to show yet" if usage.calls and not items else ""),
            help="This call is what the script makes. Its products appear on your page "
            "as soon as your catalog has some.",
            snippet=f'curl "{base}/v1/recommendations?num=4&key={store.publishable_key}"',
            language="shell",
        ),
    ]


def _describe_event_count(visit: Visit, recent: int, of_a_month: int) -> str:
    """Return how many events came, as the home page counts them, a minute later."""
    if recent:
        return f"{visit.formats.number(recent)} in 24 hours"
    return "Received" if of_a_month else "None yet"


def _product_source_text(platform: str) -> str:
    if platform in _DOWNLOADS:
        kind = _DOWNLOADS[platform].kind
        return f"The {kind} sends them when it is connected. A file can add what it lacks."
    return (
        "Import the file that your shop exports, and repeat it when prices or stock "
        "change; or let your shop's server send them with the secret key."
    )


def _push_curl_command(base: str) -> str:
    item = {"id": "sku-1", "title": "Your product", "price": 19.9, "categories": ["All"]}
    return (
        f'curl {base}/v1/items -H "X-API-Key: YOUR_SECRET_KEY" \\\n'
        f"  -d '{json.dumps({'items': [item]})}'"
    )


def _event_curl_command(base: str, key: str) -> str:
    event = {"event": "detail-page-view", "item_id": "sku-1", "session_id": "s_test"}
    return (
        f'curl "{base}/v1/events?key={key}" -H "Content-Type: text/plain" \\\n'
        f"  -d '{json.dumps(event)}'"
    )


def _order_curl_command(base: str) -> str:
    order = {
        "order_id": "1001",
        "session_id": "s_test",
        "items": [{"item_id": "sku-1", "quantity": 1, "price": 19.9}],
    }
    return (
        f'curl {base}/v1/orders -H "X-API-Key: YOUR_SECRET_KEY" \\\n'
        f"  -d '{json.dumps(order)}'"
    )


PAGES: Final = (
    Page(START_PATH, "Get started", show_setup_checklist, group=NavigationGroup.CONNECT),
    *form_pages(
        START_PATH,
        "Get started",
        ("secret", create_first_secret_key, "Created a secret key"),
        may_change=Role.OWNER,
    ),
)
