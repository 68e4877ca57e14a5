"""Product page, and the page of a look."""

from html import escape
from typing import Final

from demo_store.looks import LOOKS, DemoLook
from demo_store.storefront.html_parts import (
    crumbs,
    hidden,
    image,
    money,
    swatch,
    widget,
)
from demo_store.storefront.http_messages import HOME, ShopReply, html_reply
from demo_store.storefront.page_layout import PageContext, render_page
from demo_store.storefront.shop_items import ShopItem, ShopItems

_LARGE: Final = 1_000
_FEW: Final = 8


def product_page(setting: PageContext, goods: ShopItems, good: ShopItem) -> ShopReply:
    """Return the page of a product, with its recommendations."""
    title = escape(good.item.title)
    brand = escape(good.product.brand) if good.product else ""
    sentence = good.product.sentence if good.product else good.item.description or ""
    told = f' data-page="product" data-price="{good.price}"'
    content = f"""{crumbs(_way(good), good.item.title)}
<article class="product"><div class="picture">{image(good, "eager", _LARGE)}</div>
<div class="buy"><p class="over">{brand}</p><h1>{title}</h1>
<p class="cost">{money(good.price)} <span class="soft">with VAT</span></p>
<p class="lead">{escape(sentence)}</p>
{_variants(goods, good)}{_form(setting, good)}
<p class="stock {"yes" if good.can_be_bought else "no"}">{escape(good.standing)}</p>
{_facts(good)}</div></article>
<section class="band">{_bundle(setting, good)}</section>
{_scene(setting, goods, good)}
<section class="band">{_recommended(setting, good, "similar", "Looks like this")}</section>
<section class="band">{_recommended(setting, good, "mix", "You may also like")}</section>"""
    return html_reply(render_page(setting, good.item.title, content, about=told))


def _way(good: ShopItem) -> list[tuple[str, str]]:
    if good.place is None:
        return []
    door = f"{HOME}/category/{good.place.department.id}"
    return [
        (good.place.department.name, door),
        (good.place.shelf.name, f"{door}/{good.place.shelf.id}"),
    ]


def _variants(goods: ShopItems, good: ShopItem) -> str:
    siblings = goods.siblings(good)
    if len(siblings) < 2:  # noqa: PLR2004 - the thing itself
        return ""
    choices = "".join(
        f'<li><a href="{escape(one.address)}"'
        f"{' aria-current=page' if one.id == good.id else ''}>"
        f"{swatch(one.product.colour if one.product else '')}"
        f"{escape(_difference(one))}</a></li>"
        for one in siblings
    )
    return f'<nav class="variants" aria-label="Also comes as"><ul>{choices}</ul></nav>'


def _difference(good: ShopItem) -> str:
    """Return a variant's difference: the text after the comma, or the colour."""
    _, comma, rest = good.item.title.rpartition(", ")
    if comma:
        return rest
    return good.product.colour if good.product else good.item.title


def _form(setting: PageContext, good: ShopItem) -> str:
    if not good.can_be_bought:
        return '<p class="form"><button class="button" disabled>Sold out</button></p>'
    return f"""<form class="form" method="post" action="{HOME}/cart" data-add>
{hidden(item_id=good.id, back=setting.here)}
<label class="many">Quantity <input type="number" name="more" value="1" min="1" max="99"
 inputmode="numeric"></label>
<button class="button">Add to cart</button></form>"""


def _facts(good: ShopItem) -> str:
    facts = {"Number": good.item.sku or good.id}
    if good.product is not None:
        facts |= {"Maker": good.product.brand, "Colour": good.product.colour}
    if good.place is not None:
        facts["Found in"] = good.place.shelf.name
    facts["Delivery"] = "Free from €50, else €4.90; thirty days to send it back"
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<dl class="facts">{rows}</dl>'


def _bundle(setting: PageContext, good: ShopItem) -> str:
    return widget("fbt", item_id=good.id, customer_id=setting.customer, num=3)


def _recommended(setting: PageContext, good: ShopItem, source: str, title: str) -> str:
    kind = "recs" if source == "mix" else source
    return widget(
        kind,
        item_id=good.id,
        source=source,
        num=_FEW,
        title=title,
        customer_id=setting.customer,
    )


def _scene(setting: PageContext, goods: ShopItems, good: ShopItem) -> str:
    for look in LOOKS:
        if any(piece.item_id == good.id for piece in look.pieces):
            scene = scene_of(setting, goods, look, good.id)
            return f'<section class="band">{scene}</section>'
    return ""


def scene_of(
    setting: PageContext, goods: ShopItems, look: DemoLook, anchor: str, *, level: int = 2
) -> str:
    """Return a look with its products: the service's look of the anchor's page."""
    listed = "".join(
        f'<li>{image(one)}<span><a href="{escape(one.address)}">'
        f"{escape(one.item.title)}</a> <b>{money(one.price)}</b></span></li>"
        for one in goods.some(piece.item_id for piece in look.pieces)
    )
    still = (
        f'<div class="scene"><h{level}>{escape(look.title)}</h{level}>'
        f'<div><img src="{HOME}/pictures/looks/{look.id}.webp" alt="{escape(look.words)}" '
        f'width="1200" height="900" loading="lazy" decoding="async">'
        f"<ul>{listed}</ul></div></div>"
    )
    # A static picture is shown until the widget has loaded the look.
    return (
        f'<product-look data-item-id="{escape(anchor)}" data-view="off" data-upload '
        f'data-title="{escape(look.title)}" data-heading-level="{level}" '
        f'data-customer-id="{escape(setting.customer)}">{still}</product-look>'
    )


def look_page(setting: PageContext, goods: ShopItems, look: DemoLook) -> ShopReply:
    """Return the page of a look."""
    scene = scene_of(setting, goods, look, look.pieces[0].item_id, level=1)
    content = f"""{crumbs([], look.title)}{scene}
<section class="band">{widget("trending", num=_FEW)}</section>"""
    return html_reply(render_page(setting, look.title, content, about=' data-page="look"'))
