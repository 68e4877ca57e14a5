"""Page registry: every page of the dashboard, in the order of the navigation."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Final

from productrecs.entrypoints.http.dashboard.page import Group, Page
from productrecs.entrypoints.http.dashboard.pages import (
    account,
    bundles,
    customers,
    demand,
    events,
    experiments,
    find,
    home,
    impact,
    imports,
    invitation,
    list_settings,
    login,
    look_edit,
    looks,
    margin_and_stock_weight,
    merchandising,
    merchandising_rule,
    password_reset,
    placements,
    product_item,
    products,
    register,
    report_file,
    search_report_and_preview,
    security_and_audit_log,
    setup_checklist,
    team,
    two_factor,
    widgets,
)

PAGES: Final[tuple[Page, ...]] = (
    *home.PAGES,
    *setup_checklist.PAGES,
    *find.PAGES,
    *products.PAGES,
    *product_item.PAGES,
    *imports.PAGES,
    *events.PAGES,
    *impact.PAGES,
    *experiments.PAGES,
    *search_report_and_preview.PAGES,
    *demand.PAGES,
    *customers.PAGES,
    *report_file.PAGES,
    *merchandising.PAGES,
    *merchandising_rule.PAGES,
    *placements.PAGES,
    *bundles.PAGES,
    *list_settings.PAGES,
    *margin_and_stock_weight.PAGES,
    *widgets.PAGES,
    *looks.PAGES,
    *look_edit.PAGES,
    *account.PAGES,
    *team.PAGES,
    *security_and_audit_log.PAGES,
    *two_factor.PAGES,
    *login.PAGES,
    *register.PAGES,
    *invitation.PAGES,
    *password_reset.PAGES,
)
BY_PATH: Final[Mapping[str, Page]] = MappingProxyType({page.path: page for page in PAGES})
_ORDER: Final = tuple(Group)


def navigation() -> Iterator[tuple[Group, list[Page]]]:
    """Yield each group of the navigation with its pages."""
    shown = [page for page in PAGES if page.group is not None]
    shown.sort(key=lambda page: _ORDER.index(page.group or Group.OVERVIEW))
    for group, pages in groupby(shown, key=lambda page: page.group or Group.OVERVIEW):
        yield group, list(pages)
