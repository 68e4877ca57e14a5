"""Page registry: every page of the dashboard, in the order of the navigation."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Final

from productrecs.dashboard.page import HOME_PATH, NavigationGroup, Page
from productrecs.dashboard.pages import home_and_dashboard_search
from productrecs.dashboard.pages.account import (
    email_confirmation,
    login,
    password_reset,
    registration,
    weekly_report_subscription,
)
from productrecs.dashboard.pages.analyse import (
    customers,
    demand_forecast,
    experiments,
    order_sheets,
    product_forecast,
    report_csv_download,
    sales_calendar,
    sales_impact,
    search_relevance,
    search_report_and_improvements,
)
from productrecs.dashboard.pages.catalog import (
    autocomplete_options,
    bundles,
    look_editor,
    looks,
    margin_and_stock_weight,
    merchandising,
    placements,
    products,
    recommendation_and_search_settings,
)
from productrecs.dashboard.pages.connect import (
    file_imports,
    live_events,
    mail_slots,
    product_feed_export,
    scheduled_feed,
    setup_checklist,
    shopping_assistants,
    widgets,
)
from productrecs.dashboard.pages.settings import (
    access_tokens,
    api_keys_and_plan,
    audit_log,
    security,
    store_settings,
    team,
    webhooks,
)

PAGES: Final[tuple[Page, ...]] = (
    *home_and_dashboard_search.PAGES,
    *setup_checklist.PAGES,
    *autocomplete_options.PAGES,
    *products.PAGES,
    *file_imports.PAGES,
    *product_feed_export.PAGES,
    *shopping_assistants.PAGES,
    *scheduled_feed.PAGES,
    *live_events.PAGES,
    *sales_impact.PAGES,
    *experiments.PAGES,
    *search_report_and_improvements.PAGES,
    *search_relevance.PAGES,
    *demand_forecast.PAGES,
    *product_forecast.PAGES,
    *order_sheets.PAGES,
    *sales_calendar.PAGES,
    *customers.PAGES,
    *report_csv_download.PAGES,
    *merchandising.PAGES,
    *placements.PAGES,
    *bundles.PAGES,
    *recommendation_and_search_settings.PAGES,
    *margin_and_stock_weight.PAGES,
    *widgets.PAGES,
    *mail_slots.PAGES,
    *looks.PAGES,
    *look_editor.PAGES,
    *store_settings.PAGES,
    *webhooks.PAGES,
    *api_keys_and_plan.PAGES,
    *access_tokens.PAGES,
    *team.PAGES,
    *security.PAGES,
    *audit_log.PAGES,
    *login.PAGES,
    *registration.PAGES,
    *weekly_report_subscription.PAGES,
    *password_reset.PAGES,
    *email_confirmation.PAGES,
)
BY_PATH: Final[Mapping[str, Page]] = MappingProxyType({page.path: page for page in PAGES})
_ORDER: Final = tuple(NavigationGroup)


def current_navigation_path(path: str) -> str:
    """Return the path of the navigation's page that a path belongs to."""
    above = [
        page.path
        for page in PAGES
        if page.group is not None and f"{path}/".startswith(f"{page.path}/")
    ]
    return max(above, key=len, default="")


def parent_page_path(path: str) -> str:
    """Return the path of the nearest page above that a browser can open."""
    while path != HOME_PATH:
        path = path.rpartition("/")[0]
        page = BY_PATH.get(path)
        if page is not None and page.show is not None:
            break
    return path


def navigation() -> Iterator[tuple[NavigationGroup, list[Page]]]:
    """Yield each group of the navigation with its pages."""
    shown = [page for page in PAGES if page.group is not None]
    shown.sort(key=lambda page: _ORDER.index(page.group or NavigationGroup.OVERVIEW))
    for group, pages in groupby(
        shown, key=lambda page: page.group or NavigationGroup.OVERVIEW
    ):
        yield group, list(pages)
