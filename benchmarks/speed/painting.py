"""How soon does a shopper see products, once the service has answered?

Chromium's throttling plays a phone's processor. A page is opened anew each time, with
nothing in its cache: the script, its styles and the drawing are all in it. Counted is from
the last byte of the list to the first picture on the screen that shows it.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from benchmarks.report import Figure
from benchmarks.speed.servers import ready_service
from benchmarks.speed.stores import DOMAIN, create_store, productrecs, scratch
from tests.support.browser import MISSING, find_chromium, launched
from tests.support.web import Pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from benchmarks.report import Report

SLOWED, OPENED, MOST_MS = (1, 4, 6), 15, 300.0
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='400'/>"
# The first moment after the list is drawn at which a frame has left for the screen.
PAINTED = """
addEventListener("product-recs:loaded", () => requestAnimationFrame(() => {
  const {port1, port2} = new MessageChannel();
  port1.onmessage = () => {
    const calls = performance.getEntriesByType("resource");
    const list = calls.find((one) => one.name.includes("/v1/recommendations"));
    window.ours = performance.now() - list.responseEnd;
  };
  port2.postMessage(0);
}));"""


def painting(report: Report) -> None:
    """Add the milliseconds from the service's answer to the first useful paint."""
    if find_chromium() is None:
        report.skip("painting", MISSING)
        return
    with scratch() as folder, Pages({"/picture.svg": PICTURE}) as shop:
        data, items = folder / "data", folder / "items.jsonl"
        key = create_store(data)["publishable_key"]
        lines = (json.dumps(_item(n, shop.origin())) for n in range(20))
        items.write_text("\n".join(lines))
        productrecs(data, "import-items", DOMAIN, str(items))
        with (
            ready_service(data, workers=1) as server,
            sync_playwright() as playwright,
            launched(playwright) as browser,
        ):
            shop.pages["/"] = _page(f"http://127.0.0.1:{server.port}", key)
            for rate in SLOWED:
                _measure(report, browser, shop.origin(), rate)


def _measure(report: Report, browser: Browser, address: str, rate: int) -> None:
    found = sorted(_once(browser, address, rate) for _ in range(OPENED))
    p50, p95 = found[OPENED // 2], found[math.ceil(0.95 * OPENED) - 1]
    report.add(
        Figure(
            f"answer to first useful paint, processor slowed {rate} times: p95",
            p95,
            "ms",
            target=f"<= {MOST_MS:g}",
            ok=p95 <= MOST_MS,
            note=f"p50 {p50:.0f}, worst {found[-1]:.0f} of {OPENED} pages opened cold",
        )
    )


def _once(browser: Browser, address: str, rate: int) -> float:
    """Open the page in a new profile; return the milliseconds."""
    with browser.new_context(viewport={"width": 375, "height": 812}) as context:
        opened = context.new_page()
        opened.add_init_script(PAINTED)
        context.new_cdp_session(opened).send(
            "Emulation.setCPUThrottlingRate", {"rate": rate}
        )
        opened.goto(address)
        opened.wait_for_function("window.ours !== undefined")
        return float(opened.evaluate("window.ours"))


def _page(base: str, key: str) -> str:
    return (
        "<!doctype html><html lang=en><meta name=viewport content='width=device-width'>"
        f"<title>Shop</title><script async src='{base}/widget/v1/{DOMAIN}.js'></script>"
        f"<product-recs data-key={key} data-item-id=p0></product-recs>"
    )


def _item(number: int, origin: str) -> dict[str, object]:
    return {
        "id": f"p{number}",
        "title": f"Product {number} with a name of some length",
        "price": 9.5 + number,
        "image_url": f"{origin}/picture.svg",
        "product_url": f"{origin}/p/{number}",
        "categories": ["Camping"],
    }
