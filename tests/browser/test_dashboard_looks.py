"""The look editor: boxes corrected by mouse, touch and keyboard, and published."""

from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard_catalog import focus
from tests.support.browser import evaluates_to
from tests.support.dashboard_browser import LoggedInPage
from tests.support.pictures import drawn, encoded
from tests.support.service import eventually

SIDES = ("x", "y", "width", "height")


def box_of(page: Page, row: int) -> tuple[float, ...]:
    """Return a hotspot's box in per cent."""
    fields = page.locator("[data-spot]").nth(row)
    return tuple(float(fields.locator(f"[data-{side}]").input_value()) for side in SIDES)


def photo_of(colour: str) -> bytes:
    return encoded(drawn(colour, "disc", side=400))


def upload(owner_page: LoggedInPage, title: str) -> Page:
    """Upload a photo; only the choice of the file is made without keys."""
    page = owner_page.open("/dashboard/looks")
    keys = page.keyboard
    focus(page, "#f-title", 160)
    keys.type(title)
    focus(page, "#f-on")
    keys.type("ridge-tent-for-two")
    photo = photo_of("red")
    files = [{"name": "lake.jpg", "mimeType": "image/jpeg", "buffer": photo}]
    page.set_input_files("#f-file", files)  # type: ignore[arg-type]  # a dictionary will do
    focus(page, "form button.button")
    keys.press("Enter")
    expect(page.locator("h1")).to_have_text(title)
    expect(page.locator("[data-photo]")).to_be_visible()
    while page.locator("[data-spot]").count():  # what was proposed is the engine's matter
        page.locator("[data-spot] button", has_text="Remove").first.click()
    return page


def preview_and_replace(owner_page: LoggedInPage, axe: str) -> None:
    """See a look at both widths, give it another photo, and take that back."""
    page, keys = owner_page.page, owner_page.page.keyboard
    assert box_of(page, 0) == (39, 38, 21, 21)
    for width in (375, 1280):
        focus(page, f"[data-width='{width}']")
        keys.press("Enter")
        expect(page.locator(f"[data-width='{width}']")).to_have_attribute(
            "aria-pressed", "true"
        )
        inside = page.frame_locator("[name=look-preview]")
        expect(inside.locator("product-look")).to_contain_text("By the lake")
        body = inside.locator("body")
        eventually(partial(evaluates_to, body, "() => innerWidth", width))
        owner_page.check(axe)
    files = [{"name": "b.jpg", "mimeType": "image/jpeg", "buffer": photo_of("blue")}]
    page.set_input_files("#f-file", files)  # type: ignore[arg-type]  # a dictionary will do
    focus(page, "[aria-labelledby=another] button")
    keys.press("Enter")
    expect(page.locator(".flash")).to_contain_text("The photo is replaced")
    focus(page, "[action$='/restore'] button")
    keys.press("Enter")
    expect(page.locator(".flash")).to_contain_text("The earlier version is back")


def test_a_look_is_made_and_published_with_the_keyboard_alone(
    owner_page: LoggedInPage, axe: str
) -> None:
    page = upload(owner_page, "By the lake")
    keys = page.keyboard

    focus(page, "[data-add]")
    keys.press("Enter")
    expect(page.locator(".box")).to_be_focused()
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown"):
        keys.press(key)
    assert box_of(page, 0) == (39, 38, 21, 21)
    keys.press("Enter")
    expect(page.locator("[data-spot] [role=combobox]")).to_be_focused()
    keys.type("enamel-mug")
    keys.press("Enter")
    expect(page.locator("[data-spot] [data-item]")).to_have_value("enamel-mug")
    keys.press("Tab")
    keys.type("Mug")
    expect(page.locator(".box")).to_have_attribute("aria-label", "Hotspot 1: Mug")
    focus(page, "[data-add]")
    keys.press("Enter")
    rows, items = page.locator("[data-spot]"), page.locator("[data-spots] [data-item]")
    rows.nth(1).get_by_role("button", name="Move up").press("Enter")
    expect(items.nth(1)).to_have_value("enamel-mug")
    expect(page.locator(".box").first).to_have_attribute("aria-label", "Hotspot 2: Mug")
    rows.first.get_by_role("button", name="Move down").press("Enter")
    expect(items.first).to_have_value("enamel-mug")
    page.locator(".box").nth(1).press("Delete")
    expect(page.locator(".box")).to_have_count(1)
    owner_page.check(axe)
    focus(page, "[name=then][value=publish]:not(.away)")
    keys.press("Enter")

    expect(page.locator(".flash")).to_contain_text("Published")
    preview_and_replace(owner_page, axe)
    focus(page, "[name=to][value=draft]")
    keys.press("Enter")
    expect(page.locator(".heading .badge")).to_have_text("Draft")
    focus(page, "[name=to][value=archive]")
    keys.press("Enter")
    expect(page.locator(".heading .badge")).to_have_text("Archived")
    owner_page.open("/dashboard/looks")
    owner_page.check(axe)


@pytest.mark.parametrize("pointer", ["mouse", "touch"])
def test_boxes_are_moved_and_resized_by_mouse_and_touch(
    owner_page: LoggedInPage, pointer: str
) -> None:
    page = upload(owner_page, f"By {pointer}")
    page.click("[data-add]")
    page.locator("[data-stage]").scroll_into_view_if_needed()
    stage = page.locator("[data-stage]").bounding_box()
    assert stage is not None
    wide, high = stage["width"], stage["height"]

    def drag(from_x: float, from_y: float, to_x: float, to_y: float) -> None:
        points = [
            (stage["x"] + x * wide, stage["y"] + y * high)
            for x, y in ((from_x, from_y), (to_x, to_y))
        ]
        if pointer == "mouse":
            page.mouse.move(*points[0])
            page.mouse.down()
            page.mouse.move(*points[1], steps=4)
            page.mouse.up()
            return
        session = page.context.new_cdp_session(page)
        for kind, point in (
            ("touchStart", points[:1]),
            ("touchMove", points[1:]),
            ("touchEnd", []),
        ):
            touches = [{"x": x, "y": y} for x, y in point]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        session.detach()

    drag(0.48, 0.48, 0.28, 0.38)
    assert box_of(page, 0) == pytest.approx((20, 30, 20, 20), abs=0.6)
    drag(0.39, 0.49, 0.59, 0.59)
    assert box_of(page, 0) == pytest.approx((20, 30, 40, 30), abs=0.6)
    drag(0.3, 0.4, -0.5, 2.0)  # it stays within the photo
    assert box_of(page, 0) == pytest.approx((0, 70, 40, 30), abs=0.6)
