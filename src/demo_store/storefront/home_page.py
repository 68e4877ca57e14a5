"""Home page of the demo shop."""

from html import escape
from typing import Final

from demo_store.departments import DEPARTMENTS
from demo_store.looks import LOOKS, DemoLook
from demo_store.storefront.html_parts import cards, widget
from demo_store.storefront.http_messages import HOME, ShopReply, html_reply
from demo_store.storefront.page_layout import PageContext, render_page
from demo_store.storefront.shop_items import ShopItems

_SHOWN: Final = 8
_IN_SEASON: Final = 10  # whole rows of five, and of two


def home_page(setting: PageContext, goods: ShopItems) -> ShopReply:
    """Return the home page: a look, personal and trending lists, and the departments."""
    first, *other_looks = LOOKS
    welcome = f"Good to see you, {setting.regular.name}." if setting.regular else ""
    content = f"""<section class="hero">
<div class="words"><p class="over">{escape(first.title)}</p>
<h1>{escape(welcome) or "Things that last, for a life outdoors and in."}</h1>
<p>Ten departments, four hundred things worth keeping. Look around: with every click the
shop learns what you came for.</p>
<p><a class="button" href="{HOME}/product/{first.products[0].item_id}">See the tent</a>
<a class="plain" href="{HOME}/category/outdoor">All of Outdoor</a></p></div>
<img src="{HOME}/pictures/looks/{first.id}.webp" alt="{escape(first.words)}" width="1200"
 height="900" fetchpriority="high"></section>
{_for_you(setting)}
<section class="band">{widget("trending", num=_SHOWN, title="Loved this month")}</section>
{_placed(setting, "home-sale")}{_placed(setting, "home-new")}
<section class="band"><h2>Departments</h2>
<ul class="rooms">{_departments(goods)}</ul></section>
<section class="band"><h2>Scenes</h2>
<ul class="scenes">{"".join(map(_scene, other_looks))}</ul>
</section>
<section class="band"><h2>In season</h2>{cards(goods.in_season(_IN_SEASON))}</section>"""
    return html_reply(render_page(setting, "", content, about=' data-page="home"'))


def _for_you(setting: PageContext) -> str:
    if not setting.is_identified:
        return ""  # it would repeat the trending list
    name = setting.regular.name if setting.regular else "you"
    place = widget(
        "home",
        source="browse",
        num=_SHOWN,
        title=f"Picked for {name}",
        customer_id=setting.customer,
    )
    again = _placed(setting, "buy-again") if setting.regular else ""
    hero = _placed(setting, "home-hero")
    return f'<section class="band">{place}</section>{hero}{again}'


def _placed(setting: PageContext, name: str) -> str:
    """Return the list of a placement; the band closes where there is none."""
    place = widget(name, placement=name, customer_id=setting.customer)
    return f'<section class="band">{place}</section>'


def _departments(goods: ShopItems) -> str:
    rooms = []
    for department in DEPARTMENTS:
        shown = goods.on(department.id)
        pictures = "".join(
            f'<img src="{escape(shop_item.item.image_url or "")}" alt="" width="160" '
            f'height="160" loading="lazy" decoding="async">'
            for shop_item in shown[:: max(1, len(shown) // 4)][:4]
        )
        rooms.append(
            f'<li><a href="{HOME}/category/{department.id}"><span class="quad">{pictures}'
            f"</span><b>{escape(department.name)}</b></a></li>"
        )
    return "".join(rooms)


def _scene(look: DemoLook) -> str:
    return (
        f'<li><a href="{HOME}/look/{look.id}">'
        f'<img src="{HOME}/pictures/looks/{look.id}.webp" alt="" width="1200" height="900" '
        f'loading="lazy" decoding="async">'
        f"<b>{escape(look.title)}</b> <span>{escape(look.words)}</span></a></li>"
    )
