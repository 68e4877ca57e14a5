"""HTML components: cards, grids, breadcrumbs, form fields; outside values are escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from demo_store.storefront.http_messages import HOME
from demo_store.storefront.shop_items import ShopItem

MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def money(amount: float) -> str:
    """Return an amount in the shop's format."""
    return f"€{amount:,.2f}"


def card(
    shop_item: ShopItem, *, level: int = 3, note: str = "", is_first: bool = False
) -> str:
    """Return a product as a card; `is_first` if it is above the fold."""
    loading = "eager" if is_first else "lazy"
    brand = escape(shop_item.product.brand) if shop_item.product else ""
    sold_out = "" if shop_item.can_be_bought else '<span class="flag">Sold out</span>'
    flag = f'<span class="flag new">{escape(note)}</span>' if note else sold_out
    return (
        f'<li class="card"><a href="{escape(shop_item.address)}"'
        f' data-item="{escape(shop_item.id)}">'
        f'<span class="shot">{image(shop_item, loading)}{flag}</span>'
        f'<span class="brand">{brand}</span>'
        f'<h{level} class="name">{escape(shop_item.item.title)}</h{level}>'
        f'<span class="price">{money(shop_item.price)}</span></a></li>'
    )


def cards(goods: Iterable[ShopItem], *, level: int = 3, eager_count: int = 0) -> str:
    """Return products as a grid; the first `eager_count` are above the fold."""
    listed = (
        card(shop_item, level=level, is_first=index < eager_count)
        for index, shop_item in enumerate(goods)
    )
    return f'<ul class="grid">{"".join(listed)}</ul>'


def image(shop_item: ShopItem, loading: str = "lazy", size: int = 480) -> str:
    """Return a product's picture, without alt text, because the title is next to it."""
    source = escape(shop_item.item.image_url or "")
    if size > 480:  # noqa: PLR2004 - larger than a card
        source = source.replace("/pictures/", "/pictures/large/")
    return (
        f'<img src="{source}" alt="" width="{size}" height="{size}" '
        f'loading="{loading}" decoding="async">'
    )


def widget(
    kind: str = "recs", *, fallback: str = "", placement: str = "", **data: str | int
) -> str:
    """Return the container of a widget of the service; `data` are its attributes."""
    attributes = "".join(
        f' data-{name.replace("_", "-")}="{escape(str(value))}"'
        for name, value in data.items()
        if value not in {"", None}
    )
    kind = "" if kind == "recs" else f' data-type="{kind}"'
    named = f' placement="{placement}"' if placement else ""
    return f"<product-recs{kind}{named}{attributes}>{fallback}</product-recs>"


def crumbs(path: Sequence[tuple[str, str]], current_title: str) -> str:
    """Return the breadcrumbs of a page."""
    breadcrumbs = [("Home", HOME), *path]
    links = "".join(
        f'<li><a href="{to}">{escape(name)}</a></li>' for name, to in breadcrumbs
    )
    return (
        f'<nav class="crumbs" aria-label="You are here"><ol>{links}'
        f'<li aria-current="page">{escape(current_title)}</li></ol></nav>'
    )


def hidden_fields(**fields: str) -> str:
    """Return hidden fields of a form."""
    return "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">'
        for name, value in fields.items()
    )


def swatch(colour: str) -> str:
    """Return a colour swatch."""
    return f'<span class="dot c-{escape(colour)}" aria-hidden="true"></span>'


def options(choices: Mapping[str, str], chosen: str) -> str:
    """Return the options of a select element: value to label."""
    return "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>'
        f"{escape(words)}</option>"
        for value, words in choices.items()
    )
