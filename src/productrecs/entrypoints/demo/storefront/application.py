"""Which page answers which address below /demo? Everything else is the service's."""

import asyncio
import re
import secrets
from typing import Final

from productrecs.entrypoints.demo.looks import look_named
from productrecs.entrypoints.demo.storefront.aisles import aisle
from productrecs.entrypoints.demo.storefront.asking import Service
from productrecs.entrypoints.demo.storefront.assets import asset
from productrecs.entrypoints.demo.storefront.cart import COOKIE as CART
from productrecs.entrypoints.demo.storefront.cart import Cart
from productrecs.entrypoints.demo.storefront.checkout import (
    cart_page,
    checkout_page,
    thanks_page,
)
from productrecs.entrypoints.demo.storefront.frame import Setting, framed
from productrecs.entrypoints.demo.storefront.goods import Goods, Stockroom
from productrecs.entrypoints.demo.storefront.home import home
from productrecs.entrypoints.demo.storefront.parts import widget
from productrecs.entrypoints.demo.storefront.pictures import Pictures, pictures_folder
from productrecs.entrypoints.demo.storefront.product import look_page, product
from productrecs.entrypoints.demo.storefront.regulars import COOKIE as CUSTOMER
from productrecs.entrypoints.demo.storefront.regulars import regular
from productrecs.entrypoints.demo.storefront.search import search
from productrecs.entrypoints.demo.storefront.visit import (
    HOME,
    Application,
    Receive,
    Reply,
    Scope,
    Send,
    TooLongError,
    Visit,
    answer,
    gone_to,
    page,
    told,
    visit_of,
)
from productrecs.entrypoints.services import Services
from productrecs.tenancy.accounts.registration import find_store

ORDER: Final = "demo_order"
LOOKED: Final = "demo_looked"
SESSION: Final = "pr_sid"
_SESSION_ID: Final = re.compile(r"s_[A-Za-z0-9]{1,200}")
_ORDER_ID: Final = re.compile(r"HO-[A-Z0-9]{8,20}")
_FORGET: Final = 0


class Storefront:
    """The demo's shop before the service: an ASGI application around the service's own."""

    def __init__(self, service: Application, services: Services, domain: str) -> None:
        """Show the shop of `domain`, which the services' database holds."""
        self._around = service
        self._store = find_store(services.database, domain)
        self._service = Service(service, self._store.publishable_key)
        self._stockroom = Stockroom(services, self._store)
        self._pictures = Pictures(pictures_folder(services.settings.data))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == HOME or path.startswith(f"{HOME}/")):
            await self._around(scope, receive, send)
            return
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            await answer(send, Reply(405, b"", [("allow", "GET, HEAD, POST")]))
            return
        try:
            visit = await visit_of(scope, receive)
        except TooLongError:
            await answer(send, Reply(413))
            return
        reply = await self._reply(visit)
        await answer(send, reply, with_body=scope["method"] != "HEAD")

    async def _reply(self, visit: Visit) -> Reply:
        first = visit.path[0] if visit.path else ""
        if first == "pictures":
            found = await asyncio.to_thread(self._pictures.reply, visit.path[1:])
            return found or Reply(404)
        if first == "assets":
            return asset("/".join(visit.path[1:])) or Reply(404)
        goods = await self._stockroom.goods()
        cart = Cart.read(goods, visit.cookies.get(CART, ""))
        if visit.method == "POST":
            return await self._act(visit, cart)
        setting = self._setting(visit, cart)
        found = await self._page(visit, setting, goods, cart)
        return found or _nothing_here(setting)

    async def _page(
        self, visit: Visit, setting: Setting, goods: Goods, cart: Cart
    ) -> Reply | None:
        match visit.path:
            case ():
                return home(setting, goods)
            case ("category", *_):
                return aisle(setting, goods, visit)
            case ("product", item_id) if good := goods.get(item_id):
                return product(setting, goods, good).with_cookie(LOOKED, "1")
            case ("look", look_id) if look := look_named(look_id):
                return look_page(setting, goods, look)
            case ("search",):
                words = visit.query.get("q", "")
                return await search(setting, goods, self._service, words)
            case _:
                return self._till(visit, setting, goods, cart)

    def _till(
        self, visit: Visit, setting: Setting, goods: Goods, cart: Cart
    ) -> Reply | None:
        match visit.path:
            case ("cart",):
                return cart_page(setting, cart)
            case ("checkout",) if cart.count:
                return checkout_page(setting, cart, new_order_id())
            case ("checkout",):
                return gone_to(f"{HOME}/cart")
            case ("thanks",):
                order_id, _, lines = visit.cookies.get(ORDER, "").partition("~")
                if not _ORDER_ID.fullmatch(order_id):
                    return gone_to(HOME)
                return thanks_page(setting, Cart.read(goods, lines), order_id)
            case _:
                return None

    async def _act(self, visit: Visit, cart: Cart) -> Reply:
        if not visit.is_ours:
            return Reply(403)
        match visit.path:
            case ("cart",):
                return _put(visit, cart)
            case ("as",):
                return _as_someone(visit)
            case ("checkout",) if cart.count:
                return await self._order(visit, cart)
            case _:
                return gone_to(f"{HOME}/cart")

    async def _order(self, visit: Visit, cart: Cart) -> Reply:
        """Send the order to the service, as a shop's server does when it was paid."""
        order_id = visit.form.get("order_id", "")
        if not _ORDER_ID.fullmatch(order_id):
            order_id = new_order_id()
        person = regular(visit.cookies.get(CUSTOMER, ""))
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
            return gone_to(f"{HOME}/checkout")
        reply = gone_to(f"{HOME}/thanks")
        bought = f"{order_id}~{cart.cookie()}"
        reply.with_cookie(ORDER, bought).with_cookie(CART, "", seconds=_FORGET)
        return reply

    def _setting(self, visit: Visit, cart: Cart) -> Setting:
        here = "/".join((HOME, *visit.path))
        words = visit.query.get("q")
        return Setting(
            key=self._store.publishable_key,
            domain=self._store.domain,
            cart=cart.count,
            regular=regular(visit.cookies.get(CUSTOMER, "")),
            has_looked=LOOKED in visit.cookies,
            here=here if words is None else HOME,
        )


def new_order_id() -> str:
    """Return an order's number that no other order has."""
    return f"HO-{secrets.token_hex(5).upper()}"


def _put(visit: Visit, cart: Cart) -> Reply:
    item_id = visit.form.get("item_id", "")
    exactly = visit.form.get("exactly")
    try:
        if exactly is not None:
            filled = cart.with_just(item_id, int(exactly))
        else:
            filled = cart.put(item_id, int(visit.form.get("more", "1")))
    except ValueError:
        return Reply(400)
    if visit.wants_json:
        reply = told({"count": filled.count, "total": filled.total})
    else:
        reply = gone_to(f"{HOME}/cart")
    return reply.with_cookie(CART, filled.cookie())


def _as_someone(visit: Visit) -> Reply:
    person = regular(visit.form.get("customer", ""))
    reply = gone_to(visit.back)
    if person is None:
        return reply.with_cookie(CUSTOMER, "", seconds=_FORGET)
    return reply.with_cookie(CUSTOMER, person.customer)


def _nothing_here(setting: Setting) -> Reply:
    content = f"""<h1>There is nothing at this address</h1>
<p class="lead">It may be sold for good. The shop is still here:</p>
<p><a class="button" href="{HOME}">To the shop</a></p>
<section class="band">{widget("trending", num=8)}</section>"""
    return page(framed(setting, "Not found", content), 404)
