"""Headless Chromium for tests: a page as a shopper sees it.

`launched` gives a browser that reaches this machine only: names below `.example` lead to
it, and no other name leads anywhere. `watched` notes what a page asked for and what it
complained of.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from ctypes.util import find_library
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Playwright

MISSING: Final = (
    "Chromium, or the library that Playwright's Node needs, is not installed, so nothing "
    "ran in a browser: apt-get install chromium libatomic1"
)
WAIT_MS: Final = 30_000
"""How long an expectation may take to come true: other tests run beside it."""

_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_NAMES: Final = (
    *("MAP *.example 127.0.0.1", "MAP * ~NOTFOUND"),
    *("EXCLUDE 127.0.0.1", "EXCLUDE localhost"),
)
AGENT: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Safari/537.36"
)
_ARGUMENTS: Final = (
    "--no-sandbox",  # tests run as root in containers, where Chromium has none
    "--disable-dev-shm-usage",  # /dev/shm is small there
    "--disable-gpu",
    # A person's: events of a browser that says "Headless" are a bot's.
    f"--user-agent={AGENT}",
    f"--host-resolver-rules={', '.join(_NAMES)}",
)


_PACE: Final = """() => {
  const began = performance.now();
  let sum = 0;
  for (let at = 0; at < 4e6; at++) sum += (at * 7919 % 1013) * Math.sqrt(at);
  return performance.now() - began + (sum < 0);
}"""
"""Takes the milliseconds of a fixed piece of work, some 20 on a slowed device."""
_HELD_UP: Final = 2.0  # how much longer than at rest work may take, and still tell
_LOOKS: Final = 12
# How long the widgets' scripts held the page up at worst, in milliseconds: parts of frames
# that took more than 50 are noted with their script.
_WORST: Final = """() => new Promise(done => {
  let worst = 0;
  new PerformanceObserver(list => {
    for (const frame of list.getEntries()) for (const one of frame.scripts) {
      if (one.sourceURL.includes("/widget/v1/")) worst = Math.max(worst, one.duration);
    }
  }).observe({type: "long-animation-frame", buffered: true});
  setTimeout(() => done(worst), 50);
})"""


BARRIERS: Final = """async where => (
  await axe.run(where ?? document, {resultTypes: ["violations"]})
).violations.map(
  one => `${one.id}: ${one.nodes.map(node => node.target).join(" | ")}`)"""
"""What axe-core finds in a page, or in what a selector names.

Of rules that are kept it keeps no list of nodes, which takes less time.
"""


def evaluates_to(locator: Locator, script: str, expected: int) -> bool:
    """Tell whether a script in a frame returns `expected`; it does not while that loads."""
    try:
        return int(locator.evaluate(script, timeout=1000)) == expected
    except Error:
        return False


def longest_task_of_ours(page: Page) -> float:
    """Return the milliseconds that a page's widgets held it up at worst; else 0."""
    return float(page.evaluate(_WORST))


def check_tasks_are_short(
    browser: Browser,
    longest: Callable[[Page], float],
    most: float,
    *,
    width: int = 1280,
    looks: int = _LOOKS,
) -> None:
    """Check that no task takes over `most` milliseconds on a device four times slower.

    `longest` does what is looked at and tells its longest task. It gets a page of a profile
    that has seen nothing yet, each time another: what a browser keeps of a script makes its
    second run shorter than a shopper's first. Other work on this machine can hold a task
    up, never shorten it: so one short look is enough, measured by how much longer than at
    its best a fixed piece of work took just before and after.
    """
    paces: list[float] = []
    long_tasks = []
    for _ in range(looks):
        with browser.new_context(viewport={"width": width, "height": 900}) as context:
            context.set_default_timeout(WAIT_MS)
            page = context.new_page()
            slow = context.new_cdp_session(page)
            slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
            paces += [float(page.evaluate(_PACE)) for _ in range(2)]
            took = longest(page)
            paces.append(float(page.evaluate(_PACE)))
        held_up = (paces[-2] + paces[-1]) / 2 / min(paces)
        long_tasks.append((took, round(held_up, 2)))
        if took <= most * min(max(1.0, held_up), _HELD_UP):
            return
    raise AssertionError(long_tasks)


def a_minute_later(page: Page) -> None:
    """Let go of what the browser may keep for some seconds, as a merchant waits for."""
    session = page.context.new_cdp_session(page)
    session.send("Network.clearBrowserCache")
    session.detach()


def find_chromium() -> str | None:
    """Return the program of the system's Chromium; None if tests cannot drive one."""
    if find_library("atomic") is None:
        return None
    programs = (shutil.which(name) for name in _PROGRAMS)
    return next((program for program in programs if program), None)


def another(browser: Browser) -> Browser:
    """Return another browser, which keeps pages that one leaves, as people's do."""
    return browser.browser_type.launch(
        executable_path=find_chromium(),
        args=list(_ARGUMENTS),
        ignore_default_args=["--disable-back-forward-cache"],
        timeout=2 * WAIT_MS,
    )


@contextlib.contextmanager
def launched(playwright: Playwright, *more: str) -> Iterator[Browser]:
    """Give a running browser, without a window; `find_chromium` has found it.

    It has `more` arguments than usual.
    """
    browser = playwright.chromium.launch(
        executable_path=find_chromium(), args=[*_ARGUMENTS, *more], timeout=2 * WAIT_MS
    )
    try:
        yield browser
    finally:
        browser.close()


@dataclass
class PageLog:
    """What a page did: the addresses it asked for, and what its console says is wrong."""

    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def hosts(self) -> set[str]:
        """Return the hosts, with their ports, that were asked for anything."""
        parts = map(urlsplit, self.requested)
        return {one.netloc for one in parts if one.scheme not in {"data", "blob", "about"}}


def watched(page: Page) -> PageLog:
    """Note from now on what `page` does."""
    log = PageLog()

    def listen(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            log.complaints.append(f"{message.type}: {message.text}")

    page.on("request", lambda request: log.requested.append(request.url))
    page.on("console", listen)
    page.on("pageerror", lambda error: log.complaints.append(f"uncaught: {error}"))
    page.set_default_timeout(WAIT_MS)
    return log
