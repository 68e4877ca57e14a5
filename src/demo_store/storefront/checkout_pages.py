"""Checkout pages: the cart, the checkout and the order confirmation."""

from html import escape
from typing import Final

from demo_store.storefront.cart import Cart, CartLine
from demo_store.storefront.html_parts import (
    crumbs,
    hidden_fields,
    image,
    money,
    widget,
)
from demo_store.storefront.http_messages import HOME, ShopReply, html_reply
from demo_store.storefront.page_layout import PageContext, render_page

FREE_FROM: Final = 50.0
DELIVERY: Final = 4.90
_MAX_PRODUCTS: Final = 8
_CHECK: Final = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="m5 12.5 4.5 4.5L19 7.5"/></svg>'
)


def cart_page(setting: PageContext, cart: Cart) -> ShopReply:
    """Return the cart page with its recommendations."""
    if not cart.lines:
        content = f"""{crumbs([], "Cart")}<h1>Your cart is empty</h1>
<p class="lead">Nothing in it yet. This is what others take home these days:</p>
<section class="band">{widget("trending", num=_MAX_PRODUCTS)}</section>
<p><a class="button" href="{HOME}">To the shop</a></p>"""
        return html_reply(render_page(setting, "Cart", content, about=' data-page="cart"'))
    lines = "".join(_line(line) for line in cart.lines)
    content = f"""{crumbs([], "Cart")}<h1>Your cart</h1>
<div class="till"><ul class="lines">{lines}</ul>
<aside aria-label="Sum">{_sum(cart)}
<a class="button" href="{HOME}/checkout">To the checkout</a></aside></div>
<section class="band">{
        widget("cart", item_ids=_ids(cart), num=_MAX_PRODUCTS, customer_id=setting.customer)
    }</section>"""
    return html_reply(render_page(setting, "Cart", content, about=' data-page="cart"'))


def checkout_page(setting: PageContext, cart: Cart, order_id: str) -> ShopReply:
    """Return the checkout page; `order_id` is its idempotency key."""
    customer_html = (
        f"You order as <b>{escape(setting.regular.name)}</b>, customer "
        f"{escape(setting.customer)}."
        if setting.regular
        else "You order as a guest; your visit is known by a random number only."
    )
    lines = "".join(_brief(line) for line in cart.lines)
    content = f"""{crumbs([("Cart", f"{HOME}/cart")], "Checkout")}<h1>Checkout</h1>
<div class="till"><div><ul class="brief">{lines}</ul>
<ol class="next"><li>The shop&rsquo;s server sends the order to ProductRecs.</li>
<li>What you buy leaves your own lists, and what goes with it comes.</li>
<li>Within a minute, all lists know what was bought together.</li></ol></div>
<aside aria-label="Sum">{_sum(cart)}
<p>{customer_html} Nothing is paid and nothing is sent: the order goes to ProductRecs, as
the server of a shop sends it.</p>
<form method="post" action="{HOME}/checkout">{hidden_fields(order_id=order_id)}
<button class="button">Place the order</button></form></aside></div>"""
    return html_reply(
        render_page(setting, "Checkout", content, about=' data-page="checkout"')
    )


def thanks_page(setting: PageContext, cart: Cart, order_id: str) -> ShopReply:
    """Return the order confirmation; `cart` holds the purchase."""
    lines = "".join(_brief(line) for line in cart.lines)
    content = f"""<div class="thanks"><p class="seal">{_CHECK}</p>
<p class="over">Order {escape(order_id)}</p>
<h1>Thank you{f", {escape(setting.regular.name)}" if setting.regular else ""}.</h1>
<p class="lead">The order has reached the service: what was bought counts from now on, for
your next visit and, within a minute, for everybody&rsquo;s.</p></div>
<div class="till"><ul class="brief">{lines}</ul>
<aside aria-label="Sum">{_sum(cart)}
<a class="button" href="{HOME}">Back to the shop</a></aside></div>
<section class="band">{
        widget(
            "thanks",
            item_ids=_ids(cart),
            num=_MAX_PRODUCTS,
            title="Goes with what you bought",
            customer_id=setting.customer,
        )
    }</section>"""
    return html_reply(
        render_page(setting, "Thank you", content, about=' data-page="thanks"')
    )


def _ids(cart: Cart) -> str:
    return ",".join(line.shop_item.id for line in cart.lines)


def _line(line: CartLine) -> str:
    shop_item = line.shop_item
    title = escape(shop_item.item.title)
    return f"""<li><a class="shot" href="{escape(shop_item.address)}" tabindex="-1"
 aria-hidden="true">{image(shop_item)}</a>
<div><a class="name" href="{escape(shop_item.address)}">{title}</a>
<p class="soft">{money(shop_item.price)} each</p></div>
<p class="price">{money(line.sum)}</p>
<form class="steps" method="post" action="{HOME}/cart">{hidden_fields(item_id=shop_item.id)}
<button name="more" value="-1" aria-label="One less of {title}">&minus;</button>
<b>{line.quantity}</b>
<button name="more" value="1" aria-label="One more of {title}">+</button>
<button class="plain" name="exactly" value="0" aria-label="Remove {title}">Remove</button>
</form></li>"""


def _brief(line: CartLine) -> str:
    return (
        f"<li>{image(line.shop_item)}<span>{line.quantity} &times; "
        f'<a href="{escape(line.shop_item.address)}">'
        f"{escape(line.shop_item.item.title)}</a></span>"
        f"<b>{money(line.sum)}</b></li>"
    )


def _sum(cart: Cart) -> str:
    delivery = 0.0 if cart.total >= FREE_FROM else DELIVERY
    delivery_text = money(delivery) if delivery else "free"
    return f"""<dl class="sum"><div><dt>Things</dt><dd>{money(cart.total)}</dd></div>
<div><dt>Delivery</dt><dd>{delivery_text}</dd></div>
<div class="all"><dt>Together</dt><dd>{money(cart.total + delivery)}</dd></div></dl>"""
