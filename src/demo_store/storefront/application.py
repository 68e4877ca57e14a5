"""Storefront application: ASGI routes below /demo. All other requests go to the service."""

import asyncio
import re
import secrets
from typing import Final

from demo_store.generator import DOMAIN
from demo_store.looks import look_named
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
LOOKED: Final = "demo_looked"
SESSION: Final = "pr_sid"
_SESSION_ID: Final = re.compile(r"s_[A-Za-z0-9]{1,200}")
_ORDER_ID: Final = re.compile(r"HO-[A-Z0-9]{8,20}")
_FORGET: Final = 0


class Storefront:
    """ASGI middleware: the demo's shop in front of the service."""

    def __init__(
        self, service: Application, services: Services, domain: str = DOMAIN
    ) -> None:
        """Show the shop of the store with `domain`."""
        self._around = service
        self._store = find_store(services.database, domain)
        self._service = ServiceClient(service, self._store.publishable_key)
        self._stockroom = ShopItemReader(services, self._store)
        self._pictures = PictureFiles(pictures_folder(services.settings.data))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == HOME or path.startswith(f"{HOME}/")):
            await self._around({**scope, IS_DEMO: True}, receive, send)
            return
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            await send_reply(send, ShopReply(405, b"", [("allow", "GET, HEAD, POST")]))
            return
        try:
            visit = await read_request(scope, receive)
        except FormTooLongError:
            await send_reply(send, ShopReply(413))
            return
        reply = await self._reply(visit)
        await send_reply(send, reply, with_body=scope["method"] != "HEAD")

    async def _reply(self, visit: PageRequest) -> ShopReply:
        first = visit.path[0] if visit.path else ""
        if first == "pictures":
            found = await asyncio.to_thread(self._pictures.reply, visit.path[1:])
            return found or ShopReply(404)
        if first == "assets":
            return asset("/".join(visit.path[1:])) or ShopReply(404)
        goods = await self._stockroom.goods()
        cart = Cart.read(goods, visit.cookies.get(CART, ""))
        if visit.method == "POST":
            return await self._act(visit, cart)
        setting = self._setting(visit, cart)
        found = await self._page(visit, setting, goods, cart)
        return found or _nothing_here(setting)

    async def _page(
        self, visit: PageRequest, setting: PageContext, goods: ShopItems, cart: Cart
    ) -> ShopReply | None:
        match visit.path:
            case ():
                return home_page(setting, goods)
            case ("category", *_):
                return category_page(setting, goods, visit)
            case ("product", item_id) if good := goods.get(item_id):
                return product_page(setting, goods, good).with_cookie(LOOKED, "1")
            case ("look", look_id) if look := look_named(look_id):
                return look_page(setting, goods, look)
            case ("search",):
                words = visit.query.get("q", "")
                return await search_page(setting, goods, self._service, words)
            case _:
                return self._till(visit, setting, goods, cart)

    def _till(
        self, visit: PageRequest, setting: PageContext, goods: ShopItems, cart: Cart
    ) -> ShopReply | None:
        match visit.path:
            case ("cart",):
                return cart_page(setting, cart)
            case ("checkout",) if cart.count:
                return checkout_page(setting, cart, new_order_id())
            case ("checkout",):
                return redirect(f"{HOME}/cart")
            case ("thanks",):
                order_id, _, lines = visit.cookies.get(ORDER, "").partition("~")
                if not _ORDER_ID.fullmatch(order_id):
                    return redirect(HOME)
                return thanks_page(setting, Cart.read(goods, lines), order_id)
            case _:
                return None

    async def _act(self, visit: PageRequest, cart: Cart) -> ShopReply:
        if not visit.is_ours:
            return ShopReply(403)
        match visit.path:
            case ("cart",):
                return _put(visit, cart)
            case ("as",):
                return _as_someone(visit)
            case ("checkout",) if cart.count:
                return await self._order(visit, cart)
            case _:
                return redirect(f"{HOME}/cart")

    async def _order(self, visit: PageRequest, cart: Cart) -> ShopReply:
        """Send the order to the service, as a shop's server does after the payment."""
        order_id = visit.form.get("order_id", "")
        if not _ORDER_ID.fullmatch(order_id):
            order_id = new_order_id()
        person = demo_customer(visit.cookies.get(CUSTOMER, ""))
        session = visit.cookies.get(SESSION, "")
        order = {
            "order_id": order_id,
            "user_id": person.customer if person else None,
            "session_id": session if _SESSION_ID.fullmatch(session) else None,
            "currency": "EUR",
            "items": [
                {
                    "item_id": line.good.id,
                    "quantity": line.quantity,
                    "price": line.good.price,
                }
                for line in cart.lines
            ],
        }
        answered = await self._service.post("/v1/orders", order)
        if answered.status != 200:  # noqa: PLR2004 - HTTP
            return redirect(f"{HOME}/checkout")
        reply = redirect(f"{HOME}/thanks")
        bought = f"{order_id}~{cart.cookie()}"
        reply.with_cookie(ORDER, bought).with_cookie(CART, "", seconds=_FORGET)
        return reply

    def _setting(self, visit: PageRequest, cart: Cart) -> PageContext:
        here = "/".join((HOME, *visit.path))
        words = visit.query.get("q")
        return PageContext(
            key=self._store.publishable_key,
            domain=self._store.domain,
            cart=cart.count,
            regular=demo_customer(visit.cookies.get(CUSTOMER, "")),
            has_looked=LOOKED in visit.cookies,
            here=here if words is None else HOME,
        )


def new_order_id() -> str:
    """Return a unique order id."""
    return f"HO-{secrets.token_hex(5).upper()}"


def _put(visit: PageRequest, cart: Cart) -> ShopReply:
    item_id = visit.form.get("item_id", "")
    exactly = visit.form.get("exactly")
    try:
        if exactly is not None:
            filled = cart.with_just(item_id, int(exactly))
        else:
            filled = cart.put(item_id, int(visit.form.get("more", "1")))
    except ValueError:
        return ShopReply(400)
    if visit.wants_json:
        reply = json_reply({"count": filled.count, "total": filled.total})
    else:
        reply = redirect(f"{HOME}/cart")
    return reply.with_cookie(CART, filled.cookie())


def _as_someone(visit: PageRequest) -> ShopReply:
    person = demo_customer(visit.form.get("customer", ""))
    reply = redirect(visit.back)
    if person is None:
        return reply.with_cookie(CUSTOMER, "", seconds=_FORGET)
    return reply.with_cookie(CUSTOMER, person.customer)


def _nothing_here(setting: PageContext) -> ShopReply:
    content = f"""<h1>There is nothing at this address</h1>
<p class="lead">It may be sold for good. The shop is still here:</p>
<p><a class="button" href="{HOME}">To the shop</a></p>
<section class="band">{widget("trending", num=8)}</section>"""
    return html_reply(render_page(setting, "Not found", content), 404)
