"""Route table: every module of routes, in the order of the API's description.

A new route is a function in one of these modules; a new module adds its line here.
"""

import re
from collections.abc import Mapping
from typing import Final

from productrecs.http.pipeline.route_declaration import (
    DASHBOARD,
    DASHBOARD_PATH,
    Route,
    Routes,
    publish_routes,
)
from productrecs.http.routes.integration import (
    bundles,
    customer_ids,
    engines,
    experiments,
    plugin_details_and_dashboard_link,
    purchase_orders,
    report,
    settings_and_widget_config,
    status,
)
from productrecs.http.routes.public import (
    api_reference,
    assistant_catalog,
    assistant_mcp,
    developer_guides,
    guides_mcp,
    health,
    landing_page,
    look_pictures,
    mail_slots,
    metrics,
    product_feed_export,
    shop_module_downloads,
    widget_scripts,
    woocommerce_plugin_download,
)
from productrecs.http.routes.server import (
    item_changes,
    order_uploads,
    orders,
    read_items_and_orders,
)
from productrecs.http.routes.widget import (
    events,
    forecast,
    looks,
    photo_search_and_analysis,
    recommendations,
    search,
    widget_config,
)

ALL_ROUTES: Final[tuple[Routes, ...]] = (
    recommendations.routes,
    search.routes,
    photo_search_and_analysis.routes,
    looks.routes,
    widget_config.routes,
    forecast.routes,
    events.routes,
    orders.routes,
    read_items_and_orders.routes,
    item_changes.routes,  # deletes an item that the calls before read
    order_uploads.routes,
    plugin_details_and_dashboard_link.routes,
    settings_and_widget_config.routes,
    bundles.routes,
    purchase_orders.routes,
    experiments.routes,
    engines.routes,
    status.routes,
    customer_ids.routes,
    report.routes,
    health.routes,
    metrics.routes,
    api_reference.routes,
    developer_guides.routes,
    widget_scripts.routes,
    woocommerce_plugin_download.routes,
    shop_module_downloads.routes,
    look_pictures.routes,
    product_feed_export.routes,
    mail_slots.routes,
    assistant_catalog.routes,
    assistant_mcp.routes,
    guides_mcp.routes,
    landing_page.routes,
)
ROUTES: Final[Mapping[str, Route]] = publish_routes(ALL_ROUTES)
"""Every route of the service by its path. One that is not here does not exist."""

_PREFIXES: Final = tuple(
    (path.partition("{")[0], route) for path, route in ROUTES.items() if route.takes_text
)
_FOLDERS: Final = {
    (path.partition("/{")[0], path.partition("/{")[2].count("/") + 1): route
    for path, route in ROUTES.items()
    if "/{" in path and not route.takes_text
}
"""Routes of files in a folder, by the folder and how many segments follow it."""


_PATTERNS: Final = tuple(
    (re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), route)
    for path, route in ROUTES.items()
    if re.search(r"}/[^{]", path)
)
"""Routes with fixed segments after a parameter."""


def route_of(path: str) -> Route | None:
    """Return the route that a request's path belongs to; None if there is none."""
    if (route := ROUTES.get(path)) is not None:
        return route
    for prefix, route in _PREFIXES:
        if path.startswith(prefix) and len(path) > len(prefix):
            return route
    for pattern, route in _PATTERNS:
        if pattern.fullmatch(path):
            return route
    folder, _, name = path.rpartition("/")
    if name and (route := _FOLDERS.get((folder, 1))) is not None:
        return route
    if name and (route := _FOLDERS.get((folder.rpartition("/")[0], 2))) is not None:
        return route
    return DASHBOARD if f"{path}/".startswith(f"{DASHBOARD_PATH}/") else None
