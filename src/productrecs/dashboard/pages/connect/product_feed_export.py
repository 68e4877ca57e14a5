"""Product feeds page: switches feeds on, shows their addresses and what they held."""

from typing import Final

from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.connect.file_imports import IMPORTS_PATH
from productrecs.features.product_feed_export.feed_entries import FeedFormat, feed_path
from productrecs.features.product_feed_export.feed_fetches.repository import (
    FETCH_DAYS,
    ExportedFeedFetchRepository,
)
from productrecs.tenancy.accounts.store_management import find_store

FEEDS_PATH: Final = f"{IMPORTS_PATH}/product-feeds"
_PLATFORMS: Final = {
    FeedFormat.GOOGLE: (
        "Google Merchant Center",
        "In Merchant Center: Data sources, Add product source, Enter a link to your file.",
    ),
    FeedFormat.META: (
        "Meta (Facebook and Instagram)",
        "In Commerce Manager, open Catalog, Data sources, Data feed, Use a URL.",
    ),
    FeedFormat.OPENAI: (
        "OpenAI (ChatGPT)",
        "Apply at OpenAI first: it reads the feeds of shops that it has agreed with.",
    ),
}


def show_product_feeds(visit: Visit) -> Reply:
    """Show the switch, and each feed's address, last fetch and products left out."""
    store = find_store(visit.database, visit.store.domain)
    with visit.database.reading() as connection:
        fetches = ExportedFeedFetchRepository(
            connection, store.store_id
        ).recent_fetches_by_feed(visit.now_ms)
    secret_hash, catalog = store.secrets.secret_hash, visit.cached_store.state.catalog
    in_feeds = catalog.visible(visit.now_ms, hide_sold_out=False)
    catalog_size = len(catalog.numbers)
    return visit.render(
        "product_feeds.html",
        is_on=store.settings.product_feeds,
        has_secret_key=secret_hash is not None,
        feeds=[
            {
                "name": name,
                "where": where,
                "address": visit.base_url + feed_path(secret_hash, store.domain, feed),
                "fetched": fetches.get(feed),
            }
            for feed, (name, where) in _PLATFORMS.items()
            if secret_hash is not None
        ],
        catalog_size=catalog_size,
        hidden=catalog_size - int(in_feeds.sum()),
        fetch_days=FETCH_DAYS,
    )


def switch_product_feeds(visit: Visit) -> Reply:
    """Switch all feeds of the store on or off."""
    is_on = bool(visit.form["on"])
    visit.change_settings({"product_feeds": str(is_on).lower()})
    message = (
        "The feeds are on."
        if is_on
        else "The feeds are off. A platform that fetches one gets an error."
    )
    return visit.redirect(FEEDS_PATH, message)


PAGES: Final = (
    Page(
        FEEDS_PATH,
        "Product feeds",
        show_product_feeds,
        switch_product_feeds,
        action="Switched product feeds on or off",
    ),
)
