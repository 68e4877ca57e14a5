"""Search results page."""

from collections.abc import Sequence
from html import escape
from typing import Final
from urllib.parse import quote_plus

from demo_store.storefront.html_parts import cards, crumbs, widget
from demo_store.storefront.http_messages import HOME, ShopReply, html_reply
from demo_store.storefront.page_layout import PageContext, render_page
from demo_store.storefront.service_client import ServiceClient
from demo_store.storefront.shop_items import ShopItem, ShopItems

_MAX_RESULTS: Final = 24
_EAGER_IMAGES: Final = 6
_ANCHORS: Final = 5
EXAMPLE_QUERIES: Final = ("sleping bag", "wool moss", "umbrela", "espreso beans", "5 mm")
"""The suggested searches; each has results in every season."""


async def search_page(
    setting: PageContext, goods: ShopItems, service: ServiceClient, words: str
) -> ShopReply:
    """Return the results of the service for `words`, or suggestions."""
    words = words.strip()[:200]
    page_attributes = f' data-page="search" data-query="{escape(words)}"'
    if not words:
        return html_reply(
            render_page(setting, "Search", _no_results(words), about=page_attributes)
        )
    response = await service.get("/v1/search", q=words, num=str(_MAX_RESULTS))
    found = goods.some(str(one["id"]) for one in response.found("results"))
    if not found:
        body = _no_results(words)
    else:
        count_text = f"{len(found)} {'thing' if len(found) == 1 else 'things'}"
        body = f"""{crumbs([], "Search")}<div class="head"><h1>“{escape(words)}”</h1>
<p class="soft">{count_text}, the best first</p></div>
<div data-results>{cards(found, level=2, eager_count=_EAGER_IMAGES)}</div>
<section class="band">{_recommendations(setting, found)}</section>"""
    title = f"Search: {words}"
    return html_reply(render_page(setting, title, body, about=page_attributes, query=words))


def _recommendations(setting: PageContext, found: Sequence[ShopItem]) -> str:
    """Return the container of recommendations for the best result."""
    return widget(
        "results",
        item_ids=",".join(shop_item.id for shop_item in found[:_ANCHORS]),
        num=8,
        title="Goes with what you found",
        customer_id=setting.customer,
    )


def _no_results(words: str) -> str:
    examples = "".join(
        f'<li><a href="{HOME}/search?q={quote_plus(one)}">{escape(one)}</a></li>'
        for one in EXAMPLE_QUERIES
    )
    title = f"Nothing found for “{escape(words)}”" if words else "What are you looking for?"
    advice = "Try other words" if words else "For example"
    return f"""{crumbs([], "Search")}<h1>{title}</h1>
<p class="lead">{advice}; mistakes are forgiven:</p>
<nav class="chips" aria-label="Searches to try"><ul>{examples}</ul></nav>
<section class="band">{widget("trending", num=8)}</section>"""
