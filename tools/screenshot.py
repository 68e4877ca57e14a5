"""What does the demo look like? Makes the picture of README.md anew.

    .venv/bin/python -m tools.screenshot

Starts `productrecs demo` in a folder of its own, looks at a product's page in the system's
Chromium once its lists have come, and writes docs/demo.webp.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Final

from PIL import Image

from tests.support.browser import MISSING, WAIT_MS, find_chromium, launched
from tests.support.service import HOST, Service

PICTURE: Final = Path(__file__).parents[1] / "docs/demo.webp"
PAGE: Final = "/demo/product/ridge-tent-for-two"
SIZE: Final = (1280, 1180)
WIDTH: Final = 960
QUALITY: Final = 70
# A list has come when a card is in it and all pictures in sight are drawn.
IS_THERE: Final = """() => {
  const lists = [...document.querySelectorAll("product-recs")]
    .filter(one => !one.hidden && one.getBoundingClientRect().top < innerHeight);
  const inside = lists.flatMap(one => [...(one.shadowRoot?.querySelectorAll("img") ?? [])]);
  const pictures = [...document.images, ...inside]
    .filter(one => one.getBoundingClientRect().top < innerHeight);
  const came = one => one.shadowRoot?.querySelector("a[part=link]");
  return lists.length > 0 && lists.every(came)
    && pictures.every(one => one.complete && one.naturalWidth > 0);
}"""


def photographed(shop: Service) -> bytes:
    """Return a PNG of the demo's product page."""
    with launched() as browser:
        page = browser.new_page(
            viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light"
        )
        page.goto(f"http://{HOST}:{shop.port}{PAGE}", wait_until="load")
        page.wait_for_function(IS_THERE, timeout=WAIT_MS)
        page.wait_for_timeout(500)  # for what fades in
        return page.screenshot()


def main() -> int:
    """Write the picture; return the exit status."""
    if find_chromium() is None:
        sys.stderr.write(f"{MISSING}\n")
        return 1
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder) / "demo", command="demo").prepare() as shop,
    ):
        seen = Image.open(io.BytesIO(photographed(shop))).convert("RGB")
    height = round(seen.height * WIDTH / seen.width)
    smaller = seen.resize((WIDTH, height), Image.Resampling.LANCZOS)
    smaller.save(PICTURE, "WEBP", quality=QUALITY, method=6)
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
