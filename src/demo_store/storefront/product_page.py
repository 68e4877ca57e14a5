"""Product page, and the page of a look."""

from html import escape
from typing import Final

from demo_store.looks import LOOKS, DemoLook
from demo_store.storefront.html_parts import (
    crumbs,
    hidden_fields,
    image,
    money,
    swatch,
    widget,
)
from demo_store.storefront.http_messages import HOME, ShopReply, html_reply
from demo_store.storefront.page_layout import PageContext, render_page
from demo_store.storefront.shop_items import ShopItem, ShopItems

_LARGE: Final = 1_000
_MAX_PRODUCTS: Final = 8


def product_page(setting: PageContext, goods: ShopItems, shop_item: ShopItem) -> ShopReply:
    """Return the page of a product, with its recommendations."""
    title = escape(shop_item.item.title)
    brand = escape(shop_item.product.brand) if shop_item.product else ""
    sentence = (
        shop_item.product.sentence
        if shop_item.product
        else shop_item.item.description or ""
    )
    page_attributes = f' data-page="product" data-price="{shop_item.price}"'
    content = f"""{crumbs(_breadcrumbs(shop_item), shop_item.item.title)}
<article class="product"><div class="picture">{image(shop_item, "eager", _LARGE)}</div>
<div class="buy"><p class="over">{brand}</p><h1>{title}</h1>
<p class="cost">{money(shop_item.price)} <span class="soft">with VAT</span></p>
<p class="lead">{escape(sentence)}</p>
{_variants(goods, shop_item)}{_form(setting, shop_item)}
<p class="stock {"yes" if shop_item.can_be_bought else "no"}"
>{escape(shop_item.stock_text)}</p>
{_facts(shop_item)}</div></article>
<section class="band">{_bundle(setting, shop_item)}</section>
{_scene(setting, goods, shop_item)}
<section class="band">
{_recommended(setting, shop_item, "similar", "Looks like this")}</section>
<section class="band">
{_recommended(setting, shop_item, "mix", "You may also like")}</section>
<section class="band">{_of_brand(setting, shop_item)}</section>"""
    return html_reply(
        render_page(setting, shop_item.item.title, content, about=page_attributes)
    )


def _breadcrumbs(shop_item: ShopItem) -> list[tuple[str, str]]:
    if shop_item.place is None:
        return []
    department_url = f"{HOME}/category/{shop_item.place.department.id}"
    return [
        (shop_item.place.department.name, department_url),
        (shop_item.place.shelf.name, f"{department_url}/{shop_item.place.shelf.id}"),
    ]


def _variants(goods: ShopItems, shop_item: ShopItem) -> str:
    siblings = goods.siblings(shop_item)
    if len(siblings) < 2:  # noqa: PLR2004 - the thing itself
        return ""
    choices = "".join(
        f'<li><a href="{escape(one.address)}"'
        f"{' aria-current=page' if one.id == shop_item.id else ''}>"
        f"{swatch(one.product.colour if one.product else '')}"
        f"{escape(_difference(one))}</a></li>"
        for one in siblings
    )
    return f'<nav class="variants" aria-label="Also comes as"><ul>{choices}</ul></nav>'


def _difference(shop_item: ShopItem) -> str:
    """Return a variant's difference: the text after the comma, or the colour."""
    _, comma, title_end = shop_item.item.title.rpartition(", ")
    if comma:
        return title_end
    return shop_item.product.colour if shop_item.product else shop_item.item.title


def _form(setting: PageContext, shop_item: ShopItem) -> str:
    if not shop_item.can_be_bought:
        return '<p class="form"><button class="button" disabled>Sold out</button></p>'
    return f"""<form class="form" method="post" action="{HOME}/cart" data-add>
{hidden_fields(item_id=shop_item.id, back=setting.page_url)}
<label class="many">Quantity <input type="number" name="more" value="1" min="1" max="99"
 inputmode="numeric"></label>
<button class="button">Add to cart</button></form>"""


def _facts(shop_item: ShopItem) -> str:
    facts = {"Number": shop_item.item.sku or shop_item.id}
    if shop_item.product is not None:
        facts |= {"Maker": shop_item.product.brand, "Colour": shop_item.product.colour}
    if shop_item.place is not None:
        facts["Found in"] = shop_item.place.shelf.name
    facts["Delivery"] = "Free from €50, else €4.90; thirty days to send it back"
    rows = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<dl class="facts">{rows}</dl>'


def _bundle(setting: PageContext, shop_item: ShopItem) -> str:
    return widget("fbt", item_id=shop_item.id, customer_id=setting.customer, num=3)


def _recommended(setting: PageContext, shop_item: ShopItem, source: str, title: str) -> str:
    kind = "recs" if source == "mix" else source
    return widget(
        kind,
        item_id=shop_item.id,
        source=source,
        num=_MAX_PRODUCTS,
        title=title,
        customer_id=setting.customer,
    )


def _of_brand(setting: PageContext, shop_item: ShopItem) -> str:
    name = "product-brand"
    return widget(name, placement=name, item_id=shop_item.id, customer_id=setting.customer)


def _scene(setting: PageContext, goods: ShopItems, shop_item: ShopItem) -> str:
    for look in LOOKS:
        if any(look_product.item_id == shop_item.id for look_product in look.products):
            scene = scene_of(setting, goods, look, shop_item.id)
            return f'<section class="band">{scene}</section>'
    return ""


def scene_of(
    setting: PageContext, goods: ShopItems, look: DemoLook, anchor: str, *, level: int = 2
) -> str:
    """Return a look with its products: the service's look of the anchor's page."""
    listed = "".join(
        f'<li>{image(one)}<span><a href="{escape(one.address)}">'
        f"{escape(one.item.title)}</a> <b>{money(one.price)}</b></span></li>"
        for one in goods.some(look_product.item_id for look_product in look.products)
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
    scene = scene_of(setting, goods, look, look.products[0].item_id, level=1)
    content = f"""{crumbs([], look.title)}{scene}
<section class="band">{widget("trending", num=_MAX_PRODUCTS)}</section>"""
    return html_reply(render_page(setting, look.title, content, about=' data-page="look"'))
