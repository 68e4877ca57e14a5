"""Developer guide index: the order, groups, titles and summaries of the guides."""

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
_INSTALL: Final = "Install in your shop"
_SEND: Final = "Send your data"
_SHOW: Final = "Show products"
_MEASURE: Final = "Measure and plan"
_RUN: Final = "Run the service"

GUIDES: Final = (
    Guide(
        "quickstart",
        "Quick start",
        "From an empty store to its first recommendation in five minutes.",
        _START,
    ),
    Guide(
        "keys",
        "Keys and origins",
        "Which key belongs where, how it is sent, and which pages may use it.",
        _START,
    ),
    Guide(
        "docker", "Docker", "Build the image, start it, back it up and upgrade it.", _START
    ),
    Guide(
        "woocommerce",
        "WooCommerce",
        "Install the plugin: it sends products and orders, and shows the lists.",
        _INSTALL,
    ),
    Guide(
        "shopify",
        "Shopify",
        "Import files, extend your theme, and run a small relay for live changes.",
        _INSTALL,
    ),
    Guide(
        "magento",
        "Magento and Adobe Commerce",
        "Import products and orders, and add the widgets to your theme.",
        _INSTALL,
    ),
    Guide(
        "prestashop",
        "PrestaShop",
        "Install the module: products, orders and widgets in three values.",
        _INSTALL,
    ),
    Guide(
        "opencart",
        "OpenCart",
        "Install the extension: products, orders and widgets in three values.",
        _INSTALL,
    ),
    Guide(
        "frameworks",
        "React, Vue and headless shops",
        "The widgets in components, and the API without widgets.",
        _INSTALL,
    ),
    Guide(
        "custom",
        "Custom shops",
        "All pieces of an integration without a plugin, to copy and paste.",
        _INSTALL,
    ),
    Guide(
        "plain-html",
        "Plain HTML shops",
        "One script and a few lines a page, for a shop without a server.",
        _INSTALL,
    ),
    Guide(
        "widgets",
        "Widgets",
        "Script tags and elements; every attribute, event and style.",
        _INSTALL,
    ),
    Guide(
        "integration",
        "Plugins and integrations",
        "What a store plugin calls: connect, appearance, training, status.",
        _INSTALL,
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
        "scheduled-feed",
        "Scheduled feed",
        "Fetch your products from a Google Merchant feed or any file at an address.",
        _SEND,
    ),
    Guide(
        "events",
        "Events and shoppers",
        "Report what shoppers do in their browsers; how shoppers are identified.",
        _SEND,
    ),
    Guide(
        "orders",
        "Orders",
        "Send each order from your server; what happens when one is sent twice.",
        _SEND,
    ),
    Guide(
        "order-history",
        "Order history",
        "Import past orders from a CSV, by upload or on the command line.",
        _SEND,
    ),
    Guide(
        "recommendations",
        "Recommendations",
        "Which call to use on the product page, in the cart and on the home page.",
        _SHOW,
    ),
    Guide(
        "placements",
        "Placements",
        "Name places on your pages, and choose what each one shows.",
        _SHOW,
    ),
    Guide(
        "bundles",
        "Bundles",
        "Offer sets of products that sell together, with a discount.",
        _SHOW,
    ),
    Guide(
        "trending", "Trending", "What sells right now, the same for every shopper.", _SHOW
    ),
    Guide(
        "search",
        "Search",
        "Find products while shoppers type, with typos and synonyms.",
        _SHOW,
    ),
    Guide(
        "questions-and-variants",
        "Questions and variants",
        "A question that narrows the results of a search; one result for all variants.",
        _SHOW,
    ),
    Guide(
        "pictures",
        "Similar products and search by photo",
        "How pictures are indexed, compared and searched.",
        _SHOW,
    ),
    Guide(
        "looks",
        "Shop the look",
        "Photos with hotspots, and products found in a shopper's photo.",
        _SHOW,
    ),
    Guide(
        "product-feeds",
        "Product feeds",
        "Send your products to Google, Meta and ChatGPT, with labels for campaigns.",
        _SHOW,
    ),
    Guide(
        "mail",
        "Products in mails",
        "Show products in newsletters and receipts, chosen when the mail is opened.",
        _SHOW,
    ),
    Guide(
        "shopping-assistants",
        "Shopping assistants",
        "Let assistants search your catalog with the Universal Commerce Protocol.",
        _SHOW,
    ),
    Guide("rules", "Merchandising rules", "Exclude, boost, bury and pin products.", _SHOW),
    Guide(
        "reports",
        "Reports",
        "What recommendations sold, and how each number is defined.",
        _MEASURE,
    ),
    Guide(
        "relevance",
        "Search relevance",
        "How good your search is, by your own queries; an alarm when it gets worse.",
        _MEASURE,
    ),
    Guide(
        "tests",
        "Tests",
        "Compare variants of a placement or of search by what shoppers buy.",
        _MEASURE,
    ),
    Guide(
        "holdout",
        "Holdout tests",
        "Show some shoppers no recommendations, and compare the sales.",
        _MEASURE,
    ),
    Guide(
        "demand",
        "Demand forecast",
        "Sales of the next 28 days, and how long stock lasts.",
        _MEASURE,
    ),
    Guide(
        "webhooks",
        "Webhooks",
        "Signed messages to your other systems about what happens in a store.",
        _MEASURE,
    ),
    Guide(
        "your-assistant",
        "Your own assistant",
        "Let Claude, ChatGPT or another assistant read reports and change rules.",
        _MEASURE,
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
        "What a plan allows, what counts, and what pages get when it is used up.",
        _RUN,
    ),
    Guide(
        "privacy",
        "Privacy",
        "What is stored about a shopper, how to export it, and how to erase it.",
        _RUN,
    ),
    Guide("cli", "Command line", "Every command of `productrecs`, with its options.", _RUN),
    Guide(
        "operations",
        "Operations",
        "Configuration, proxies, health, backups, replicas.",
        _RUN,
    ),
    Guide(
        "mcp",
        "Guides for AI assistants",
        "llms.txt, markdown, and an MCP server at /mcp.",
        _RUN,
    ),
    Guide(
        "errors",
        "Errors and limits",
        "Every error code, what it means, and what to do; every limit.",
        _RUN,
    ),
    Guide(
        "versions",
        "Versions and changes",
        "What stays stable, how changes are announced, and what changed.",
        _RUN,
    ),
    Guide(
        "troubleshooting",
        "Troubleshooting",
        "Empty lists, refused calls, sales that are not counted: where to look.",
        _RUN,
    ),
    Guide("glossary", "Glossary", "The terms of these guides.", _RUN),
)
