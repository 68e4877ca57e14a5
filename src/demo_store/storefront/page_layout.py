"""Page layout: the head, header and footer of every page."""

from dataclasses import dataclass
from html import escape
from typing import Final

from demo_store.departments import DEPARTMENTS
from demo_store.storefront.assets import address_of
from demo_store.storefront.demo_customers import DemoCustomer, demo_customers
from demo_store.storefront.html_parts import hidden_fields
from demo_store.storefront.http_messages import HOME

NAME: Final = "Harrow & Oak"
_BAG: Final = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 8h12l1 12H5zM9 8V6a3 3 0 0 1 '
    '6 0v2"/></svg>'
)
_LENS: Final = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="11" cy="11" r="6.5"/>'
    '<path d="m16 16 5 5"/></svg>'
)
_FACE: Final = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="8.5" r="4"/>'
    '<path d="M4.5 20.5c1-4 4-6 7.500-6s6.500 2 7.500 6"/></svg>'
)
_LEAF: Final = (
    '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="M16 3c8 4 11 11 7 '
    '19-2 4-5 5-7 5s-5-1-7-5C5 14 8 7 16 3Z"/><path class="vein" d="M16 9v21M16 15l5-4M16 '
    '20l-6-4"/></svg>'
)


@dataclass(frozen=True, slots=True)
class PageContext:
    """The shop's and the shopper's data that every page shows."""

    key: str
    domain: str
    cart: int  # units
    regular: DemoCustomer | None
    has_viewed_products: bool  # at a product: a guest then has a history too
    page_url: str  # the page's own address, for redirects back

    @property
    def customer(self) -> str:
        """The id of the signed-in customer; empty for a guest."""
        return self.regular.customer if self.regular else ""

    @property
    def is_identified(self) -> bool:
        """Whether lists can be personalised."""
        return self.regular is not None or self.has_viewed_products


def render_page(
    setting: PageContext, title: str, content: str, *, about: str = "", query: str = ""
) -> str:
    """Return a whole page; `about` are attributes of its body that the script reads."""
    scripts = "".join(
        f'<script async src="/widget/v1/{kind}{escape(setting.domain)}.js"></script>'
        for kind in ("", "search-", "look-")
    )
    heading = f"{title} · {NAME}" if title else f"{NAME}, general store"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(heading)}</title>
<link rel="icon" href="{address_of("icon.svg")}" type="image/svg+xml">
<link rel="expect" href="#main" blocking="render">
<link rel="stylesheet" href="{address_of("shop.css")}">
<script defer src="{address_of("shop.js")}"></script>
{scripts}
</head>
<body data-customer="{escape(setting.customer)}"{about}>
<a class="skip" href="#main">Skip to the content</a>
{_header(setting, query)}
<main id="main">{content}</main>
{_FOOTER}
<p id="said" class="toast" role="status" aria-live="polite"></p>
</body>
</html>"""


def _header(setting: PageContext, query: str) -> str:
    links = "".join(
        f'<li><a href="{HOME}/category/{one.id}">{escape(one.name)}</a></li>'
        for one in DEPARTMENTS
    )
    return f"""<header class="top">
<div class="bar">
<a class="logo" href="{HOME}">{_LEAF}<span>Harrow <i>&amp;</i> Oak</span></a>
<form class="search" role="search" action="{HOME}/search">
<input type="search" name="q" value="{escape(query)}" aria-label="Search the shop"
 placeholder="Search, even with tpyos" autocomplete="off" maxlength="200">
<button aria-label="Search">{_LENS}</button>
</form>
{_account(setting)}
<a class="bag" href="{HOME}/cart">{_BAG}<span class="long">Cart</span>
<b id="count">{setting.cart}</b><span class="hide"> items</span></a>
</div>
<nav class="doors" aria-label="Departments"><ul>{links}</ul></nav>
</header>"""


def _account(setting: PageContext) -> str:
    name = setting.regular.name if setting.regular else "Guest"
    customer_forms = "".join(_customer_form(one, setting) for one in demo_customers())
    guest_form = "" if setting.regular is None else _customer_form(None, setting)
    return f"""<details class="who">
<summary>{_FACE}<span class="hide">Shopping as </span><span>{escape(name)}</span></summary>
<form method="post" action="{HOME}/as">{hidden_fields(back=setting.page_url)}
<p>Step into a customer&rsquo;s shoes: each has a year of orders behind them.</p>
{customer_forms}{guest_form}</form>
</details>"""


def _customer_form(customer: DemoCustomer | None, setting: PageContext) -> str:
    value, name, interests = (
        ("", "Guest", "nobody knows you yet")
        if customer is None
        else (customer.customer, customer.name, customer.interests)
    )
    current = ' aria-current="true"' if customer and customer == setting.regular else ""
    return (
        f'<button name="customer" value="{escape(value)}"{current}>'
        f"<b>{escape(name)}</b> <span>{escape(interests)}</span></button>"
    )


_FOOTER: Final = f"""<footer class="foot"><div>
<p><b>Harrow &amp; Oak</b> is an invented shop. Nothing is sold here; its products,
pictures, customers and orders were made up by a program, the same way each time.</p>
<p>What it recommends is real: it comes from ProductRecs, the service behind this page.
<a href="/guides">Guides</a> · <a href="/docs">API reference</a> ·
<a href="{HOME}">Start again</a></p>
</div></footer>"""
