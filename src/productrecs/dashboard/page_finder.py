"""Page finder: the pages and guides that a merchant's words mean."""

import re
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.dashboard.page import HOME_PATH
from productrecs.features.guides.developer_guide_index import GUIDES

_WORD: Final = re.compile(r"\w+")
_MOST_GUIDES: Final = 4
FINDABLE: Final = MappingProxyType(
    {
        "": ("Home", "home overview dashboard sales figures"),
        "/start": (
            "Get started",
            "get started setup install connect shop system snippet checklist",
        ),
        "/products": (
            "Products",
            "products catalog items pictures photos stock prices picture",
        ),
        "/imports": ("Imports", "imports upload csv xml excel file products orders export"),
        "/imports/scheduled-feed": (
            "Scheduled feed",
            "scheduled feed automatic fetch url xml hourly daily",
        ),
        "/imports/product-feeds": (
            "Product feeds",
            """
            product feeds google merchant center shopping ads meta facebook instagram
            openai chatgpt feed export
        """,
        ),
        "/imports/shopping-assistants": (
            "Shopping assistants",
            """
            shopping assistants ai agents chatgpt google gemini copilot perplexity ucp llm
        """,
        ),
        "/events": ("Events", "live events tracking pixel debug views clicks"),
        "/impact": ("Impact", "impact sales revenue roi holdout attribution report"),
        "/tests": ("Tests", "tests ab a/b experiments variants split"),
        "/search": (
            "Search",
            "search queries synonyms redirects no results zero results words",
        ),
        "/search/relevance": (
            "Search relevance",
            "search relevance quality ranking ndcg judge",
        ),
        "/demand": (
            "Demand",
            "demand forecast reorder restock inventory stockout supplier lead time",
        ),
        "/demand/orders": (
            "Order sheets",
            "order sheets purchase orders suppliers vendors packs budget minimum on order",
        ),
        "/demand/calendar": (
            "Calendar",
            "calendar campaigns holidays closed days closure sale dates country",
        ),
        "/customers": (
            "Customers",
            "customers shoppers privacy gdpr erase export delete person",
        ),
        "/merchandising": (
            "Merchandising",
            "merchandising rules pin boost bury exclude hide ranking",
        ),
        "/merchandising/settings": (
            "List settings",
            "list settings recommendation options sold out repeats models algorithms",
        ),
        "/merchandising/earnings": ("Margin and stock", "margin and stock profit weight"),
        "/placements": (
            "Placements",
            "placements lists slots strategy recommendations places",
        ),
        "/bundles": ("Bundles", "bundles sets kits together offers"),
        "/widgets": ("Widgets", "widgets design colours look embed html code carousel"),
        "/widgets/mail": (
            "Products in mails",
            """
            products in mails newsletters emails e-mails receipts mailchimp klaviyo brevo
            campaigns
        """,
        ),
        "/looks": ("Looks", "looks shop the look hotspots outfits photos"),
        "/settings": (
            "Your store",
            """
            your store settings currency language time zone contact domain delete remove
            close cancel
        """,
        ),
        "/settings/webhooks": (
            "Webhooks",
            "webhooks notifications alerts zapier slack integration messages",
        ),
        "/account": (
            "Keys and plan",
            "keys and plan api key secret publishable origins billing quota invoice",
        ),
        "/team": ("Team", "team users invite members roles colleagues"),
        "/security": (
            "Login and security",
            """
            security password two-factor 2fa sessions login devices e-mail email weekly
            report
        """,
        ),
        "/audit": ("Audit log", "audit log history changes who undo"),
    }
)
"""The pages, by path below the dashboard: their titles, and the words that find them."""


class FoundPageOrGuide(NamedTuple):
    """A page or guide that the typed words mean."""

    path: str
    title: str


def find_pages(text: str) -> list[FoundPageOrGuide]:
    """Return the pages whose title and words have all typed words, titles first."""
    typed = _word_stems(text)
    found = [
        (
            not _has_all_word_starts(typed, title),
            order,
            FoundPageOrGuide(f"{HOME_PATH}{path}", title),
        )
        for order, (path, (title, words)) in enumerate(FINDABLE.items())
        if _has_all_word_starts(typed, f"{title} {words}")
    ]
    return [page for *_, page in sorted(found)]


def find_guides(text: str) -> list[FoundPageOrGuide]:
    """Return the guides whose title or summary have all typed words, titles first."""
    typed = _word_stems(text)
    found = [
        (not _has_all_word_starts(typed, guide.title), order, guide)
        for order, guide in enumerate(GUIDES)
        if _has_all_word_starts(typed, f"{guide.title} {guide.summary}")
    ]
    return [
        FoundPageOrGuide(f"/guides/{guide.slug}", guide.title)
        for _, _, guide in sorted(found, key=lambda match: match[:2])[:_MOST_GUIDES]
    ]


def _word_stems(text: str) -> list[str]:
    """Return the words of a text, without the s of a plural; letters alone are none."""
    words = [word.removesuffix("s") for word in _WORD.findall(text.casefold())]
    return [word for word in words if len(word) > 1]


def _has_all_word_starts(typed: list[str], text: str) -> bool:
    words = _WORD.findall(text.casefold())
    return bool(typed) and all(
        any(word.startswith(part) for word in words) for part in typed
    )
