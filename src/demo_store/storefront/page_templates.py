"""Page templates, and what every page shows of the shop and the shopper."""

from dataclasses import dataclass
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from demo_store.departments import DEPARTMENTS
from demo_store.storefront.assets import HOME, asset_url
from demo_store.storefront.cart import Cart
from demo_store.storefront.demo_customers import DemoCustomer, demo_customers

# CSP: nothing from other hosts and nothing inline.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class PageContext:
    """The shop's and the shopper's data that every page shows."""

    domain: str
    cart: Cart
    customer: DemoCustomer | None  # None: a guest
    has_viewed_products: bool  # a guest then has a history too
    page_url: str  # the page's own address, for redirects back

    @property
    def customer_id(self) -> str:
        """The id of the signed-in customer; empty for a guest."""
        return self.customer.customer_id if self.customer else ""

    @property
    def is_identified(self) -> bool:
        """Whether lists can be personalised."""
        return self.customer is not None or self.has_viewed_products


def render_page(
    visit: PageContext,
    template: str,
    status: int = 200,
    *,
    query: str = "",
    **values: object,
) -> HTMLResponse:
    """Return a page; `query` stands in its search box, `values` are the template's."""
    html = _TEMPLATES.get_template(template).render(
        visit=visit, query=query, customers=demo_customers(), **values
    )
    return HTMLResponse(html, status, _HEADERS)


def _money(amount: float) -> str:
    return f"€{amount:,.2f}"


_TEMPLATES: Final = Environment(
    loader=PackageLoader(__package__),
    autoescape=True,
    undefined=StrictUndefined,
    keep_trailing_newline=False,
)
_TEMPLATES.filters["money"] = _money
_TEMPLATES.globals |= {
    "home": HOME,
    "shop_name": "Harrow & Oak",
    "departments": DEPARTMENTS,
    "asset_url": asset_url,
}
