"""Recommendations widget: one script and one element show the configured products."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from productrecs.features.widgets.price_format import sample_price
from productrecs.records.placements.placement import PlacementContent, Strategy
from tests.support.browser import a_minute_later, watched
from tests.support.service import add_placement, eventually
from tests.support.storefront import WITHOUT_PRICE, Storefront

CARD = "product-recs >> li[part=card]"
LINK = "product-recs >> a[part=link][href]"
PRICE = "product-recs >> [part=price]"
BUTTON = "product-recs >> [part=button]"
NAV = "product-recs >> [part=nav-button]"


def test_one_script_and_one_element_are_all(page: Page, front: Storefront) -> None:
    watch = watched(page)
    element = f"<product-recs data-key={front.key} data-item-id=p0></product-recs>"

    page.goto(front.page("/", element))

    expect(page.locator(LINK)).to_have_count(8)
    expect(page.locator("product-recs >> h2")).to_have_text("You may also like")
    assert "p0" not in page.locator(CARD).evaluate_all("all => all.map(a => a.dataset.id)")
    assert watch.complaints == []
    assert front.requests_to("/v1/recommendations")[0]["item_id"] == "p0"


PLACES: dict[str, tuple[str, str, dict[str, str | None]]] = {
    "a product page": ("data-item-id=p0", "recommendations", {"item_id": "p0", "num": "8"}),
    "bought together": (
        "data-type=fbt data-item-id=p0",
        "recommendations",
        {"item_id": "p0", "source": "buy", "num": "3"},
    ),
    "a cart": (
        "data-type=cart data-item-ids=p0,p1",
        "recommendations",
        {"item_ids": "p0,p1", "source": None},
    ),
    "a home page": ("data-type=trending data-num=4", "trending", {"num": "4"}),
    "trending as a source": ("data-source=trending", "trending", {"item_id": None}),
    "one's own past": (
        "data-source=browse data-user-id=u7 data-customer-id=c7",
        "recommendations",
        {"source": "browse", "user_id": "u7", "customer_id": "c7"},
    ),
    "a customer alone": (
        "data-user-id=u7 data-identity=1.ab",
        "recommendations",
        {"customer_id": "u7", "identity": "1.ab"},
    ),
    "a signed customer": (
        "data-customer-id=c7 data-identity=1.ab",
        "recommendations",
        {"customer_id": "c7", "identity": "1.ab"},
    ),
    "a guest": ("", "recommendations", {"customer_id": None, "identity": None}),
    "with a filter": (
        "data-item-id=p0 filter='in_stock:true; price:..20'",
        "recommendations",
        {"item_id": "p0", "filter": "price:..20"},  # the last of two
    ),
    "trending with a filter": (
        "data-type=trending filter=price:1..20",
        "trending",
        {"filter": "price:1..20"},
    ),
    "too many": ("data-num=99", "recommendations", {"num": "20"}),
    "an e-mail address": (
        "data-customer-id=a@b.example",
        "recommendations",
        {"customer_id": None},
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_attributes_become_parameters_of_the_call(
    page: Page, front: Storefront, name: str
) -> None:
    attributes, call, wanted = PLACES[name]
    page.goto(front.page("/", f"<product-recs data-eager {attributes}></product-recs>"))
    expect(page.locator(LINK).first).to_be_visible()

    (request,) = front.requests_to(f"/v1/{call}")

    assert {parameter: request.get(parameter) for parameter in wanted} == wanted
    assert request["key"] == front.key


@pytest.mark.parametrize("attributes", ["data-item-id=p0", "data-type=trending"])
def test_a_price_list_shows_its_prices_in_its_currency(
    page: Page, front: Storefront, attributes: str
) -> None:
    prices = {"prices": {"USD": 1234.5}}
    front.merchant.push(*({"id": f"p{number}", **prices} for number in range(5)))
    eventually(lambda: front.merchant.trending(price_list="USD").status == 200)
    element = f"<product-recs data-eager data-num=20 price-list=usd {attributes}>"

    page.goto(front.page("/", f"<div lang=en-US>{element}</product-recs></div>"))

    expect(page.locator(PRICE).first).to_have_text("$1,234.50")
    shown = page.locator(PRICE).all_text_contents()
    assert set(shown) == {"$1,234.50"}
    assert 3 <= len(shown) < page.locator(CARD).count()
    call = "trending" if "trending" in attributes else "recommendations"
    assert front.requests_to(f"/v1/{call}")[0]["price_list"] == "usd"


def test_a_bundle_with_an_unknown_price_has_no_sum(page: Page, front: Storefront) -> None:
    front.merchant.push({"id": "p0", "prices": {"CHF": 5}})
    eventually(lambda: front.merchant.trending(price_list="CHF").status == 200)
    attributes = "data-eager data-type=fbt data-item-id=p0 price-list=CHF"

    page.goto(front.page("/", f"<product-recs {attributes}></product-recs>"))

    total = page.locator("product-recs >> [part=total]")
    expect(page.locator(PRICE)).to_have_count(1)
    expect(total).to_have_text("")
    for box in page.locator("product-recs >> input").all()[1:]:
        box.uncheck()
    expect(total).to_have_text(re.compile(r"CHF.5\.00"))


def test_a_placement_says_what_is_shown_and_no_product_is_shown_twice(
    page: Page, front: Storefront
) -> None:
    for name, content in {
        "home-hero": PlacementContent(Strategy.TRENDING, title="Our best", num=3),
        "home-new": PlacementContent(Strategy.NEW, title="Just in", num=2, minimum=2),
        "rare": PlacementContent(Strategy.ON_SALE, minimum=2),
    }.items():
        add_placement(front.merchant.account, name, content)
        eventually(lambda: front.merchant.recommend(placement=name).status == 200)  # noqa: B023 - asked at once
    elements = "".join(
        f"<product-recs data-eager {attributes}></product-recs>"
        for attributes in (
            "placement=home-hero data-source=buy",
            "placement=home-new",
            "placement=rare",
        )
    )

    page.goto(front.page("/", elements))

    lists = page.locator("product-recs")
    expect(lists.nth(0).locator("[part=link][href]")).to_have_count(3)
    expect(lists.nth(1).locator("[part=link][href]")).to_have_count(2)
    expect(lists.nth(0).locator("h2")).to_have_text("Our best")
    expect(lists.nth(1).locator("h2")).to_have_text("Just in")
    expect(lists.nth(2)).to_be_hidden()
    ids = page.locator(CARD).evaluate_all("all => all.map(a => a.dataset.id)")
    assert len(ids) == len(set(ids)) == 5
    requests = front.requests_to("/v1/recommendations")
    assert {one["placement"] for one in requests} == {"home-hero", "home-new", "rare"}
    assert all("source" not in one for one in requests)


@pytest.mark.parametrize("layout", ["carousel", "grid", "list", "fbt"])
def test_every_layout_shows_products_without_barriers(
    page: Page, front: Storefront, axe: str, layout: str
) -> None:
    attributes = f"data-layout={layout} data-item-id=p0 data-num=6"
    main = f"<main><h1>Tent</h1><product-recs {attributes}></product-recs></main>"
    page.goto(front.page("/", main))
    expect(page.locator(PRICE).first).to_have_text("€9.50" if layout == "fbt" else "€19.50")

    page.evaluate(axe)
    found = page.evaluate("axe.run()")

    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    unpriced = page.locator(f"product-recs >> [data-id={WITHOUT_PRICE}]")
    expect(unpriced.locator("[part=price]")).to_have_count(0)


def test_a_carousel_is_moved_by_buttons_and_never_by_itself(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", "<product-recs data-item-id=p0></product-recs>"))
    carousel = page.locator("product-recs >> section")
    back, on = page.locator(NAV).nth(0), page.locator(NAV).nth(1)
    expect(back).to_have_attribute("aria-disabled", "true")
    expect(on).to_have_attribute("aria-disabled", "false")

    expect(carousel).to_have_attribute("aria-roledescription", "carousel")
    expect(carousel).to_have_accessible_name("You may also like")
    assert on.bounding_box() == pytest.approx(
        {**(on.bounding_box() or {}), "width": 44, "height": 44}
    )
    on.focus()
    page.keyboard.press("Enter")
    expect(on).to_have_attribute("aria-disabled", "true")
    expect(back).to_have_attribute("aria-disabled", "false")
    expect(on).to_be_focused()
    page.keyboard.press("Enter")  # off, and harmless
    expect(page.locator(LINK).nth(7)).to_be_in_viewport(ratio=0.9)

    page.locator(LINK).nth(0).focus()
    expect(page.locator(LINK).nth(0)).to_be_in_viewport(ratio=0.9)


def test_from_right_to_left_everything_is_turned(page: Page, front: Storefront) -> None:
    element = "<product-recs data-item-id=p0></product-recs>"
    page.goto(front.page("/", element, html="lang=ar dir=rtl"))
    expect(page.locator(LINK)).to_have_count(8)

    first, second = page.locator(CARD).nth(0), page.locator(CARD).nth(1)
    eventually(lambda: first.bounding_box() and second.bounding_box())
    boxes = first.bounding_box(), second.bounding_box()
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["x"] > boxes[1]["x"]
    expect(page.locator("product-recs >> h2")).to_have_text("قد يعجبك أيضًا")
    expect(page.locator(NAV).nth(1)).to_have_attribute("aria-label", "التالي")
    page.locator(NAV).nth(1).click()
    expect(page.locator(LINK).nth(7)).to_be_in_viewport(ratio=0.9)


def test_price_patterns_are_as_the_browser_itself_formats_prices(page: Page) -> None:
    forms_by_locale = {  # in languages that have long settled how they write
        locale: {
            currency: sample_price(locale, currency) for currency in ("EUR", "USD", "GBP")
        }
        for locale in ("en", "en-GB", "de", "de-AT", "fr", "es", "nl", "sv", "ja")
    }

    differ = page.evaluate(
        """forms_by_locale => Object.entries(forms_by_locale).flatMap(([locale, forms]) =>
          Object.entries(forms).filter(([currency, form]) =>
            (1234).toLocaleString(locale, {style: "currency", currency}) != form
          ).map(one => [locale, ...one]))""",
        forms_by_locale,
    )

    assert differ == []


LOCALES = [
    ("lang=de", "", "19,50\u00a0€"),
    ("lang=en-GB", "", "€19.50"),
    ("lang=en", "lang=fr", "19,50\u00a0€"),
    ("", "", "€19.50"),
]


@pytest.mark.parametrize(("html", "attribute", "price"), LOCALES)
def test_prices_are_written_as_the_page_speaks(
    page: Page, front: Storefront, html: str, attribute: str, price: str
) -> None:
    element = f"<product-recs data-item-id=p0 {attribute}></product-recs>"
    page.goto(front.page("/", element, html=html))

    expect(page.locator(PRICE).first).to_have_text(price)


def set_look(front: Storefront, widget_type: str, **change: object) -> None:
    target = f"/integration/widget-config?type={widget_type}"
    body = json.dumps(change).encode()
    account = front.merchant.server
    client = front.service.client()
    assert client.ask("PUT", target, body, account).status == 200


def test_the_look_is_the_merchants(page: Page, front: Storefront) -> None:
    settings: dict[str, Any] = {
        "layout": "grid",
        "columns": 3,
        "title": "Only here",
        "accent_color": "#0a5",
        "corner_radius": 20,
        "currency": "JPY",
        "show_add_to_cart": True,
        "strings": {"add": "Grab it"},
    }
    css = "@import 'http://evil.example/x.css'; [part=title] { color: rgb(1, 2, 3) }"
    set_look(front, "promo", settings=settings, custom_css=css, scoped=True)
    element = "<product-recs data-type=promo data-item-id=p0></product-recs>"
    outside = "<p part=title id=outside>Text</p><style>product-recs{--pr-gap:31px}</style>"
    watch = watched(page)

    page.goto(front.page("/", element + outside))

    expect(page.locator("product-recs >> h2")).to_have_text("Only here")
    expect(page.locator(PRICE).first).to_have_text("¥20")
    expect(page.locator(BUTTON).first).to_have_text("Grab it")
    title = page.locator("product-recs >> [part=title]").first
    expect(title).to_have_css("color", "rgb(1, 2, 3)")
    expect(page.locator("#outside")).not_to_have_css("color", "rgb(1, 2, 3)")
    expect(page.locator("product-recs >> [part=image-box]").first).to_have_css(
        "border-radius", "20px"
    )
    expect(page.locator("product-recs >> ul")).to_have_css("gap", "31px")
    columns = page.locator("product-recs >> ul").evaluate(
        "one => getComputedStyle(one).gridTemplateColumns.split(' ').length"
    )
    assert columns == 3
    assert watch.hosts() == {
        front.pages.origin().partition("//")[2],
        front.relay.address.partition("//")[2],
    }

    set_look(front, "promo", scoped=False)
    a_minute_later(page)
    page.reload()
    expect(page.locator("#outside")).to_have_css("color", "rgb(1, 2, 3)")


def test_a_bundle_has_a_sum_and_one_button_for_all(page: Page, front: Storefront) -> None:
    page.goto(
        front.page("/", "<product-recs data-type=fbt data-item-id=p0></product-recs>")
    )
    page.evaluate(
        """document.addEventListener("product-recs:add-to-cart", (event) => {
          event.preventDefault();
          window.wanted = event.detail.items;
          event.detail.waitUntil(new Promise((done) => { window.done = done; }));
        })"""
    )
    total = page.locator("product-recs >> [part=total]")
    expect(total).to_have_text("€68.50")  # the tent itself, 9.50, and 19.50 and 39.50
    expect(page.locator("product-recs >> small")).to_have_text("This item")

    page.locator("product-recs >> input").nth(1).uncheck()
    before = total.inner_text()
    page.locator(BUTTON).click()
    expect(page.locator(BUTTON)).to_have_attribute("aria-busy", "true")
    page.evaluate("window.done()")

    expect(page.locator(BUTTON)).to_have_text("Added")
    wanted = page.evaluate("window.wanted")
    assert wanted[0] == {"id": "p0", "price": 9.5, "quantity": 1}
    assert len(wanted) == 2
    assert before == f"€{9.5 + wanted[1]['price']:.2f}"
    assert front.requests_to("/v1/search") == []  # one metered call, and no search
    assert len(front.requests_to("/v1/recommendations")) == 1
    eventually(lambda: front.events("rec-impression"), 20)
    shown = [one for event in front.events("rec-impression") for one in event["item_ids"]]
    assert "p0" not in shown
    # The button is a click on each product but the page's own; it is sent first.
    eventually(lambda: front.events("rec-click"))
    (click,) = front.events("rec-click")
    assert (click["item_id"], click["widget"]) == (wanted[1]["id"], "fbt")
    assert (click["source"], click["position"]) == ("buy", 2)


def test_a_bundle_ticks_only_what_is_certainly_bought_together(
    page: Page, front: Storefront
) -> None:
    own = {"id": "p0", "title": "The tent", "price": 9.5}
    products = front_products(front)
    products[0]["certain"], products[1]["certain"] = True, False
    page.route(
        "**/v1/recommendations*",
        lambda route: route.fulfill(
            json={"recommendations": products, "anchor": own},
            headers={"access-control-allow-origin": "*"},
        ),
    )
    page.goto(
        front.page("/", "<product-recs data-type=fbt data-item-id=p0></product-recs>")
    )
    total, boxes = (
        page.locator(f"product-recs >> {one}") for one in ("[part=total]", "input")
    )

    expect(total).to_have_text("€10.50")  # the tent, and 1.00
    ticked = boxes.evaluate_all("all => all.map((one) => one.checked)")
    assert ticked == [True, True, False]
    expect(page.locator(BUTTON)).to_have_text("Add to cart")
    boxes.nth(2).check()
    expect(total).to_have_text("€12.50")
    expect(page.locator(BUTTON)).to_have_text("Add all to cart")


def test_a_merchants_bundle_is_shown_whole_with_its_price(
    page: Page, front: Storefront
) -> None:
    merchant = front.merchant
    add_placement(merchant.account, "set", PlacementContent(Strategy.BUNDLE))
    bundle = {"item_ids": ["p0", "p1", "p3"], "discount_percent": 10}
    made = merchant.client.ask(
        "POST", "/integration/bundles", json.dumps(bundle).encode(), merchant.server
    )
    eventually(
        lambda: merchant.recommend(placement="set", item_id="p0").ids == ["p1", "p3"]
    )
    of_set = "placement=set data-layout=fbt data-item-id=p0"

    page.goto(front.page("/", f"<product-recs {of_set}></product-recs>"))

    total = page.locator("product-recs >> [part=total]")
    expect(total).to_have_text(f"€{made.json['price']:.2f}")
    page.locator("product-recs >> input").nth(1).uncheck()
    parts = page.locator("product-recs >> [part=card]")
    expect(parts).to_have_count(3)
    expect(total).not_to_have_text(f"€{made.json['price']:.2f}")
    # Of a bundle whose part another list shows, nothing is shown.
    again = f"<product-recs {of_set}></product-recs>"
    page.goto(front.page("/", f"{again}{again.replace('=set', '=set data-title=B')}"))
    expect(page.locator("product-recs[data-settled]")).to_have_count(2)
    expect(parts).to_have_count(3)
    expect(page.locator("product-recs:visible")).to_have_count(1)


def test_a_card_of_the_shops_own_takes_text_and_nothing_else(
    page: Page, front: Storefront
) -> None:
    card = (
        "<template><div part=own><a part=link><img part=image alt='' width=40 height=40>"
        "<b part=title>{{title}}</b></a> {{ price }} {{nothing}}"
        "<style>b { color: rgb(1, 2, 3) } i::after { content: '{{title}}' }</style>"
        "<i onclick='{{title}}'></i></div></template>"
    )
    element = f"<product-recs data-item-id=p0 data-num=6>{card}</product-recs>"
    name = "<img src=x onerror='document.title=1'>{{price}}"
    product = {"id": "h", "title": name, "price": 5, "product_url": "javascript:alert(1)"}
    page.route(
        "**/v1/recommendations*",
        lambda route: route.fulfill(
            json={"recommendations": [product, *front_products(front)]},
            headers={"access-control-allow-origin": "*"},
        ),
    )
    page.goto(front.page("/", element))
    cards = page.locator("product-recs >> [part=own]")
    expect(cards).to_have_count(3)
    eventually(lambda: front.events("rec-impression"), 20)

    expect(cards.nth(0).locator("b")).to_have_text(name)
    expect(cards.nth(0)).to_contain_text("€5.00")
    assert cards.nth(0).locator("a").get_attribute("href") is None
    assert cards.nth(0).locator("i").get_attribute("onclick") == "{{title}}"
    expect(cards.nth(1).locator("b")).to_have_css("color", "rgb(1, 2, 3)")
    assert page.title() == "Shop"
    cards.nth(1).locator("a").click()
    page.wait_for_url("**/p/1")
    eventually(lambda: front.events("rec-click"), 20)
    (click,) = front.events("rec-click")
    assert (click["item_id"], click["position"]) == ("p1", 2)


def front_products(front: Storefront) -> list[dict[str, Any]]:
    """Return two products as the service answers them."""
    origin = front.pages.origin("shop.example")
    return [
        {
            "id": f"p{n}",
            "title": f"Product {n}",
            "price": n,
            "image_url": f"{origin}/picture.svg",
            "product_url": f"{origin}/p/{n}",
            "source": "buy",
        }
        for n in (1, 2)
    ]


def test_page_of_a_sold_out_product_has_a_title_that_says_so(
    page: Page, front: Storefront
) -> None:
    element = "<product-recs data-item-id=p0 data-title='You may like'></product-recs>"
    merchant = front.merchant
    try:
        merchant.push({"id": "p0", "stock_qty": 0})
        eventually(lambda: merchant.recommend(item_id="p0").json.get("sold_out"))

        page.goto(front.page("/", element, html="lang=de"))

        heading = page.locator("product-recs >> h2")
        expect(heading).to_have_text("Verfügbare Alternativen")
    finally:
        merchant.push({"id": "p0", "stock_qty": None})
    eventually(lambda: "sold_out" not in merchant.recommend(item_id="p0").json)
    page.goto(front.page("/", element, html="lang=de"))
    expect(page.locator("product-recs >> h2")).to_have_text("You may like")


def test_without_a_cart_a_button_leads_to_the_product(
    page: Page, front: Storefront
) -> None:
    element = "<product-recs data-type=cart data-item-ids=p0 data-num=1></product-recs>"
    page.goto(front.page("/", element))

    page.locator(BUTTON).click()

    page.wait_for_url("**/p/*")
    eventually(lambda: front.events("rec-click"))
    (click,) = front.events("rec-click")
    assert (click["widget"], click["position"]) == ("cart", 1)
    assert page.url.endswith(f"/p/{click['item_id'][1:]}")


def test_nothing_to_show_leaves_nothing_behind(page: Page, front: Storefront) -> None:
    listener = (
        "<script>addEventListener('product-recs:empty', () => window.empty = 1)</script>"
    )
    element = "<product-recs data-source=buy data-item-id=p9>Text</product-recs>"
    page.goto(front.page("/", element, head=listener))
    page.wait_for_function("window.empty")

    expect(page.locator("product-recs")).to_be_hidden()
    expect(page.locator("product-recs >> h2")).to_have_count(0)


def test_a_list_far_below_the_screen_is_not_loaded(page: Page, front: Storefront) -> None:
    far = (
        "<div style='height:5000px'></div><product-recs data-type=trending></product-recs>"
    )
    page.goto(front.page("/", far))
    page.wait_for_function("!!customElements.get('product-recs')")
    page.wait_for_timeout(300)
    before = [one.path for one in front.relay.seen if one.path.startswith("/v1/")]

    page.evaluate("scrollTo(0, 4000)")

    expect(page.locator(LINK).first).to_be_attached()
    assert before == []


@pytest.mark.parametrize("drawn", ["{}", "<template shadowrootmode=open>{}</template>"])
def test_cards_of_the_shops_own_server_stay_and_are_reported(
    page: Page, front: Storefront, drawn: str
) -> None:
    cards = "".join(
        f"<li data-id=p{n} data-source=buy><a href=/p/{n}>Product {n}</a></li>"
        for n in (3, 5)
    )
    inner = drawn.format(f"<ul>{cards}</ul>")
    element = f"<product-recs data-ssr data-item-id=p0>{inner}</product-recs>"
    page.goto(front.page("/", element))
    eventually(lambda: front.events("rec-impression"), 20)

    page.get_by_text("Product 5").click()
    page.wait_for_url("**/p/5")

    eventually(lambda: front.events("rec-click"), 20)
    (seen,), (click,) = front.events("rec-impression"), front.events("rec-click")
    assert (seen["item_ids"], seen["sources"]) == (["p3", "p5"], ["buy", "buy"])
    assert (click["item_id"], click["source"], click["position"]) == ("p5", "buy", 2)
    assert front.requests_to("/v1/recommendations") == []


def test_ten_elements_ask_as_one(page: Page, front: Storefront) -> None:
    free = "<product-recs data-eager data-allow-duplicates"
    same = f"{free} data-item-id=p0></product-recs>" * 9
    other = f"{free} data-item-id=p1></product-recs>"
    page.goto(front.page("/", same + other))
    expect(page.locator(LINK)).to_have_count(80)

    assert len(front.requests_to("/v1/widget-config")) == 1
    assert sorted(one["item_id"] for one in front.requests_to("/v1/recommendations")) == [
        "p0",
        "p1",
    ]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_twice_the_script_is_once_and_says_so(page: Page, front: Storefront) -> None:
    watch = watched(page)
    element = "<product-recs data-item-id=p0></product-recs>"
    page.goto(front.page("/", element, head=f"{front.script()}</script>"))
    expect(page.locator(LINK)).to_have_count(8)

    assert len([one for one in watch.complaints if "twice" in one]) == 1
    assert len(front.requests_to("/v1/recommendations")) == 1


def test_the_script_of_an_unknown_store_is_said_to_be_that(
    page: Page, front: Storefront
) -> None:
    watch = watched(page)
    tag = f"<script src='{front.relay.address}/widget/v1/nobody.example.js'></script>"
    front.pages.pages["/"] = f"<link rel=icon href=data:,>{tag}<p>Text</p>"

    page.goto(front.pages.origin())

    page.wait_for_function("document.readyState == 'complete'")
    (hint,) = watch.complaints
    assert "no store" in hint
    expect(page.locator("p")).to_have_text("Text")
