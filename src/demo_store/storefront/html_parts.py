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


def card(good: ShopItem, *, level: int = 3, note: str = "", is_first: bool = False) -> str:
    """Return a product as a card; `is_first` if it is above the fold."""
    loading = "eager" if is_first else "lazy"
    brand = escape(good.product.brand) if good.product else ""
    sold_out = "" if good.can_be_bought else '<span class="flag">Sold out</span>'
    flag = f'<span class="flag new">{escape(note)}</span>' if note else sold_out
    return (
        f'<li class="card"><a href="{escape(good.address)}" data-item="{escape(good.id)}">'
        f'<span class="shot">{image(good, loading)}{flag}</span>'
        f'<span class="brand">{brand}</span>'
        f'<h{level} class="name">{escape(good.item.title)}</h{level}>'
        f'<span class="price">{money(good.price)}</span></a></li>'
    )


def cards(goods: Iterable[ShopItem], *, level: int = 3, eager: int = 0) -> str:
    """Return products as a grid; the first `eager` are above the fold."""
    listed = (card(good, level=level, is_first=at < eager) for at, good in enumerate(goods))
    return f'<ul class="grid">{"".join(listed)}</ul>'


def image(good: ShopItem, loading: str = "lazy", size: int = 480) -> str:
    """Return a product's picture, without alt text, because the title is next to it."""
    source = escape(good.item.image_url or "")
    if size > 480:  # noqa: PLR2004 - larger than a card
        source = source.replace("/pictures/", "/pictures/large/")
    return (
        f'<img src="{source}" alt="" width="{size}" height="{size}" '
        f'loading="{loading}" decoding="async">'
    )


def widget(kind: str = "recs", *, fallback: str = "", **data: str | int) -> str:
    """Return the container of a widget of the service; `data` are its attributes."""
    told = "".join(
        f' data-{name.replace("_", "-")}="{escape(str(value))}"'
        for name, value in data.items()
        if value not in {"", None}
    )
    kind = "" if kind == "recs" else f' data-type="{kind}"'
    return f"<product-recs{kind}{told}>{fallback}</product-recs>"


def crumbs(path: Sequence[tuple[str, str]], here: str) -> str:
    """Return the breadcrumbs of a page."""
    doors = [("Home", HOME), *path]
    links = "".join(f'<li><a href="{to}">{escape(name)}</a></li>' for name, to in doors)
    return (
        f'<nav class="crumbs" aria-label="You are here"><ol>{links}'
        f'<li aria-current="page">{escape(here)}</li></ol></nav>'
    )


def hidden(**fields: str) -> str:
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
