"""Pictures of the README and the guides, taken from the demo shop.

    .venv/bin/python -m tools.screenshot [ADDRESS]

Takes them from the demo at ADDRESS, such as http://127.0.0.1:8000. Without one
it starts `productrecs demo` in a folder of its own. Writes docs/demo.webp and the pictures
of the guides; the sizes that it prints belong into features/guides/markdown_html.py.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.support.browser import MISSING, WAIT_MS, find_chromium, launched
from tests.support.service import HOST, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "docs/demo.webp"
GUIDES: Final = ROOT / "src/productrecs/features/guides/pictures"
PAGE: Final = "/demo/product/ridge-tent-for-two"
SIZE: Final = (1280, 1180)
NARROW: Final = (900, 1000)  # of the guides: their column is 736 pixels wide
WIDTH: Final = 960
QUALITY: Final = 70
FRAME_MS: Final = 2_500
LEARNED_MS: Final = 2_000  # an event is stored, and read by the next list
RING: Final = "6px solid #d9772b"
# A browser that names itself headless counts as a bot, and gets what all shoppers get.
AGENT: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36"
)
# A list has come when a card is in it and all pictures in sight are drawn.
IS_THERE: Final = """() => {
  const lists = [...document.querySelectorAll("product-recs")]
    .filter(one => !one.hidden && one.getBoundingClientRect().top < innerHeight);
  const inside = lists.flatMap(one => [...(one.shadowRoot?.querySelectorAll("img") ?? [])]);
  const pictures = [...document.images, ...inside]
    .filter(one => one.getBoundingClientRect().top < innerHeight
      && one.getBoundingClientRect().left < innerWidth);
  const came = one => one.shadowRoot?.querySelector("a[part=link]");
  return lists.length > 0 && lists.every(came)
    && pictures.every(one => one.complete && one.naturalWidth > 0);
}"""
# What the store sold in the last 56 days, and the forecast of 28 with its band.
CHART: Final = """async () => {
  const script = document.querySelector("script[src*='/widget/v1/demo.localhost.js']");
  const key = /pk_[A-Za-z0-9]{20,}/.exec(await (await fetch(script.src)).text())[0];
  const asked = await fetch(`/v1/forecast/summary?key=${key}`);
  const {history, forecast} = await asked.json();
  const past = history.slice(-56).map(one => one.actual);
  const days = [...past.map(p50 => ({p10: p50, p50, p90: p50})), ...forecast];
  const top = Math.max(...days.map(one => one.p90)) * 1.1;
  const x = at => 50 + at * 880 / (days.length - 1), y = value => 300 - value / top * 260;
  const line = (list, from, pick) =>
    list.map((one, at) => `${x(from + at).toFixed(1)},${y(pick(one)).toFixed(1)}`);
  const last = past.length - 1, ahead = days.slice(last);
  const band = [...line(ahead, last, one => one.p90),
    ...line(ahead, last, one => one.p10).reverse()];
  const step = 10 ** Math.floor(Math.log10(top / 2));
  const rules = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => n * step).filter(one => one < top);
  const rule = one => `<path d="M50 ${y(one)}H930" stroke="#dde5e3"/>`
    + `<text x="42" y="${y(one) + 4}" text-anchor="end">${one}</text>`;
  const words = (at, said, colour) =>
    `<text x="${x(at)}" y="326" fill="${colour}">${said}</text>`;
  document.body.innerHTML = `<svg id="chart" width="860" height="314" viewBox="0 0 960 350"
    font-family="sans-serif" font-size="13" fill="#55625f">
    <rect width="960" height="350" fill="#fff"/>
    ${rules.map(rule).join("")}
    <polygon points="${band.join(" ")}" fill="#0f766e" opacity=".16"/>
    <polyline points="${line(days.slice(0, last + 1), 0, one => one.p50).join(" ")}"
      fill="none" stroke="#1c2423" stroke-width="2"/>
    <polyline points="${line(ahead, last, one => one.p50).join(" ")}"
      fill="none" stroke="#0f766e" stroke-width="2.5"/>
    <path d="M${x(last)} 30V300" stroke="#55625f" stroke-dasharray="4 4"/>
    ${words(0, "units sold, the last 8 weeks", "#1c2423")}
    ${words(last, "forecast of 28 days: p50, with p10 to p90", "#0f766e")}</svg>`;
}"""


def around(page: Page, shown: Locator, margin: int = 20) -> bytes:
    """Return an element with a margin, which its focus rings and shadows reach into."""
    box = shown.bounding_box()
    if box is None:
        message = "what should be photographed is not shown"
        raise RuntimeError(message)
    page.evaluate("y => scrollBy({top: y, behavior: 'instant'})", box["y"] - 200)
    box = shown.bounding_box() or box
    return page.screenshot(
        clip={
            "x": box["x"] - margin,
            "y": box["y"] - margin,
            "width": box["width"] + 2 * margin,
            "height": box["height"] + 2 * margin,
        }
    )


def readme(page: Page) -> list[bytes]:
    """Return the demo's home, the page of the tent that is clicked, and home again."""
    home = opened(page, "/demo")
    tent = page.locator(".hero a.button")
    tent.evaluate(f"one => one.style.outline = {RING!r}")
    frames = [page.screenshot()]
    tent.click()
    page.wait_for_url(f"**{PAGE}")
    frames.append(opened(page, PAGE))
    page.wait_for_timeout(LEARNED_MS)
    frames.append(opened(page, "/demo"))
    if frames[2] == home:
        message = "the lists do not follow the click"
        raise RuntimeError(message)
    return frames


def opened(page: Page, path: str) -> bytes:
    """Open a page of the demo; return its picture when its lists are there."""
    page.goto(path, wait_until="load")
    page.wait_for_function(IS_THERE, timeout=WAIT_MS)
    page.wait_for_timeout(500)  # for what fades in
    return page.screenshot()


def widgets(page: Page) -> bytes:
    """Return the products that are bought together with a tent."""
    page.goto(PAGE, wait_until="load")
    together = page.locator("product-recs[data-type=fbt]")
    together.locator("a[part=link]").first.wait_for()
    page.wait_for_timeout(1000)
    return around(page, together)


def look(page: Page) -> bytes:
    """Return a look with its hotspots, one of them open."""
    page.goto(PAGE, wait_until="load")
    shown = page.locator("product-look")
    shown.scroll_into_view_if_needed()
    shown.locator("[part~=hotspot]").nth(2).click()
    page.wait_for_timeout(1000)
    return around(page, shown)


def search(page: Page) -> bytes:
    """Return the search box with what it proposes for a word with a typo."""
    page.goto("/demo", wait_until="load")
    page.locator("input[name=q]").press_sequentially("lanten", delay=60)
    page.locator("[role=option]").nth(3).wait_for()
    page.wait_for_timeout(1500)
    return page.screenshot(clip={"x": 0, "y": 0, "width": NARROW[0], "height": 620})


def forecast(page: Page) -> bytes:
    """Return a drawing of the demo store's sales and forecast."""
    page.goto(PAGE, wait_until="load")
    page.evaluate(CHART)
    return page.locator("#chart").screenshot()


TAKEN: Final[dict[Path, Callable[[Page], bytes | list[bytes]]]] = {
    README: readme,
    **{GUIDES / f"{one.__name__}.webp": one for one in (widgets, look, search, forecast)},
}


@contextlib.contextmanager
def demo(given: list[str]) -> Iterator[str]:
    """Give the address of a demo: the one that was given, else of one of our own."""
    if given:
        yield given[0]
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder) / "demo", command="demo").prepare() as shop,
    ):
        yield f"http://{HOST}:{shop.port}"


def main() -> int:
    """Write the pictures; return the exit status."""
    if find_chromium() is None:
        sys.stderr.write(f"{MISSING}\n")
        return 1
    with (
        demo(sys.argv[1:]) as address,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        for file, taken in TAKEN.items():
            width, height = SIZE if file == README else NARROW
            page = browser.new_page(
                base_url=address,
                viewport={"width": width, "height": height},
                color_scheme="light",
                user_agent=AGENT,
            )
            shots = taken(page)
            page.close()
            write(file, shots if isinstance(shots, list) else [shots])
    return 0


def write(file: Path, shots: list[bytes]) -> None:
    """Write a picture, or several as an animation, no wider than `WIDTH`."""
    frames = []
    for shot in shots:
        frame = Image.open(io.BytesIO(shot)).convert("RGB")
        if frame.width > WIDTH:
            size = (WIDTH, round(frame.height * WIDTH / frame.width))
            frame = frame.resize(size, Image.Resampling.LANCZOS)
        frames.append(frame)
    first, *others = frames
    first.save(
        file,
        "WEBP",
        quality=QUALITY,
        method=6,
        save_all=bool(others),
        append_images=others,
        duration=FRAME_MS,
        loop=0,
    )
    sys.stdout.write(f"{file.name}: {first.size}, {file.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    sys.exit(main())
