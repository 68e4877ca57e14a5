"""Which guides are there, in which order, and what is each for?"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Guide:
    """One guide: `pages/{slug}.md` is its text, which begins with its title."""

    slug: str
    title: str
    summary: str
    group: str


_START: Final = "Start"
_SEND: Final = "Tell it about your store"
_ASK: Final = "Ask it"
_SHOW: Final = "Show it"
_RUN: Final = "Run it"

GUIDES: Final = (
    Guide(
        "quickstart",
        "Quick start",
        "An empty store to its first recommendation, in five minutes.",
        _START,
    ),
    Guide(
        "keys",
        "Keys and origins",
        "Which key goes where, how it is sent, and who may use it.",
        _START,
    ),
    Guide(
        "items",
        "Items: the catalog",
        "Push, change and delete products; what each field means.",
        _SEND,
    ),
    Guide(
        "catalog-files",
        "Catalog from a file",
        "Exports of WooCommerce, Shopify and Magento, Google feeds, any table.",
        _SEND,
    ),
    Guide(
        "events",
        "Events and shoppers",
        "What shoppers do, from their browsers; who is who.",
        _SEND,
    ),
    Guide(
        "orders",
        "Orders",
        "Send each order from your server, once, and what happens to a repeat.",
        _SEND,
    ),
    Guide(
        "order-history",
        "Order history",
        "Years of past orders from a CSV, by upload or on the command line.",
        _SEND,
    ),
    Guide(
        "recommendations",
        "Recommendations",
        "Product page, cart, start page: which call for which place.",
        _ASK,
    ),
    Guide("trending", "Trending", "What sells right now, the same for everybody.", _ASK),
    Guide(
        "search",
        "Search",
        "Find products by words as they are typed, mistakes and all.",
        _ASK,
    ),
    Guide(
        "pictures",
        "Pictures: what looks alike",
        "Similar products, search by photo, and how pictures come in.",
        _ASK,
    ),
    Guide(
        "looks",
        "Looks: shop the look",
        "Pictures of several products, and what of yours is in a photo.",
        _ASK,
    ),
    Guide(
        "rules",
        "Rules: your own word in lists",
        "Exclude, boost, bury and pin products, where and when you say.",
        _ASK,
    ),
    Guide(
        "holdout",
        "Holdout: what lists are worth",
        "Let a share of shoppers see no lists, and compare.",
        _ASK,
    ),
    Guide(
        "reports",
        "Reports: numbers to act on",
        "What recommendations sold, and how each number is defined.",
        _ASK,
    ),
    Guide(
        "demand",
        "Demand: what will sell",
        "The next 28 days of the store and of each product, and how long stock lasts.",
        _ASK,
    ),
    Guide(
        "integration",
        "Plugins and integrations",
        "What a store plugin calls: connect, appearance, training, status.",
        _ASK,
    ),
    Guide(
        "widgets",
        "Widgets: on your pages",
        "One script and one element; every attribute, event and style.",
        _SHOW,
    ),
    Guide(
        "custom",
        "A shop of your own",
        "All pieces of an integration without a plugin, to copy and paste.",
        _SHOW,
    ),
    Guide(
        "settings",
        "Store settings",
        "Every setting of a store, its default and its effect.",
        _RUN,
    ),
    Guide(
        "billing",
        "Plans and limits",
        "What a plan allows, what counts, and what pages see when it is used up.",
        _RUN,
    ),
    Guide(
        "privacy",
        "Privacy: what is kept",
        "What is kept of a shopper, how to hand it out, and how to forget it.",
        _RUN,
    ),
    Guide("cli", "Command line", "Every verb of `productrecs`, with its options.", _RUN),
    Guide(
        "operations",
        "Operations",
        "Run it well: configuration, proxies, health, backups, replicas.",
        _RUN,
    ),
    Guide(
        "mcp",
        "Language models",
        "These guides for assistants: llms.txt, markdown, and a server at /mcp.",
        _RUN,
    ),
    Guide(
        "errors",
        "Errors and limits",
        "Every code, what it means, and what to do; every limit.",
        _RUN,
    ),
    Guide(
        "versions",
        "Versions and changes",
        "What stays as it is, how a change is told, and what changed.",
        _RUN,
    ),
    Guide(
        "troubleshooting",
        "Troubleshooting",
        "A list is empty, a call refused, a sale not counted: where to look.",
        _RUN,
    ),
    Guide(
        "glossary", "Glossary", "The words of these guides, each with one meaning.", _RUN
    ),
)
