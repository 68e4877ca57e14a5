"""The demo's shop in a browser: whole on every screen, and what is clicked is counted."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect

from productrecs.entrypoints.cli import demo
from productrecs.entrypoints.services import build_services
from productrecs.records.events.event import EventKind
from productrecs.settings import Settings
from productrecs.storage.tables import events, items, outcomes
from tests.support.browser import WAIT_MS, Watch, watched
from tests.support.project import ROOT
from tests.support.service import HOST, Service, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

TENT = "ridge-tent-for-two"
PAGES = {
    "home": "/demo",
    "department": "/demo/category/clothing",
    "shelf": "/demo/category/table/plates?colour=ink",
    "product": f"/demo/product/{TENT}",
    "variant": "/demo/product/lambswool-scarf-moss",
    "search": "/demo/search?q=lantern",
    "nothing found": "/demo/search?q=zzzzqqq",
    "look": "/demo/look/tea",
    "cart": "/demo/cart",
    "checkout": "/demo/checkout",
    "not there": "/demo/nowhere",
}
LINKS = "a[part=link]"
MOST_MOVED = 0.02  # of the screen, as browsers count it; 0.1 is called good
NARROW, WIDE = 375, ("home", "department", "product", "cart")
TOO_WIDE = "(all => all.scrollWidth - all.clientWidth)(document.documentElement)"
SCROLL = """async () => {
  for (let at = 0; at < document.documentElement.scrollHeight; at += 600) {
    scrollTo({top: at, behavior: "instant"});
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)));
  }
}"""
SETTLED = """() => [...document.querySelectorAll("product-recs, product-look")].every(
  one => one.hidden || one.shadowRoot?.querySelector("a[part=link], a.link, li a, img"))"""
SHIFTS = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value;
  }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(sum), 50);
})"""
BARRIERS = """async () => (await axe.run(document)).violations.map(
  one => `${one.id}: ${one.nodes.map(node => node.target).join(" | ")}`)"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Give the running demo; its pictures are drawn when they are looked at."""
    shop = Service(tmp_path_factory.mktemp("demo"), command="demo").prepare()
    services = build_services(Settings(data=shop.folder))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(demo, "drawing_ahead", lambda _folder: contextlib.nullcontext())
        demo.prepared(services)
    services.close()
    with shop:
        yield shop


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the script that looks for barriers; skip without it."""
    script = ROOT / "widgets/node_modules/axe-core/axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core is not installed: tools/setup test")
    return script.read_text("utf-8")


def address(shop: Service, path: str) -> str:
    return f"http://{HOST}:{shop.port}{path}"


def opened(page: Page, shop: Service, path: str) -> Watch:
    """Open a page of the shop and scroll through it, so that every widget is asked for."""
    watch = watched(page)
    page.goto(address(shop, path), wait_until="load")
    page.evaluate(SCROLL)
    page.wait_for_function(SETTLED)
    return watch


@pytest.mark.trust
@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (1280, "dark")])
def test_every_page_fits_stands_still_and_has_no_barriers(
    browser: Browser, shop: Service, axe: str, width: int, scheme: str
) -> None:
    wrong = []
    with browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        bypass_csp=True,  # for the script that looks for barriers
    ) as context:
        context.request.post(address(shop, "/demo/cart"), form={"item_id": TENT})
        for name, path in PAGES.items():
            if width > NARROW and name not in WIDE:
                continue
            page = context.new_page()
            watch = opened(page, shop, path)
            page.evaluate(axe)
            found = {
                "too wide": page.evaluate(TOO_WIDE),
                "moved": page.evaluate(SHIFTS) > MOST_MOVED,
                "barriers": page.evaluate(BARRIERS),
                "elsewhere": watch.hosts() - {f"{HOST}:{shop.port}"},
            }
            wrong += [f"{name}: {what} {one}" for what, one in found.items() if one]
            page.close()

    assert wrong == []


def test_no_page_complains_under_its_strict_policy(page: Page, shop: Service) -> None:
    page.context.request.post(address(shop, "/demo/cart"), form={"item_id": TENT})

    complaints = {
        name: opened(page, shop, path).complaints
        for name, path in PAGES.items()
        if name != "not there"
    }

    assert [one for one in complaints.items() if one[1]] == []


def test_a_shop_whose_service_script_does_not_come_is_whole(
    page: Page, shop: Service
) -> None:
    page.route("**/widget/**", lambda route: route.abort())

    page.goto(address(shop, f"/demo/product/{TENT}"))
    gaps = page.locator(".band:has(product-recs)")

    expect(gaps.first).to_be_hidden(timeout=WAIT_MS)
    page.locator("form[data-add] button").click()
    expect(page.locator("#count")).to_have_text("1")


def test_a_click_changes_what_is_shown_at_once(page: Page, shop: Service) -> None:
    def for_you(product: str) -> list[str | None]:
        page.goto(address(shop, f"/demo/product/{product}"))
        seen = shop_events(shop, EventKind.DETAIL_PAGE_VIEW, product)
        eventually(lambda: len(seen()) == 1)
        page.goto(address(shop, "/demo"))
        place = page.locator("product-recs[data-type=home]")
        place.scroll_into_view_if_needed()
        expect(place.locator(LINKS).first).to_be_visible(timeout=WAIT_MS)
        return [one.get_attribute("href") for one in place.locator(LINKS).all()]

    pen, bread = for_you("fountain-pen-fine"), for_you("banneton-round-1-kg")

    assert pen != bread
    assert any("ink" in str(one) or "notebook" in str(one) for one in pen)


def test_a_journey_is_credited_to_the_widget_source_and_position_that_led_to_it(
    page: Page, shop: Service
) -> None:
    opened(page, shop, f"/demo/product/{TENT}")
    card = page.locator("product-recs[data-source=mix]").locator(LINKS).nth(1)
    chosen = str(card.get_attribute("href")).rpartition("/")[2]
    card.click()
    page.wait_for_url(f"**/demo/product/{chosen}")
    page.locator("form[data-add] button").click()
    expect(page.locator("#count")).to_have_text("1", timeout=WAIT_MS)
    page.goto(address(shop, "/demo/cart"))
    page.locator(".till .button").click()
    page.locator(".till form .button").click()
    page.wait_for_url("**/demo/thanks")

    clicks = shop_events(shop, EventKind.REC_CLICK, chosen)
    eventually(lambda: len(clicks()) == 1)
    (click,) = clicks()
    assert (click["widget"], click["position"]) == ("recs", 2)
    assert click["source"] in {"buy", "browse", "complementary", "category", "trending"}
    led_to = credited(shop, chosen)
    eventually(lambda: len(led_to()) == 2)  # the cart and the order
    assert {(one["widget"], one["source"], one["position"]) for one in led_to()} == {
        ("recs", click["source"], 2)
    }
    assert all(one["touch"] == click["seq"] and one["clicked"] for one in led_to())


def test_a_regular_is_known_in_widgets_and_orders(page: Page, shop: Service) -> None:
    page.goto(address(shop, "/demo"))
    page.locator(".who summary").click()
    page.get_by_role("button", name="Ben").click()

    expect(page.locator("h1")).to_contain_text("Ben")
    customer = page.locator("body").get_attribute("data-customer")
    with page.expect_request("**/v1/recommendations*") as asked:
        page.locator("product-recs[data-type=home]").scroll_into_view_if_needed()
        page.reload()
    assert f"customer_id={customer}" in asked.value.url


def shop_events(shop: Service, kind: EventKind, item_id: str) -> Any:
    return lambda: _rows(
        shop,
        sa.select(events)
        .join(items, sa.and_(items.c.number == events.c.item))
        .where(
            events.c.kind == int(kind),
            items.c.item_id == item_id,
            events.c.imported.is_(False),
        ),
    )


def credited(shop: Service, item_id: str) -> Any:
    return lambda: _rows(
        shop,
        sa.select(outcomes)
        .join(items, items.c.number == outcomes.c.item)
        .where(items.c.item_id == item_id, outcomes.c.touch.is_not(None)),
    )


def _rows(shop: Service, query: sa.Select[Any]) -> list[dict[str, Any]]:
    with shop.database() as database, database.reading() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def test_control_a_page_that_moves_is_too_wide_and_has_barriers_is_noticed(
    page: Page, axe: str
) -> None:
    page.set_content("<title>x</title><img src=data:,><p style='width:3000px'>wide")
    page.evaluate(axe)

    assert page.evaluate(TOO_WIDE) > 0
    assert any("image-alt" in one for one in page.evaluate(BARRIERS))
    assert json.dumps(page.evaluate(SHIFTS))
