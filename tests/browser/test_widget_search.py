"""Search widget: the theme's search box with suggestions, keyboard and photo."""

import base64
import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, FilePayload, Page, Route, expect

from tests.support.browser import WAIT_MS, watched
from tests.support.service import eventually
from tests.support.storefront import Storefront

FORM = (
    "<style>.title, .price, [role=option] {font-size: 60px !important}</style>"
    "<header><form action=/found><input name=q type=search aria-label=Search>"
    "<button>Go</button></form></header><main><h1>Shop</h1></main>"
)
BOX, OPTION = "input[name=q]", "[role=option]"
LIST = "[role=listbox]"
FIND = ".pr-crop-find"
EXPANDED = ("aria-expanded", "true")
CLOSED = ("aria-expanded", "false")


@pytest.fixture
def page(browser: Browser, front: Storefront) -> Iterator[Page]:
    """Give the shop's page with its search box, and the script at work."""
    front.page("/found", "Found", kind="search-")
    address = front.page("/", FORM, kind="search-")
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        say_answers(context, "")  # without photos, Tab goes on
        page = context.new_page()
        watched(page)
        page.goto(address)
        page.wait_for_function("!!window.ProductRecs?.core")
        yield page


def typed(page: Page, words: str) -> None:
    """Type words and wait for their suggestions."""
    page.locator(BOX).fill(words)
    for _ in range(5):  # on a starved machine an answer may come later than a page waits
        with contextlib.suppress(AssertionError):
            expect(page.locator(OPTION).first).to_be_visible(timeout=4_000)
            break
        page.locator(BOX).click()
    expect(page.locator(BOX)).to_have_attribute(*EXPANDED)


def meant(page: Page) -> str | None:
    """Return the text of the option that the box says is meant; None for the box itself."""
    found: str | None = page.evaluate(
        f"""() => {{
          const box = document.querySelector({BOX!r});
          const id = box.getAttribute("aria-activedescendant");
          if (!id) return null;
          const one = box.getRootNode().getElementById(id);
          if (one.getAttribute("aria-selected") !== "true") return "not selected";
          return one.textContent;
        }}"""
    )
    return found


def test_words_are_completed_found_and_marked(page: Page, front: Storefront) -> None:
    typed(page, "slee")

    expect(page.locator(f"{OPTION} mark")).to_have_text(["sleeping"])
    assert page.locator(OPTION).all_inner_texts()[0] == "sleeping"
    expect(page.locator(OPTION).nth(1)).to_contain_text("€39.50")
    expect(page.locator(OPTION).last).to_have_text("See all results")
    expect(page.locator("[role=status]")).to_have_text("1 result for “slee”")
    assert [one["q"] for one in front.requests_to("/v1/search")] == ["slee"]


KEYS: dict[str, tuple[list[str], str | None, tuple[str, str]]] = {
    "down means the first": (["ArrowDown"], "sleeping", EXPANDED),
    "down twice means the second": (["ArrowDown"] * 2, "Down sleeping bag€39.50", EXPANDED),
    "up means the last": (["ArrowUp"], "See all results", EXPANDED),
    "beyond the last is the box": (["ArrowDown"] * 4, None, EXPANDED),
    "escape closes": (["ArrowDown", "Escape"], None, CLOSED),
    "alt and up closes": (["Alt+ArrowUp"], None, CLOSED),
    "tab closes and goes on": (["ArrowDown", "Tab"], None, CLOSED),
    "letters are typed": (["ArrowDown", "Home"], "sleeping", EXPANDED),
}


@pytest.mark.parametrize("name", KEYS)
def test_the_keyboard_does_what_a_combobox_does(page: Page, name: str) -> None:
    keys, text, (attribute, value) = KEYS[name]
    typed(page, "slee")

    for key in keys:
        page.keyboard.press(key)

    assert meant(page) == text
    expect(page.locator(BOX)).to_have_attribute(attribute, value)
    focus = page.evaluate("document.activeElement.tagName")
    assert focus == ("BUTTON" if "Tab" in keys else "INPUT")


def test_enter_with_nothing_meant_is_the_themes_own_search(
    page: Page, front: Storefront
) -> None:
    typed(page, "tent")

    page.keyboard.press("Enter")

    page.wait_for_url("**/found?q=tent")
    eventually(lambda: front.events("search-pref"))
    (event,) = front.events("search-pref")
    assert (event["search_query"], event["widget"]) == ("tent", "search")


def test_enter_on_a_product_goes_there_and_sends_the_click(
    page: Page, front: Storefront
) -> None:
    typed(page, "slee")

    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)

    page.wait_for_url("**/p/3")
    eventually(lambda: front.events("search-click"))
    (event,) = front.events("search-click")
    assert (event["item_id"], event["search_query"], event["position"]) == ("p3", "slee", 1)
    assert re.fullmatch(r"s_[A-Za-z0-9]{20,}", event["session_id"])


def test_enter_on_a_suggestion_searches_for_it(page: Page) -> None:
    typed(page, "slee")

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_url("**/found?q=sleeping")


def test_nothing_found_says_so_and_shows_what_is_popular(page: Page) -> None:
    typed(page, "xyzzy")

    expect(page.locator(".pr-search-note")).to_have_text("Nothing found for “xyzzy”")
    expect(page.locator(".pr-search-head")).to_have_text("Popular now")
    expect(page.locator("[role=status]")).to_have_text("Nothing found for “xyzzy”")
    assert page.locator(OPTION).count() >= 3


def test_enter_on_a_code_opens_the_page_of_its_product(page: Page) -> None:
    typed(page, "P-3")

    expect(page.locator(".pr-search-title")).to_have_count(1)
    page.keyboard.press("Enter")

    page.wait_for_url("**/p/3")


def test_a_product_says_how_many_variants_it_has(page: Page, front: Storefront) -> None:
    typed(page, "slee")
    card = {"id": "p1", "title": "Shirt", "price": 20}
    body = {"results": [card | {"variants": 12}, card | {"id": "p2", "variants": "<b>"}]}
    headers = {"access-control-allow-origin": "*"}
    page.route("**/v1/search?*", lambda route: route.fulfill(json=body, headers=headers))

    typed(page, "shirt")

    shown = page.locator(OPTION)
    expect(shown.nth(0)).to_contain_text("12 variants")
    assert "variants" not in shown.nth(1).inner_text()
    assert front.requests_to("/v1/search")[0]["collapse"] == "true"


def test_a_corrected_query_is_a_button_that_searches_for_it(page: Page) -> None:
    typed(page, "sleepnig bag")
    meant_button = page.get_by_role("button", name="Did you mean “sleeping bag”?")
    expect(meant_button).to_be_visible()

    page.keyboard.press("Tab")
    expect(meant_button).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator(BOX)).to_have_value("sleeping bag")
    expect(page.locator(BOX)).to_be_focused()
    expect(meant_button).to_have_count(0)
    expect(page.locator("[role=status]")).to_have_text("1 result for “sleeping bag”")


def test_an_answer_to_a_question_filters_and_can_be_removed(page: Page) -> None:
    card = {"id": "p1", "title": "Shirt", "price": 20}
    options = [{"value": one, "filter": f"size:{one}"} for one in ("S", "XL & more")]
    refine = {"attribute": "size", "question": "?", "options": [*options, {"value": 7}]}
    headers = {"access-control-allow-origin": "*"}
    filters: list[list[str]] = []  # and which question they answer

    def answer(route: Route) -> None:
        sent = parse_qs(urlsplit(route.request.url).query)
        filters.append([*sent.get("filter", []), *sent.get("answered", [])])
        body = {"results": [card]} | ({} if filters[-1] else {"refine": refine})
        route.fulfill(json=body, headers=headers)

    page.route("**/v1/search?*", answer)
    typed(page, "shirt")
    expect(page.locator(".pr-search-filters")).to_have_text("Which size?SXL & more")

    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="S", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    remove = page.get_by_role("button", name="Remove filter: XL & more")
    expect(remove).to_be_visible()
    expect(page.locator(BOX)).to_be_focused()
    expect(page.locator(BOX)).to_have_value("shirt")
    remove.click()
    expect(page.locator(".pr-search-filters")).to_have_text("Which size?SXL & more")
    page.get_by_role("button", name="S", exact=True).click()
    expect(page.get_by_role("button", name="Remove filter: S")).to_be_visible()
    typed(page, "shirts")  # other words have no answers yet
    expect(page.locator(".pr-search-filters")).to_have_text("Which size?SXL & more")
    assert filters == [[], ["size:XL & more", "size"], [], ["size:S", "size"], []]


def test_a_filter_of_the_words_is_a_button_that_takes_them_away(
    page: Page, front: Storefront
) -> None:
    typed(page, "sleeping bag under 40")

    filter_button = page.get_by_role("button", name="Remove filter: under 40")
    expect(filter_button).to_have_text("under 40")
    page.keyboard.press("Tab")
    expect(filter_button).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(BOX)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator(BOX)).to_have_value("sleeping bag")
    expect(page.locator(BOX)).to_be_focused()
    expect(filter_button).to_have_count(0)
    expect(page.locator(BOX)).to_have_attribute(*EXPANDED)
    assert front.requests_to("/v1/search")[-1]["q"] == "sleeping bag"


def test_escape_on_a_filter_closes_the_list(page: Page) -> None:
    typed(page, "sleeping bag under 40")

    page.keyboard.press("Tab")
    page.keyboard.press("Escape")

    expect(page.locator(BOX)).to_be_focused()
    expect(page.locator(BOX)).to_have_attribute(*CLOSED)


def test_an_older_answer_never_covers_a_newer_one(page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "q=te&" in route.request.url:
            held.append(route)
        else:
            route.fallback()

    page.route("**/v1/search?*", hold)
    page.locator(BOX).press_sequentially("te", delay=10)
    page.wait_for_timeout(250)
    assert len(held) == 1
    typed(page, "stove")
    stove = page.locator(OPTION, has_text="Gas stove")
    expect(stove).to_be_visible()

    for route in held:
        route.fallback()  # the browser has given up on it, or the answer comes too late
    page.wait_for_timeout(150)

    expect(stove).to_be_visible()


def test_fast_typing_is_one_question(page: Page, front: Storefront) -> None:
    page.locator(BOX).focus()
    # By the page itself: between keys from outside a slow machine may think long.
    page.evaluate(
        """box => {
          const input = document.querySelector(box);
          for (let end = 1; end <= "sleeping".length; end++) {
            input.value = "sleeping".slice(0, end);
            input.dispatchEvent(new InputEvent("input", { bubbles: true }));
          }
        }""",
        BOX,
    )
    expect(page.locator(OPTION).first).to_be_visible()

    assert [one["q"] for one in front.requests_to("/v1/search")] == ["sleeping"]


def test_letters_that_are_still_composed_ask_nothing(page: Page, front: Storefront) -> None:
    page.evaluate(
        f"""() => {{
          const box = document.querySelector({BOX!r});
          box.focus();
          box.value = "テ";
          box.dispatchEvent(new InputEvent("input", {{isComposing: true, bubbles: true}}));
        }}"""
    )
    page.wait_for_timeout(300)
    before = front.requests_to("/v1/search")
    page.locator(BOX).dispatch_event("compositionend")
    eventually(lambda: front.requests_to("/v1/search"))

    assert before == []


@pytest.mark.parametrize(("width", "most"), [(1280, 8), (375, 6)])
def test_a_list_is_as_long_as_a_screen_takes(
    page: Page, front: Storefront, width: int, most: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.locator(BOX).click()
    expect(page.locator(OPTION).first).to_be_visible()

    assert [one["num"] for one in front.requests_to("/v1/search")] == [str(most)]
    assert page.locator(OPTION).count() <= most
    hidden = "one => one.scrollHeight - one.clientHeight"
    assert width == 375 or page.locator(".pr-search").evaluate(hidden) <= 0


def test_results_that_mean_harm_are_text(page: Page) -> None:
    harm = "<img src=x onerror='window.hacked=1'>"
    result = {"id": "h", "title": harm, "product_url": "javascript:window.hacked=1"}
    marked = {**result, "id": "i", "highlight": {"title": f"<mark>{harm}</mark>{harm}"}}
    body = {"results": [result, marked], "suggestions": [harm, 7]}
    headers = {"access-control-allow-origin": "*"}
    page.route("**/v1/search?*", lambda route: route.fulfill(json=body, headers=headers))
    typed(page, "slee")

    texts = page.locator(OPTION).all_text_contents()
    assert texts[:3] == [harm, harm, harm * 2]
    assert page.locator(".pr-search img").count() == 0
    page.locator(OPTION).nth(1).click()
    assert page.evaluate("window.hacked") is None


def test_a_corrected_query_is_offered_once(page: Page) -> None:
    body = {"results": [], "suggestions": ["tent", "tents"], "did_you_mean": "tent"}
    headers = {"access-control-allow-origin": "*"}
    page.route("**/v1/search?*", lambda route: route.fulfill(json=body, headers=headers))
    typed(page, "tnet")

    assert page.locator(OPTION).all_text_contents() == ["tents"]
    expect(page.get_by_text("Did you mean “tent”?")).to_have_count(1)


def test_without_answers_the_box_is_as_it_was(page: Page) -> None:
    watch = watched(page)
    page.route("**/v1/search?*", lambda route: route.fulfill(status=500, body="<html>"))

    page.locator(BOX).fill("tent")
    page.wait_for_timeout(300)

    expect(page.locator(BOX)).to_have_attribute(*CLOSED)
    page.keyboard.press("Enter")
    page.wait_for_url("**/found?q=tent")
    assert [one for one in watch.complaints if "uncaught" in one] == []


# ------------------------------------------------------------------------------- photos


def say_answers(context: BrowserContext, answers: str) -> None:
    """Tell scripts which further calls the service answers, whatever it does."""

    def script(route: Route) -> None:
        reply = route.fetch()
        text = re.sub(r'"answers":\[[^]]*\]', f'"answers":[{answers}]', reply.text())
        route.fulfill(response=reply, body=text)

    context.route("**/widget/v1/**", script)


def answer_photos(context: BrowserContext, taken: list[dict[str, Any]]) -> None:
    """Answer photos in the service's place."""

    def photo(route: Route) -> None:
        taken.append(json.loads(route.request.post_data or ""))
        found = {"id": "p5", "title": "Trekking poles", "price": 5, "product_url": "/p/5"}
        headers = {"access-control-allow-origin": "*"}
        route.fulfill(json={"results": [{**found, "score": 1}]}, headers=headers)

    say_answers(context, '"image"')
    context.route("**/v1/search/image?*", photo)


def photo_of(page: Page, width: int, height: int) -> bytes:
    """Return a noisy photo of this size, as PNG."""
    data: str = page.evaluate(
        """([width, height]) => {
          const canvas = Object.assign(document.createElement("canvas"), {width, height});
          const context = canvas.getContext("2d");
          const data = context.createImageData(width, height);
          for (let at = 0, seed = 7; at < data.data.length; at++) {
            seed = (seed * 16807) % 2147483647;
            data.data[at] = seed & 255;
          }
          context.putImageData(data, 0, 0);
          return canvas.toDataURL("image/png");
        }""",
        [width, height],
    )
    return base64.b64decode(data.partition(",")[2])


def test_a_photo_is_shrunk_before_it_is_sent_and_its_clicks_are_sent(
    browser: Browser, front: Storefront
) -> None:
    taken: list[dict[str, Any]] = []
    with browser.new_context() as context:
        answer_photos(context, taken)
        page = context.new_page()
        page.goto(front.page("/", FORM, kind="search-"))
        page.wait_for_function("!!window.ProductRecs?.core")
        typed(page, "tent")
        page.keyboard.press("Tab")
        expect(page.locator(".pr-search-photo")).to_be_focused()
        photo: FilePayload = {
            "name": "photo.png",
            "mimeType": "image/png",
            "buffer": photo_of(page, 1600, 800),
        }

        page.locator("input[type=file]").set_input_files([photo])
        page.locator(FIND).click()
        expect(page.locator(".pr-search-head")).to_have_text("Similar products")
        size = page.evaluate(
            """async (source) => {
              const image = new Image();
              image.src = source;
              await image.decode();
              return [image.naturalWidth, image.naturalHeight];
            }""",
            taken[0]["image"],
        )
        page.locator(OPTION).first.click()
        page.wait_for_url("**/p/5")

    assert size == [1024, 512]
    assert taken[0]["image"].startswith("data:image/jpeg;base64,")
    assert len(taken[0]["image"]) * 0.75 < 400_000
    eventually(lambda: front.events("image-search-click"))
    (event,) = front.events("image-search-click")
    assert (event["item_id"], event["position"]) == ("p5", 1)
    assert "search_query" not in event


def test_things_in_a_photo_are_buttons_that_show_their_products(
    browser: Browser, front: Storefront
) -> None:
    def product(item_id: str, title: str) -> dict[str, Any]:
        return {
            "id": item_id,
            "title": title,
            "price": 5,
            "product_url": f"/p/{item_id[1:]}",
        }

    def reply(route: Route) -> None:
        body = json.loads(route.request.post_data or "")
        assert body["regions"] is True
        found = {
            "results": [product("p5", "Trekking poles")],
            "regions": [
                {"label": "Tents", "products": [product("p1", "Tunnel tent")]},
                {"label": "Stoves", "products": [product("p2", "Gas stove")]},
                {"label": "Stoves", "products": [product("p3", "Wood stove")]},
                {"label": "", "products": [product("p4", "Nameless")]},
                {"label": "Nothing", "products": []},
                None,
            ],
        }
        headers = {"access-control-allow-origin": "*"}
        route.fulfill(json=found, headers=headers)

    with browser.new_context() as context:
        say_answers(context, '"image"')
        context.route("**/v1/search/image?*", reply)
        page = context.new_page()
        watch = watched(page)
        page.goto(front.page("/", FORM, kind="search-"))
        page.wait_for_function("!!window.ProductRecs?.core")
        typed(page, "tent")
        data = photo_of(page, 300, 200)
        photo: FilePayload = {"name": "me.png", "mimeType": "image/png", "buffer": data}
        page.locator("input[type=file]").set_input_files([photo])
        page.locator(FIND).click()
        things = page.locator(".pr-search-answer")
        expect(things).to_have_text(["Tents", "Stoves"])
        titles = page.locator(f"{OPTION} .pr-search-title")
        expect(titles).to_have_text(["Trekking poles"])

        things.nth(1).click()
        expect(titles).to_have_text(["Gas stove"])
        expect(things.nth(1)).to_have_attribute("aria-pressed", "true")
        things.nth(0).click()
        expect(titles).to_have_text(["Tunnel tent"])
        expect(things.nth(1)).to_have_attribute("aria-pressed", "false")
        things.nth(0).click()
        expect(titles).to_have_text(["Trekking poles"])
        things.nth(1).press("Enter")
        expect(titles).to_have_text(["Gas stove"])
        page.locator(OPTION).first.click()
        page.wait_for_url("**/p/2")
        assert watch.complaints == []
    eventually(  # the page sends it while it is left
        lambda: (
            [one["item_id"] for one in front.events("image-search-click")][-1:] == ["p2"]
        )
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.png", "image/png"),
        ("IMG_0001.HEIC", ""),
        ("b.heif", "image/heif"),
        ("products.csv", "text/csv"),
    ],
)
def test_what_is_no_picture_is_said_to_be_none(
    browser: Browser, front: Storefront, name: str, kind: str
) -> None:
    taken: list[dict[str, Any]] = []
    with browser.new_context() as context:
        answer_photos(context, taken)
        page = context.new_page()
        watch = watched(page)
        page.goto(front.page("/", FORM, kind="search-"))
        page.wait_for_function("!!window.ProductRecs?.core")
        page.locator(BOX).click()
        file: FilePayload = {"name": name, "mimeType": kind, "buffer": b"no picture"}
        page.locator("input[type=file]").set_input_files([file])

        expect(page.locator(".pr-search-photo")).to_contain_text("Try a JPEG or PNG")
        assert (taken, watch.complaints) == ([], [])


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "This took too long. Try again."),
        (429, "This took too long. Try again."),
        (None, "This took too long. Try again."),
        (422, "This picture could not be read. Try a JPEG or PNG."),
    ],
)
def test_a_photo_that_is_not_answered_is_not_said_to_be_broken(
    browser: Browser, front: Storefront, status: int | None, said: str
) -> None:
    with browser.new_context() as context:
        say_answers(context, '"image"')

        def refuse(route: Route) -> None:
            if status is None:
                route.abort("timedout")
            else:
                headers = {"access-control-allow-origin": "*"}
                route.fulfill(status=status, json={}, headers=headers)

        context.route("**/v1/search/image?*", refuse)
        page = context.new_page()
        page.goto(front.page("/", FORM, kind="search-"))
        page.wait_for_function("!!window.ProductRecs?.core")
        page.locator(BOX).click()
        data = photo_of(page, 300, 200)
        photo: FilePayload = {"name": "me.png", "mimeType": "image/png", "buffer": data}
        page.locator("input[type=file]").set_input_files([photo])
        page.locator(FIND).click()

        expect(page.locator(".pr-search-photo")).to_contain_text(said)


def test_a_photo_that_nothing_looks_like_is_answered_by_the_real_service(
    browser: Browser, front: Storefront
) -> None:
    with browser.new_context() as context:
        say_answers(context, '"image"')
        page = context.new_page()
        watch = watched(page)
        page.goto(front.page("/", FORM, kind="search-"))
        page.wait_for_function("!!window.ProductRecs?.core")
        typed(page, "tent")
        data = photo_of(page, 300, 200)
        photo: FilePayload = {"name": "me.png", "mimeType": "image/png", "buffer": data}
        page.locator("input[type=file]").set_input_files([photo])
        page.locator(FIND).click()

        note = page.locator(".pr-search-note")
        expect(note).to_have_text("Nothing found for “me.png”", timeout=WAIT_MS)
        expect(page.locator(".pr-search-head")).to_have_text("Popular now")
        assert watch.complaints == []
    assert "OPTIONS" not in front.relay.methods()


def test_the_box_and_its_list_have_no_barriers(page: Page, axe: str) -> None:
    typed(page, "slee")
    page.keyboard.press("ArrowDown")

    page.evaluate(axe)
    found = page.evaluate("axe.run()")

    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    expect(page.locator(LIST)).to_have_accessible_name(
        "Search suggestions", timeout=WAIT_MS
    )
