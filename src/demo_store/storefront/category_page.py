"""Category pages: departments and their shelves."""

from collections.abc import Sequence
from html import escape
from types import MappingProxyType
from typing import Final

from demo_store.assortment_types import Department, Shelf
from demo_store.departments import DEPARTMENTS
from demo_store.storefront.html_parts import (
    cards,
    crumbs,
    options,
    swatch,
    widget,
)
from demo_store.storefront.http_messages import (
    HOME,
    PageRequest,
    ShopReply,
    html_reply,
)
from demo_store.storefront.page_layout import PageContext, render_page
from demo_store.storefront.shop_items import ShopItem, ShopItems, cheapest_first

_EAGER_IMAGES: Final = 6
_ORDERS: Final = MappingProxyType(
    {"": "As on the shelf", "low": "Price, low to high", "high": "Price, high to low"}
)


def category_page(
    setting: PageContext, goods: ShopItems, page_request: PageRequest
) -> ShopReply | None:
    """Return the page of a department or a shelf; None if it does not exist."""
    names = page_request.path[1:]
    department = next((one for one in DEPARTMENTS if names[:1] == (one.id,)), None)
    if department is None:
        return None
    shelf = next((one for one in department.shelves if names[1:] == (one.id,)), None)
    if shelf is None and len(names) > 1:
        return None
    shown = goods.on(department.id, shelf.id if shelf else None)
    colours = sorted({one.product.colour for one in shown if one.product})
    colour = page_request.query.get("colour", "")
    if colour in colours:
        shown = [one for one in shown if one.product and one.product.colour == colour]
    else:
        colour = ""
    order = page_request.query.get("order", "")
    return _page(setting, department, shelf, _Choice(colours, colour, order), shown)


class _Choice:
    """The available colours, the chosen colour, and the sort order."""

    def __init__(self, colours: Sequence[str], colour: str, order: str) -> None:
        self.colours = colours
        self.colour = colour
        self.order = order if order in _ORDERS else ""

    def sorted(self, goods: list[ShopItem]) -> list[ShopItem]:
        if not self.order:
            return goods
        found = cheapest_first(goods)
        return found if self.order == "low" else found[::-1]


def _page(
    setting: PageContext,
    department: Department,
    shelf: Shelf | None,
    choice: _Choice,
    shown: list[ShopItem],
) -> ShopReply:
    name = shelf.name if shelf else department.name
    department_url = f"{HOME}/category/{department.id}"
    page_url = f"{department_url}/{shelf.id}" if shelf else department_url
    category = f"{department.id}/{shelf.id}" if shelf else department.id
    breadcrumbs = [(department.name, department_url)] if shelf else []
    page_attributes = f' data-page="category" data-category="{escape(category)}"'
    page_attributes += f' data-colour="{escape(choice.colour)}"' if choice.colour else ""
    for_you = widget(
        "category",
        source="browse",
        num=8,
        title=(
            "For you, from all over the shop"
            if setting.is_identified
            else "Loved all over the shop"
        ),
        customer_id=setting.customer,
    )
    content = f"""{crumbs(breadcrumbs, name)}
<div class="head"><h1>{escape(name)}</h1>
<p class="soft">{len(shown)} {"thing" if len(shown) == 1 else "things"}</p></div>
<nav class="chips" aria-label="Shelves">
<ul>{_chips(department, shelf, department_url)}</ul></nav>
{_tools(choice, page_url)}{cards(choice.sorted(shown), level=2, eager_count=_EAGER_IMAGES)}
<section class="band">{for_you}</section>"""
    return html_reply(render_page(setting, name, content, about=page_attributes))


def _chips(department: Department, shelf: Shelf | None, department_url: str) -> str:
    chosen = ' aria-current="page"' if shelf is None else ""
    chips = [f'<li><a href="{department_url}"{chosen}>All</a></li>']
    for one in department.shelves:
        chosen = ' aria-current="page"' if one == shelf else ""
        chips.append(
            f'<li><a href="{department_url}/{one.id}"{chosen}>{escape(one.name)}</a></li>'
        )
    return "".join(chips)


def _tools(choice: _Choice, page_url: str) -> str:
    orders = options(_ORDERS, choice.order)
    return f"""<form class="tools" action="{page_url}">{_colours(choice)}
<label>Order <select name="order">{orders}</select></label><button>Show</button></form>"""


def _colours(choice: _Choice) -> str:
    dots = [
        f'<label class="pick"><input type="radio" name="colour" value="{escape(one)}"'
        f"{' checked' if one == choice.colour else ''}>{swatch(one)}"
        f'<span class="hide">{escape(one)}</span></label>'
        for one in choice.colours
    ]
    every = " checked" if not choice.colour else ""
    return (
        '<fieldset><legend>Colour</legend><label class="pick any"><input type="radio" '
        f'name="colour" value=""{every}><span>Any</span></label>{"".join(dots)}</fieldset>'
    )
