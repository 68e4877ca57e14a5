"""Storefront application: ASGI routes below /demo. All other requests go to the service."""

import asyncio
import re
import secrets
from typing import Final

from demo_store.generator import DOMAIN
from demo_store.looks import find_look
from demo_store.storefront.assets import asset
from demo_store.storefront.cart import COOKIE as CART
from demo_store.storefront.cart import Cart
from demo_store.storefront.category_page import category_page
from demo_store.storefront.checkout_pages import cart_page, checkout_page, thanks_page
from demo_store.storefront.demo_customers import COOKIE as CUSTOMER
from demo_store.storefront.demo_customers import demo_customer
from demo_store.storefront.home_page import home_page
from demo_store.storefront.html_parts import widget
from demo_store.storefront.http_messages import (
    HOME,
    Application,
    FormTooLongError,
    PageRequest,
    Receive,
    Scope,
    Send,
    ShopReply,
    html_reply,
    json_reply,
    read_request,
    redirect,
    send_reply,
)
from demo_store.storefront.page_layout import PageContext, render_page
from demo_store.storefront.picture_files import PictureFiles, pictures_folder
from demo_store.storefront.product_page import look_page, product_page
from demo_store.storefront.search_page import search_page
from demo_store.storefront.service_client import ServiceClient
from demo_store.storefront.shop_items import ShopItemReader, ShopItems
from productrecs.entrypoints.services import Services
from productrecs.tenancy.accounts.store_management import find_store

IS_DEMO: Final = "productrecs.demo"
"""Marks requests, so that the service's start page links to this shop."""
ORDER: Final = "demo_order"
LOOKED_COOKIE: Final = "demo_looked"
SESSION: Final = "pr_sid"
_SESSION_ID: Final = re.compile(r"s_[A-Za-z0-9]{1,200}")
_ORDER_ID: Final = re.compile(r"HO-[A-Z0-9]{8,20}")
_EXPIRE: Final = 0


class Storefront:
    """ASGI middleware: the demo's shop in front of the service."""

    def __init__(
        self, service: Application, services: Services, domain: str = DOMAIN
    ) -> None:
        """Show the shop of the store with `domain`."""
        self._api = service
        self._store = find_store(services.database, domain)
        self._service = ServiceClient(service, self._store.publishable_key)
        self._stockroom = ShopItemReader(services, self._store)
        self._pictures = PictureFiles(pictures_folder(services.settings.data))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == HOME or path.startswith(f"{HOME}/")):
            await self._api({**scope, IS_DEMO: True}, receive, send)
            return
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            await send_reply(send, ShopReply(405, b"", [("allow", "GET, HEAD, POST")]))
            return
        try:
            page_request = await read_request(scope, receive)
        except FormTooLongError:
            await send_reply(send, ShopReply(413))
            return
        reply = await self._reply(page_request)
        await send_reply(send, reply, with_body=scope["method"] != "HEAD")

    async def _reply(self, page_request: PageRequest) -> ShopReply:
        first = page_request.path[0] if page_request.path else ""
        if first == "pictures":
            found = await asyncio.to_thread(self._pictures.reply, page_request.path[1:])
            return found or ShopReply(404)
        if first == "assets":
            return asset("/".join(page_request.path[1:])) or ShopReply(404)
        goods = await self._stockroom.goods()
        cart = Cart.read(goods, page_request.cookies.get(CART, ""))
        if page_request.method == "POST":
            return await self._act(page_request, cart)
        setting = self._setting(page_request, cart)
        found = await self._page(page_request, setting, goods, cart)
        return found or _not_found(setting)

    async def _page(
        self, page_request: PageRequest, setting: PageContext, goods: ShopItems, cart: Cart
    ) -> ShopReply | None:
        match page_request.path:
            case ():
                return home_page(setting, goods)
            case ("category", *_):
                return category_page(setting, goods, page_request)
            case ("product", item_id) if shop_item := goods.get(item_id):
                return product_page(setting, goods, shop_item).with_cookie(
                    LOOKED_COOKIE, "1"
                )
            case ("look", look_id) if look := find_look(look_id):
                return look_page(setting, goods, look)
            case ("search",):
                words = page_request.query.get("q", "")
                return await search_page(setting, goods, self._service, words)
            case _:
                return self._checkout(page_request, setting, goods, cart)

    def _checkout(
        self, page_request: PageRequest, setting: PageContext, goods: ShopItems, cart: Cart
    ) -> ShopReply | None:
        match page_request.path:
            case ("cart",):
                return cart_page(setting, cart)
            case ("checkout",) if cart.count:
                return checkout_page(setting, cart, new_order_id())
            case ("checkout",):
                return redirect(f"{HOME}/cart")
            case ("thanks",):
                order_id, _, lines = page_request.cookies.get(ORDER, "").partition("~")
                if not _ORDER_ID.fullmatch(order_id):
                    return redirect(HOME)
                return thanks_page(setting, Cart.read(goods, lines), order_id)
            case _:
                return None

    async def _act(self, page_request: PageRequest, cart: Cart) -> ShopReply:
        if not page_request.is_same_origin:
            return ShopReply(403)
        match page_request.path:
            case ("cart",):
                return _put(page_request, cart)
            case ("as",):
                return _choose_customer(page_request)
            case ("checkout",) if cart.count:
                return await self._order(page_request, cart)
            case _:
                return redirect(f"{HOME}/cart")

    async def _order(self, page_request: PageRequest, cart: Cart) -> ShopReply:
        """Send the order to the service, as a shop's server does after the payment."""
        order_id = page_request.form.get("order_id", "")
        if not _ORDER_ID.fullmatch(order_id):
            order_id = new_order_id()
        customer = demo_customer(page_request.cookies.get(CUSTOMER, ""))
        session = page_request.cookies.get(SESSION, "")
        order = {
            "order_id": order_id,
            "user_id": customer.customer if customer else None,
            "session_id": session if _SESSION_ID.fullmatch(session) else None,
            "currency": "EUR",
            "items": [
                {
                    "item_id": line.shop_item.id,
                    "quantity": line.quantity,
                    "price": line.shop_item.price,
                }
                for line in cart.lines
            ],
        }
        response = await self._service.post("/v1/orders", order)
        if response.status != 200:  # noqa: PLR2004 - HTTP
            return redirect(f"{HOME}/checkout")
        reply = redirect(f"{HOME}/thanks")
        bought = f"{order_id}~{cart.cookie()}"
        reply.with_cookie(ORDER, bought).with_cookie(CART, "", seconds=_EXPIRE)
        return reply

    def _setting(self, page_request: PageRequest, cart: Cart) -> PageContext:
        page_url = "/".join((HOME, *page_request.path))
        words = page_request.query.get("q")
        return PageContext(
            key=self._store.publishable_key,
            domain=self._store.domain,
            cart=cart.count,
            regular=demo_customer(page_request.cookies.get(CUSTOMER, "")),
            has_viewed_products=LOOKED_COOKIE in page_request.cookies,
            page_url=page_url if words is None else HOME,
        )


def new_order_id() -> str:
    """Return a unique order id."""
    return f"HO-{secrets.token_hex(5).upper()}"


def _put(page_request: PageRequest, cart: Cart) -> ShopReply:
    item_id = page_request.form.get("item_id", "")
    exactly = page_request.form.get("exactly")
    try:
        if exactly is not None:
            new_cart = cart.with_quantity(item_id, int(exactly))
        else:
            new_cart = cart.put(item_id, int(page_request.form.get("more", "1")))
    except ValueError:
        return ShopReply(400)
    if page_request.wants_json:
        reply = json_reply({"count": new_cart.count, "total": new_cart.total})
    else:
        reply = redirect(f"{HOME}/cart")
    return reply.with_cookie(CART, new_cart.cookie())


def _choose_customer(page_request: PageRequest) -> ShopReply:
    customer = demo_customer(page_request.form.get("customer", ""))
    reply = redirect(page_request.back)
    if customer is None:
        return reply.with_cookie(CUSTOMER, "", seconds=_EXPIRE)
    return reply.with_cookie(CUSTOMER, customer.customer)


def _not_found(setting: PageContext) -> ShopReply:
    content = f"""<h1>There is nothing at this address</h1>
<p class="lead">It may be sold for good. The shop is still here:</p>
<p><a class="button" href="{HOME}">To the shop</a></p>
<section class="band">{widget("trending", num=8)}</section>"""
    return html_reply(render_page(setting, "Not found", content), 404)
