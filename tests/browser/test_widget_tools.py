"""Widget tools for shop owners: debug panel, preview of looks, pinned scripts."""

import json

from playwright.sync_api import Page, expect

from productrecs.http.routes.public.widget_scripts import current_builds
from tests.support.browser import watched
from tests.support.service import eventually
from tests.support.storefront import Storefront

LINK = "product-recs >> a[part=link][href]"
TITLE = "product-recs >> [part=title]"
PANEL = "[data-productrecs-tools] >> section"
ELEMENT = "<product-recs data-eager data-item-id=p0 data-num=4></product-recs>"
NOTHING = "<product-recs data-eager data-source=buy data-item-id=p9></product-recs>"


def test_the_debug_panel_shows_the_calls_and_events_of_the_widgets(
    page: Page, front: Storefront, axe: str
) -> None:
    address = front.page("/", f"<h1>Tent</h1>{ELEMENT}{NOTHING}")
    page.goto(address)
    expect(page.locator(LINK)).to_have_count(4)
    assert not [one for one in front.relay.seen if one.path.endswith("tools.js")]

    page.goto(f"{address}?pr_debug=1")
    panel = page.locator(PANEL)

    expect(panel).to_contain_text(f"key {front.key}")
    expect(panel).to_contain_text("9 products")
    expect(panel).to_contain_text("nothing: no orders hold these products with others yet")
    expect(panel).to_contain_text("detail-page-view p0")
    expect(panel).to_contain_text("accepted")
    session = page.evaluate("localStorage.pr_sid")
    expect(panel).to_contain_text(f"session {session}")
    expect(panel).not_to_contain_text("sk_")
    call = panel.locator("li", has_text="/v1/recommendations").first
    assert call.inner_text().split()[2] == "ms"
    page.evaluate(axe)
    found = page.evaluate("axe.run('[data-productrecs-tools]')")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    page.get_by_role("button", name="Fold").click()
    expect(panel.locator("li").first).to_be_hidden()


def test_a_refusal_is_shown_with_its_reason(page: Page, front: Storefront) -> None:
    element = "<product-recs data-eager data-key=pk_wrong data-item-id=p0></product-recs>"

    page.goto(front.page("/", element) + "?pr_debug=1")

    expect(page.locator(PANEL)).to_contain_text("401")
    expect(page.locator(PANEL)).to_contain_text("error: Error: status 401")


def test_a_refused_identity_is_shown_with_its_reason(page: Page, front: Storefront) -> None:
    customer = f"data-customer-id=7 data-identity=1.{64 * '0'}"
    element = f"<product-recs data-eager data-item-id=p0 {customer}></product-recs>"

    page.goto(front.page("/", element) + "?pr_debug=1")

    refused = page.locator(PANEL).locator("li", has_text="counts as none")
    expect(refused.filter(has_text="/v1/recommendations")).to_contain_text("its signature")
    expect(refused.filter(has_text="detail-page-view")).to_contain_text("accepted")


def test_a_preview_shows_a_look_and_products_of_its_own_and_sends_nothing(
    page: Page, front: Storefront
) -> None:
    page.goto(front.page("/", ELEMENT) + "?pr_preview=1")
    expect(page.locator(TITLE).first).to_have_text("Example product 1")

    draft = {"settings": {"title": "Only here", "layout": "grid"}}
    page.get_by_label("recs", exact=True).fill(json.dumps(draft))
    page.get_by_label("real products").check()
    page.get_by_role("button", name="Apply in this tab").click()

    expect(page.locator("product-recs >> h2")).to_have_text("Only here")
    expect(page.locator("product-recs >> section.grid")).to_be_visible()
    expect(page.locator(TITLE).first).not_to_contain_text("Example")
    expect(page.locator(PANEL)).to_contain_text("held back by the preview")
    assert front.events() == []
    page.goto(front.page("/", ELEMENT))  # what everybody sees
    expect(page.locator("product-recs >> h2")).to_have_text("You may also like")


def test_a_draft_that_is_no_json_is_said_to_be_that(page: Page, front: Storefront) -> None:
    page.goto(front.page("/", ELEMENT) + "?pr_preview=1")

    page.get_by_label("recs", exact=True).fill("{no")
    page.get_by_role("button", name="Apply in this tab").click()

    expect(page.locator(f"{PANEL} >> p.wrong")).to_contain_text("SyntaxError")


def test_a_pinned_script_runs_while_it_is_what_its_tag_says(
    page: Page, front: Storefront
) -> None:
    watch = watched(page)
    tag = current_builds()["all"].script_tag(front.relay.address, front.key)
    box = "<input type=search aria-label=Search>"
    front.pages.pages["/"] = f"<link rel=icon href=data:,>{tag}{box}{ELEMENT}"
    address = front.pages.origin() + "/?pr_debug=1"
    page.goto(address)

    expect(page.locator(LINK)).to_have_count(4)
    expect(page.locator("[role=combobox]")).to_be_visible()
    eventually(lambda: front.events("detail-page-view"), 20)
    expect(page.locator(PANEL)).to_have_count(0)  # a pinned page loads nothing else
    assert watch.complaints == []

    name = current_builds()["all"].name
    page.route(
        f"**/{name}.js",
        lambda route: route.fulfill(
            body="document.title = 'taken over'",
            headers={"content-type": "text/javascript", "access-control-allow-origin": "*"},
        ),
    )
    with page.expect_console_message(lambda message: "integrity" in message.text):
        page.goto(address)
    assert page.title() == ""
