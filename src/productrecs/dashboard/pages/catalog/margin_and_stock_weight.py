"""Margin and stock page: the weight of earnings in lists, and its replay on past orders."""

from typing import Final

from productrecs.dashboard.page import NavigationGroup, Page, Reply, Visit, form_pages
from productrecs.dashboard.pages.catalog.recommendation_and_search_settings import (
    setting_errors,
)
from productrecs.dashboard.report_period import chosen_period
from productrecs.dashboard.report_values import figures_by_name, rows_by_column
from productrecs.report_registry import EARNINGS, make_report
from productrecs.tenancy.accounts.store_management import find_store

EARNINGS_PATH: Final = "/dashboard/merchandising/earnings"
_SETTING: Final = "earnings_weight"


def show_earnings(visit: Visit) -> Reply:
    """Show the weight and the last replay."""
    stored = find_store(visit.database, visit.store.domain).settings.earnings_weight
    return _earnings_weight_page(visit, f"{stored:g}")


def save_earnings_weight(visit: Visit) -> Reply:
    """Store the weight."""
    sent = visit.form["weight"]
    errors = setting_errors({_SETTING: sent}, {_SETTING: "The weight"})
    if errors:
        return _earnings_weight_page(visit, sent, errors[_SETTING], status=422)
    visit.change_settings({_SETTING: sent})
    message = "Saved. Lists follow within two minutes."
    return visit.redirect(EARNINGS_PATH, message)


def start_earnings_replay(visit: Visit) -> Reply:
    """Enqueue a replay of the store's past orders."""
    visit.enqueue_job("replay-earnings")
    message = "The replay has started. It takes up to some minutes; load this page again."
    return visit.redirect(EARNINGS_PATH, message)


def _earnings_weight_page(
    visit: Visit, weight: str, error: str = "", *, status: int = 200
) -> Reply:
    asked = chosen_period(visit).query_by()
    made = make_report(visit.services, visit.store, EARNINGS, asked)
    return visit.render(
        "earnings.html",
        status=status,
        weight=weight,
        error=error,
        made=made,
        figures=figures_by_name(made),
        rows=rows_by_column(made),
        has_forecast=visit.store.settings.demand_forecast,
    )


PAGES: Final = (
    Page(
        EARNINGS_PATH,
        "Margin and stock",
        show_earnings,
        save_earnings_weight,
        group=NavigationGroup.CATALOG,
        action="Changed the weight of margin and stock",
    ),
    *form_pages(
        EARNINGS_PATH,
        "Margin and stock",
        ("replay", start_earnings_replay, "Replayed past orders"),
    ),
)
