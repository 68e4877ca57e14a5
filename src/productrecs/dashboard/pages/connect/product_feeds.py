"""Product feeds page: switches feeds on, shows their addresses and what they held."""

from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.connect.file_imports import IMPORTS_PATH
from productrecs.features.product_feeds.product_feed import FeedFormat, feed_path
from productrecs.features.product_feeds.repository import FETCH_DAYS, FeedFetchRepository
from productrecs.tenancy.accounts.store_management import change_settings, find_store

FEEDS_PATH: Final = f"{IMPORTS_PATH}/product-feeds"
_NAMES: Final = {
    FeedFormat.GOOGLE: "Google Merchant Center",
    FeedFormat.META: "Meta (Facebook and Instagram)",
    FeedFormat.OPENAI: "OpenAI (ChatGPT)",
}


def show_feeds(visit: Visit) -> Reply:
    """Show the switch, and each feed's address, last fetch and products left out."""
    store = find_store(visit.database, visit.store.domain)
    with visit.database.reading() as connection:
        fetches = FeedFetchRepository(connection, store.store_id).all(visit.now_ms)
    secret_hash = store.secrets.secret_hash
    return visit.render(
        "product_feeds.html",
        is_on=store.settings.product_feeds,
        has_secret_key=secret_hash is not None,
        feeds=[
            {
                "name": name,
                "address": visit.base_url + feed_path(secret_hash, store.domain, feed),
                "fetched": fetches.get(feed),
            }
            for feed, name in _NAMES.items()
            if secret_hash is not None
        ],
        fetch_days=FETCH_DAYS,
    )


def switch_feeds(visit: Visit) -> Reply:
    """Switch all feeds of the store on or off."""
    is_on = bool(visit.form["on"])
    change_settings(visit.database, visit.store, {"product_feeds": str(is_on).lower()})
    visit.refresh_accounts()
    message = "The feeds are on." if is_on else "The feeds are off. Their addresses say so."
    return visit.redirect(FEEDS_PATH, message)


PAGES: Final = (
    Page(
        FEEDS_PATH,
        "Product feeds",
        show_feeds,
        switch_feeds,
        action="Switched product feeds on or off",
    ),
)
