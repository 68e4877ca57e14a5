"""Photo editor of the search widget: frame a part, turn it, or send nothing."""

import base64
import io
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.browser.test_widget_search import BOX, FIND, FORM, answer_photos
from tests.support.browser import watched
from tests.support.storefront import Storefront

FRAME, DIALOG = ".pr-crop-frame", ".pr-crop"
RED, BLUE = (200, 30, 30), (30, 30, 200)


class Shop:
    """A shop's page whose photos are answered in the service's place."""

    def __init__(self, page: Page, taken: list[dict[str, Any]]) -> None:
        """Start with the photos that were taken, none."""
        self.page, self.taken = page, taken

    def choose(self, **exif: int) -> None:
        """Choose a photo, twice as wide as high, red on its left and blue on its right."""
        picture = Image.new("RGB", (800, 400), RED)
        picture.paste(BLUE, (400, 0, 800, 400))
        tags = Image.Exif()
        tags[0x0112] = exif.get("orientation", 1)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=95, exif=tags)
        self.page.locator(BOX).click()
        photo: FilePayload = {
            "name": "me.jpg",
            "mimeType": "image/jpeg",
            "buffer": buffer.getvalue(),
        }
        self.page.locator("input[type=file]").set_input_files([photo])
        expect(self.page.locator(DIALOG)).to_be_visible()

    def sent(self) -> Image.Image:
        """Return the picture that was sent."""
        expect(self.page.locator(".pr-search-head")).to_have_text("Similar products")
        (body,) = self.taken
        data = base64.b64decode(body["image"].partition(",")[2])
        return Image.open(io.BytesIO(data)).convert("RGB")


@pytest.fixture(params=[375, 1280])
def shop(
    request: pytest.FixtureRequest, browser: Browser, front: Storefront
) -> Iterator[Shop]:
    """Give the shop's page on a phone and on a wide screen; nothing may complain."""
    taken: list[dict[str, Any]] = []
    viewport: Any = {"width": request.param, "height": 740}
    with browser.new_context(viewport=viewport) as context:
        answer_photos(context, taken)
        page = context.new_page()
        watch = watched(page)
        page.goto(front.page("/", FORM, kind="search-"))
        page.wait_for_function("!!window.ProductRecs?.core")
        yield Shop(page, taken)
        assert watch.complaints == []


def is_near(picture: Image.Image, place: tuple[int, int], colour: tuple[int, ...]) -> bool:
    """Return whether a pixel has nearly a colour."""
    found = picture.getpixel(place)
    assert isinstance(found, tuple)
    return max(abs(a - b) for a, b in zip(found, colour, strict=True)) < 60


def test_the_whole_photo_is_sent_unless_it_is_changed(shop: Shop) -> None:
    shop.choose()

    shop.page.locator(FIND).click()

    assert shop.sent().size == (800, 400)


def test_a_photo_is_upright_as_its_camera_says(shop: Shop) -> None:
    shop.choose(orientation=6)

    shop.page.locator(FIND).click()

    picture = shop.sent()
    assert picture.size == (400, 800)
    assert is_near(picture, (200, 100), RED)


def test_the_keyboard_frames_a_part(shop: Shop) -> None:
    shop.choose()
    frame = shop.page.locator(FRAME)
    frame.focus()

    for _ in range(25):
        frame.press("Shift+ArrowLeft")
    for _ in range(25):
        frame.press("ArrowRight")
    frame.press("Enter")

    picture = shop.sent()
    assert picture.size == (400, 400)
    assert is_near(picture, (20, 200), BLUE)


def test_a_corner_is_dragged_and_the_photo_turned(shop: Shop) -> None:
    shop.choose()
    box = shop.page.locator(FRAME).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= shop.page.evaluate("innerWidth")
    x, y = box["x"] + box["width"] - 6, box["y"] + box["height"] - 6
    shop.page.mouse.move(x, y)
    shop.page.mouse.down()
    shop.page.mouse.move(x - box["width"] / 2, y, steps=4)
    shop.page.mouse.up()

    shop.page.locator(".pr-crop-turn").click()
    shop.page.locator(FIND).click()

    picture = shop.sent()
    assert picture.width == pytest.approx(400, abs=8)
    assert picture.height == pytest.approx(400, abs=8)
    assert is_near(picture, (200, 200), RED)


def test_escape_sends_nothing_and_the_box_has_the_focus(shop: Shop) -> None:
    shop.choose()

    shop.page.keyboard.press("Escape")

    expect(shop.page.locator(DIALOG)).to_have_count(0)
    expect(shop.page.locator(BOX)).to_be_focused()
    assert shop.taken == []
