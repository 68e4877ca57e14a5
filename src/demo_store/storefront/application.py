"""Storefront application: the shop's pages below /demo; the rest goes to the service."""

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from demo_store.departments import DEPARTMENTS
from demo_store.generator import DOMAIN
from demo_store.looks import LOOKS, find_look
from demo_store.storefront.assets import HOME, asset_response
from demo_store.storefront.cart import Cart
from demo_store.storefront.demo_customers import find_demo_customer
from demo_store.storefront.in_process_client import InProcessClient, ServiceReply
from demo_store.storefront.page_templates import PageContext, render_page
from demo_store.storefront.picture_files import PictureFileCache, pictures_folder
from demo_store.storefront.shop_products import (
    ShopProduct,
    ShopProductReader,
    ShopProducts,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store_management import find_store

EXAMPLE_QUERIES: Final = (
    "sleeping bag",
    "rain jacket",
    "umbrella",
    "espresso beans",
    "tent under 200",
)
"""The suggested searches; each has results in every season."""
IS_DEMO: Final = "productrecs.demo"
"""Marks requests, so that the service's start page links to this shop."""
CART: Final = "demo_cart"
CUSTOMER: Final = "demo_customer"
ORDER: Final = "demo_order"
VIEWED: Final = "demo_looked"
SESSION: Final = "pr_sid"
_SESSION_ID: Final = re.compile(r"s_[A-Za-z0-9]{1,200}")
_ORDER_ID: Final = re.compile(r"HO-[A-Z0-9]{8,20}")
_HALF_YEAR: Final = 15_552_000  # seconds, as interface section 5 suggests for pr_sid
_LONGEST_FORM: Final = 20_000
_LONGEST_QUERY: Final = 200
_MAX_RESULTS: Final = 24
_IN_SEASON: Final = 10  # whole rows of five, and of two
_DEPARTMENT_PICTURES: Final = 4
_ORDERS: Final = MappingProxyType(
    {"": "As on the shelf", "low": "Price, low to high", "high": "Price, high to low"}
)
_RELAXED_NOTES: Final = MappingProxyType(
    {
        "spelling": "We corrected the spelling of your search.",
        "words": "Not everything here matches all the words of your search.",
        "meaning": "Nothing has these words. These things are similar.",
    }
)
# A picture's URL has no version, so browsers revalidate it daily.
_PICTURE_HEADERS: Final = MappingProxyType(
    {"cache-control": "public, max-age=86400", "x-content-type-options": "nosniff"}
)


class Storefront:
    """ASGI middleware: the demo's shop in front of the service."""

    def __init__(self, service: ASGIApp, services: Services, domain: str = DOMAIN) -> None:
        """Show the shop of the store with `domain`."""
        self._api = service
        self._store = find_store(services.database, domain)
        self._service = InProcessClient(service, self._store.publishable_key)
        self._reader = ShopProductReader(services, self._store)
        self._pictures = PictureFileCache(pictures_folder(services.settings.data))
        self._shop = Starlette(
            routes=[
                Route(HOME, self._home_page),
                Route(f"{HOME}/category/{{department}}", self._category_page),
                Route(f"{HOME}/category/{{department}}/{{shelf}}", self._category_page),
                Route(f"{HOME}/product/{{item_id}}", self._product_page),
                Route(f"{HOME}/look/{{look_id}}", self._look_page),
                Route(f"{HOME}/search", self._search_page),
                Route(f"{HOME}/cart", self._cart_page),
                Route(f"{HOME}/checkout", self._checkout_page),
                Route(f"{HOME}/thanks", self._thanks_page),
                Route(f"{HOME}/cart", _form_route(self._change_cart), methods=["POST"]),
                Route(f"{HOME}/checkout", _form_route(self._place_order), methods=["POST"]),
                Route(f"{HOME}/as", _form_route(_choose_customer), methods=["POST"]),
                Route(f"{HOME}/assets/{{name}}", asset_response),
                Route(f"{HOME}/pictures/{{path:path}}", self._picture_response),
            ],
            exception_handlers={404: self._not_found_page},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        path = scope.get("path", "")
        if scope["type"] == "http" and (path == HOME or path.startswith(f"{HOME}/")):
            await self._shop(scope, receive, send)
        else:
            await self._api({**scope, IS_DEMO: True}, receive, send)

    async def _home_page(self, request: Request) -> Response:
        products = await self._reader.products()
        return render_page(
            self._page_context(request, products),
            "home.html",
            looks=LOOKS,
            in_season=products.in_season(_IN_SEASON),
            department_pictures=[
                (department, _sample_evenly(products.in_department(department.id)))
                for department in DEPARTMENTS
            ],
        )

    async def _category_page(self, request: Request) -> Response:
        department_id, shelf_id = (
            request.path_params.get(name) for name in ("department", "shelf")
        )
        department = next(
            (candidate for candidate in DEPARTMENTS if candidate.id == department_id), None
        )
        shelves = () if department is None else department.shelves
        shelf = next((candidate for candidate in shelves if candidate.id == shelf_id), None)
        if department is None or (shelf is None and shelf_id is not None):
            raise HTTPException(404)
        products = await self._reader.products()
        shown_products = products.in_department(department.id, shelf_id)
        colours = sorted({product.colour for product in shown_products if product.colour})
        colour = request.query_params.get("colour", "")
        if colour in colours:
            shown_products = [
                product for product in shown_products if product.colour == colour
            ]
        order = request.query_params.get("order", "")
        if order in {"low", "high"}:
            shown_products.sort(key=lambda product: product.price, reverse=order == "high")
        return render_page(
            self._page_context(request, products),
            "category.html",
            department=department,
            shelf=shelf,
            products=shown_products,
            colours=colours,
            colour=colour if colour in colours else "",
            orders=_ORDERS,
            order=order,
        )

    async def _product_page(self, request: Request) -> Response:
        products = await self._reader.products()
        product = products.get(request.path_params["item_id"])
        if product is None:
            raise HTTPException(404)
        look = next((look for look in LOOKS if product.id in look.item_ids), None)
        page = render_page(
            self._page_context(request, products),
            "product.html",
            product=product,
            path=product.breadcrumbs,
            variants=products.variants(product),
            facts=product.facts,
            look=look,
            look_products=[] if look is None else products.visible_products(look.item_ids),
        )
        _set_cookie(page, VIEWED, "1")
        return page

    async def _look_page(self, request: Request) -> Response:
        look = find_look(request.path_params["look_id"])
        if look is None:
            raise HTTPException(404)
        products = await self._reader.products()
        return render_page(
            self._page_context(request, products),
            "look.html",
            look=look,
            look_products=products.visible_products(look.item_ids),
        )

    async def _search_page(self, request: Request) -> Response:
        products = await self._reader.products()
        query = request.query_params.get("q", "").strip()[:_LONGEST_QUERY]
        products_found, filters, note = [], [], ""
        if query:
            shopper = {
                name: known for name, known in _shopper_ids(request).items() if known
            }
            reply = await self._service.get(
                "/v1/search", q=query, num=str(_MAX_RESULTS), suggest="1", **shopper
            )
            if address := reply.text("redirect"):
                return _redirect(address)
            products_found = products.visible_products(
                str(result["id"]) for result in reply.list("results")
            )
            filters = [_filter_chip(query, chip["text"]) for chip in reply.list("filters")]
            note = _search_note(reply)
        return render_page(
            self._page_context(request, products),
            "search.html",
            query=query,
            products=products_found,
            filters=filters,
            note=note,
            examples=EXAMPLE_QUERIES,
        )

    async def _cart_page(self, request: Request) -> Response:
        return render_page(
            self._page_context(request, await self._reader.products()), "cart.html"
        )

    async def _checkout_page(self, request: Request) -> Response:
        visit = self._page_context(request, await self._reader.products())
        if not visit.cart.lines:
            return _redirect(f"{HOME}/cart")
        return render_page(visit, "checkout.html", order_id=_new_order_id())

    async def _thanks_page(self, request: Request) -> Response:
        order_id, _, bought = request.cookies.get(ORDER, "").partition("~")
        if not _ORDER_ID.fullmatch(order_id):
            return _redirect(HOME)
        products = await self._reader.products()
        return render_page(
            self._page_context(request, products),
            "thanks.html",
            order_id=order_id,
            bought=Cart.read(products, bought),
        )

    async def _not_found_page(self, request: Request, _error: Exception) -> Response:
        products = await self._reader.products()
        return render_page(self._page_context(request, products), "not_found.html", 404)

    def _picture_response(self, request: Request) -> Response:
        content = self._pictures.read_or_draw(tuple(request.path_params["path"].split("/")))
        if content is None:
            return Response(status_code=404)
        return Response(content, 200, _PICTURE_HEADERS, "image/webp")

    async def _change_cart(self, request: Request, form: Mapping[str, str]) -> Response:
        cart = await self._read_cart(request)
        item_id = form.get("item_id", "")
        try:
            if "exactly" in form:
                cart = cart.with_quantity(item_id, int(form["exactly"]))
            else:
                cart = cart.with_added(item_id, int(form.get("more", "1")))
        except ValueError:
            raise HTTPException(400) from None
        reply: Response = _redirect(f"{HOME}/cart")
        if "application/json" in request.headers.get("accept", ""):
            reply = JSONResponse({"count": cart.count, "total": cart.total})
            reply.headers["cache-control"] = "no-store"
        _set_cookie(reply, CART, cart.cookie())
        return reply

    async def _place_order(self, request: Request, form: Mapping[str, str]) -> Response:
        """Send the order to the service, as a shop's server does after the payment."""
        cart = await self._read_cart(request)
        if not cart.lines:
            return _redirect(f"{HOME}/cart")
        order_id = form.get("order_id", "")
        if not _ORDER_ID.fullmatch(order_id):
            order_id = _new_order_id()
        order = {
            "order_id": order_id,
            **_shopper_ids(request),
            "currency": "EUR",
            "items": [
                {
                    "item_id": line.product.id,
                    "quantity": line.quantity,
                    "price": line.product.price,
                }
                for line in cart.lines
            ],
        }
        response = await self._service.post("/v1/orders", order)
        if response.status != 200:  # noqa: PLR2004 - HTTP
            return _redirect(f"{HOME}/checkout")
        reply = _redirect(f"{HOME}/thanks")
        _set_cookie(reply, ORDER, f"{order_id}~{cart.cookie()}")
        _set_cookie(reply, CART, "")
        return reply

    def _page_context(self, request: Request, products: ShopProducts) -> PageContext:
        return PageContext(
            domain=self._store.domain,
            cart=Cart.read(products, request.cookies.get(CART, "")),
            customer=find_demo_customer(request.cookies.get(CUSTOMER, "")),
            has_viewed_products=VIEWED in request.cookies,
            page_url=HOME if "q" in request.query_params else request.url.path,
        )

    async def _read_cart(self, request: Request) -> Cart:
        products = await self._reader.products()
        return Cart.read(products, request.cookies.get(CART, ""))


Handler = Callable[[Request, Mapping[str, str]], Awaitable[Response]]


def _form_route(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that passes a form of this shop's pages to `handler`."""

    async def route(request: Request) -> Response:
        origin = request.headers.get("origin")
        if origin and origin.partition("://")[2] != request.headers.get("host", ""):
            raise HTTPException(403)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_FORM:
                raise HTTPException(413)
        return await handler(request, dict(parse_qsl(body.decode("utf-8", "replace"))))

    return route


async def _choose_customer(_request: Request, form: Mapping[str, str]) -> Response:
    back = form.get("back", "")
    is_shop_page = back == HOME or back.startswith((f"{HOME}/", f"{HOME}?"))
    reply = _redirect(back if is_shop_page and not set(back) & set('\r\n\\"') else HOME)
    customer = find_demo_customer(form.get("customer", ""))
    _set_cookie(reply, CUSTOMER, customer.customer_id if customer else "")
    return reply


def _shopper_ids(request: Request) -> dict[str, str | None]:
    """Return the ids under which the widgets know the shopper."""
    customer = find_demo_customer(request.cookies.get(CUSTOMER, ""))
    session = request.cookies.get(SESSION, "")
    return {
        "user_id": customer.customer_id if customer else None,
        "session_id": session if _SESSION_ID.fullmatch(session) else None,
    }


def _redirect(url: str) -> RedirectResponse:
    """Return a redirect after a form, so that a reload does not repeat it."""
    return RedirectResponse(url, 303, {"cache-control": "no-store"})


def _set_cookie(reply: Response, name: str, value: str) -> None:
    """Set a cookie of this shop; an empty value deletes it."""
    reply.set_cookie(
        name,
        value,
        max_age=_HALF_YEAR if value else 0,
        path=HOME,
        httponly=True,
        samesite="lax",
    )


def _search_note(reply: ServiceReply) -> str:
    """Return how the words of a search were read, if not as they were typed."""
    note = _RELAXED_NOTES.get(reply.relaxed, "")
    corrected = reply.text("did_you_mean")
    if not corrected:
        return note
    spelling = f"These are the results for \u201c{corrected}\u201d."
    return spelling if reply.relaxed == "spelling" else f"{spelling} {note}".rstrip()


def _filter_chip(query: str, text: str) -> dict[str, str]:
    """Return a filter that words of a query were read as, and the query without it."""
    without = re.sub(re.escape(text), "", query, count=1, flags=re.IGNORECASE)
    return {"text": text, "without": " ".join(without.split())}


def _sample_evenly(products: list[ShopProduct]) -> list[ShopProduct]:
    """Return a few of the products, evenly spread over all."""
    step = max(1, len(products) // _DEPARTMENT_PICTURES)
    return products[::step][:_DEPARTMENT_PICTURES]


def _new_order_id() -> str:
    return f"HO-{secrets.token_hex(5).upper()}"
