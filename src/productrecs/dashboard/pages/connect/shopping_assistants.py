"""Shopping assistants page: switches their catalog on, and counts their calls."""

from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.connect.file_imports import IMPORTS_PATH
from productrecs.features.assistants.repository import (
    CALL_DAYS,
    AssistantCallRepository,
)
from productrecs.features.assistants.ucp_profile import (
    PROFILE_FILE,
    Operation,
    catalog_path,
)
from productrecs.tenancy.accounts.store_management import change_settings, find_store

ASSISTANTS_PATH: Final = f"{IMPORTS_PATH}/shopping-assistants"


def show_assistants(visit: Visit) -> Reply:
    """Show the switch, the profile's address and the calls of each assistant."""
    store = find_store(visit.database, visit.store.domain)
    with visit.database.reading() as connection:
        calls = AssistantCallRepository(connection, store.store_id).all(visit.now_ms)
    return visit.render(
        "shopping_assistants.html",
        is_on=store.settings.shopping_assistants,
        profile=f"{visit.base_url}{catalog_path(store.domain)}/{PROFILE_FILE}",
        agents=[
            {
                "name": name,
                "searches": found.calls.get(Operation.SEARCH, 0),
                "lookups": found.calls.get(Operation.LOOKUP, 0),
                "products": found.calls.get(Operation.PRODUCT, 0),
                "last_ms": found.last_ms,
            }
            for name, found in calls.items()
        ],
        call_days=CALL_DAYS,
    )


def switch_assistants(visit: Visit) -> Reply:
    """Switch the store's catalog for assistants on or off."""
    is_on = bool(visit.form["on"])
    changed = {"shopping_assistants": str(is_on).lower()}
    change_settings(visit.database, visit.store, changed)
    visit.refresh_accounts()
    state = "can now search your catalog" if is_on else "can no longer see your catalog"
    return visit.redirect(ASSISTANTS_PATH, f"Shopping assistants {state}.")


PAGES: Final = (
    Page(
        ASSISTANTS_PATH,
        "Shopping assistants",
        show_assistants,
        switch_assistants,
        action="Switched the catalog for shopping assistants on or off",
    ),
)
