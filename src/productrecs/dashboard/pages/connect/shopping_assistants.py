"""Shopping assistants page: what assistants may do, and how often they called.

One switch is for those that call this service (UCP), one for those in shoppers' browsers.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.connect.file_imports import IMPORTS_PATH
from productrecs.dashboard.report_values import (
    SalesAfterClicks,
    recount_note,
    sales_after_clicks,
)
from productrecs.features.assistants.attributed_assistant_searches import MAX_VALUES
from productrecs.features.assistants.browser_tools import BROWSER, BrowserTool
from productrecs.features.assistants.catalog_calls import (
    WIDGET_PREFIX,
    CatalogSearchCall,
    parse_catalog_call,
)
from productrecs.features.assistants.repository import (
    CALL_DAYS,
    AssistantCallRepository,
    AssistantSearchSourceRepository,
    RecentAssistantCalls,
)
from productrecs.features.assistants.ucp_profile import (
    PROFILE_FILE,
    CatalogOperation,
    catalog_path,
)
from productrecs.serving.assistant_catalog import AssistantCatalog
from productrecs.tenancy.accounts.store_management import find_store

_SAMPLE_PRODUCTS: Final = 3
_LONGEST_SAMPLE: Final = 200
ASSISTANTS_PATH: Final = f"{IMPORTS_PATH}/shopping-assistants"


_COLUMNS: Final = {
    "Searches": (CatalogOperation.SEARCH, BrowserTool.SEARCH),
    "Lookups": (CatalogOperation.LOOKUP,),
    "Products": (CatalogOperation.PRODUCT,),
    "Recommendations": (BrowserTool.RECOMMEND,),
}
# The setting of each switch, and what follows from it.
_SWITCHES: Final = {
    "shopping_assistants": (
        "can now search your catalog",
        "can no longer see your catalog",
    ),
    "browser_assistants": (
        "in browsers can now use your pages",
        "in browsers can no longer use your pages",
    ),
}


def show_shopping_assistants(visit: Visit) -> Reply:
    """Show the switches, the profile's address and the calls of each assistant."""
    store = find_store(visit.database, visit.store.domain)
    with visit.database.reading() as connection:
        calls = AssistantCallRepository(connection, store.store_id).recent_calls_by_agent(
            visit.now_ms
        )
        counts = AssistantSearchSourceRepository(connection, store.store_id)
        searches = counts.recent_searches_by_parameter(visit.now_ms)
    clicks = sales_after_clicks(visit, WIDGET_PREFIX)
    sold = _sales_by_agent_or_campaign(clicks, lambda agent, _campaign: agent)
    sold_of_campaigns = _sales_by_agent_or_campaign(
        clicks, lambda _agent, campaign: campaign
    )
    names = [*calls, *(name for name in sold if name not in calls)]
    words = visit.query["q"][:_LONGEST_SAMPLE]
    return visit.render(
        "shopping_assistants.html",
        recount=recount_note(visit),
        q=words,
        sample=_sample_search(visit, words)
        if words and store.settings.shopping_assistants
        else None,
        is_on=store.settings.shopping_assistants,
        is_browser_on=store.settings.browser_assistants,
        profile=f"{visit.base_url}{catalog_path(store.domain)}/{PROFILE_FILE}",
        agents=[
            _agent_fields(
                name,
                calls.get(name, RecentAssistantCalls()),
                sold.get(name, SalesAfterClicks()),
            )
            for name in names
        ],
        origins=_attribution_rows(searches, sold_of_campaigns),
        max_values=MAX_VALUES,
        columns=list(_COLUMNS),
        call_days=CALL_DAYS,
    )


def _sales_by_agent_or_campaign(
    clicks: Mapping[str, SalesAfterClicks], key_of: Callable[[str, str], str]
) -> dict[str, SalesAfterClicks]:
    """Return sales by the assistant or by the campaign of `assistant/campaign`."""
    sales_by_key: dict[str, SalesAfterClicks] = {}
    for name, clicked in clicks.items():
        agent, _, campaign = name.partition("/")
        if key := key_of(agent, campaign):
            before = sales_by_key.get(key, SalesAfterClicks())
            sales = int(before.sales or 0) + int(clicked.sales or 0)
            sales_by_key[key] = SalesAfterClicks(sales, before.revenue + clicked.revenue)
    return sales_by_key


def _attribution_rows(
    searches: Mapping[str, Mapping[str, int]], sold: Mapping[str, SalesAfterClicks]
) -> list[dict[str, Any]]:
    """Return the sources, mediums and campaigns of searches, campaigns with their sales."""
    rows = []
    for parameter, counts in searches.items():
        sales = sold if parameter == "campaign" else {}
        values = (*counts, *(name for name in sales if name not in counts))
        rows += [
            {
                "parameter": parameter.capitalize(),
                "value": value,
                "searches": counts.get(value, 0),
                "sold": sales.get(value),
            }
            for value in values
        ]
    return rows


def _agent_fields(
    name: str, calls: RecentAssistantCalls, sold: SalesAfterClicks
) -> dict[str, Any]:
    return {
        "name": "In shoppers' browsers" if name == BROWSER else name,
        "counts": [
            sum(calls.calls.get(operation, 0) for operation in operations)
            for operations in _COLUMNS.values()
        ],
        "sales": sold.sales,
        "revenue": sold.revenue,
        "last_ms": calls.last_ms,
    }


def _sample_search(visit: Visit, words: str) -> dict[str, Any]:
    """Return what an assistant gets that searches the catalog for some words."""
    body = {"query": words, "pagination": {"limit": _SAMPLE_PRODUCTS}}
    call = parse_catalog_call(body, CatalogSearchCall)
    catalog = AssistantCatalog(
        visit.database, visit.store, visit.cached_store, call, "", visit.now_ms
    )
    items, total = catalog.search_items(call)
    products = catalog.page_reply(call, items, total)["products"]
    return {
        "total": total,
        "titles": [product["title"] for product in products],
        "first": json.dumps(products[0], indent=2, ensure_ascii=False) if products else "",
    }


def switch_assistant_setting(visit: Visit) -> Reply:
    """Switch what assistants may do on or off."""
    name, is_on = visit.form["setting"], bool(visit.form["on"])
    if name not in _SWITCHES:
        return visit.redirect(ASSISTANTS_PATH)
    visit.change_settings({name: str(is_on).lower()})
    on, off = _SWITCHES[name]
    return visit.redirect(ASSISTANTS_PATH, f"Shopping assistants {on if is_on else off}.")


PAGES: Final = (
    Page(
        ASSISTANTS_PATH,
        "Shopping assistants",
        show_shopping_assistants,
        switch_assistant_setting,
        action="Switched what shopping assistants may do on or off",
    ),
)
