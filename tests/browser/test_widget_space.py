"""Layout stability: widgets cause no layout shift and leave no gap.

The short form has every pair of a width and a case's parts once; `make trust` has all.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from playwright.sync_api import Browser, Page, Route, expect

from productrecs.features.widgets.reserved_height import head_tags
from productrecs.tenancy.accounts.store_settings import StoreSettings
from tests.support.storefront import Storefront

OPEN = {"access-control-allow-origin": "*"}
RESERVE = head_tags(StoreSettings(), {})
STYLE = RESERVE.partition("<script>")[0]
PAGE = """<style>
body { margin: 0 16px; font: 16px/1.5 sans-serif }
h1 { margin: 0; font-size: 20px }
</style>"""
MEASURED = """<script>
window.moved = 0;
window.began = 0; // when the widgets asked, if their script came
customElements.whenDefined("product-recs").then(() => { began = performance.now(); });
window.from = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    moved += entry.value;
    from.push(entry.sources.map((one) => one.node?.nodeName).join());
  }
}).observe({type: "layout-shift", buffered: true});
for (const state of ["loaded", "empty", "error"]) {
  addEventListener(`product-recs:${state}`, () => {
    window[state] = (window[state] ?? 0) + 1;
  });
}
</script>"""
TEXT = "<p>What stands below</p><div style='height:3000px'></div>"
TOP = "document.querySelector('body > p').offsetTop"
FALLBACK = "<h2>Bestsellers</h2><p>A line</p><a href=/best>All of them</a>"
HIGH = f"{FALLBACK}<div style='height:900px'>A high picture</div>"
SIZES = [375, 1280]
LONG = pytest.mark.trust
LINE = 4  # px that the last line of a text is higher than its letters


@pytest.fixture(params=SIZES)
def wide(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Give an empty page of a phone's and of a desk's width."""
    with browser.new_context(viewport={"width": request.param, "height": 900}) as context:
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.route("**/picture.svg", lambda route: route.abort())
        yield page


def each_width_in_turn(*parts: Iterable[object]) -> list[ParameterSet]:
    """Return every case at both widths; half of them are left to the long form.

    Between any two parts, and a part and a width, each combination is in the short form.
    """
    found = []
    for numbered in itertools.product(enumerate(SIZES), *map(enumerate, parts)):
        turn = sum(number for number, _ in numbered)
        marks = LONG if turn % 2 else ()
        found.append(pytest.param(*(value for _, value in numbered), marks=marks))
    return found


def products(front: Storefront, count: int) -> list[dict[str, Any]]:
    """Return so many products as the service answers them."""
    origin = front.pages.origin("shop.example")
    return [
        {
            "id": f"q{n}",
            "title": f"Product {n}" + " with a longer name" * (n % 3),
            "price": n,
            "image_url": f"{origin}/picture.svg",
            "product_url": f"{origin}/p/{n}",
            "source": "buy",
        }
        for n in range(count)
    ]


def answer(page: Page, front: Storefront, count: int, wait_ms: int = 150) -> None:
    """Answer every call for a list with so many products, as late as a phone gets them."""

    def fulfill(route: Route) -> None:
        page.wait_for_timeout(wait_ms)
        body: dict[str, object] = {
            "recommendations": products(front, count),
            "anchor": None,
        }
        if "anchor=true" in route.request.url:
            body["anchor"] = {**products(front, 1)[0], "id": "own"}
        route.fulfill(json=body, headers=OPEN)

    page.route("**/v1/recommendations?*", fulfill)
    page.route("**/v1/trending?*", fulfill)


def settled(page: Page, count: int = 1) -> None:
    """Wait until every widget has ended, and what slides has stopped."""
    page.wait_for_function(
        f"(window.loaded ?? 0) + (window.empty ?? 0) + (window.error ?? 0) >= {count}"
    )
    page.wait_for_timeout(500)


KINDS = {
    "carousel": ("", 8),
    "two in a carousel": ("data-num=2", 2),
    "cart": ("data-type=cart data-item-ids=p0", 8),
    "trending": ("data-type=trending", 8),
    "bundle": ("data-type=fbt data-item-id=p0", 3),
    "grid": ("data-layout=grid", 8),
    "grid of five": ("data-layout=grid data-num=5", 5),
    "grid of three columns": ("data-layout=grid data-num=7 data-columns=3", 7),
    "grid without a title": ("data-layout=grid data-title=''", 8),
    "list": ("data-layout=list data-num=6", 6),
}


def put(front: Storefront, body: str, *, head: str = RESERVE, kind: str = "") -> str:
    """Put a page into the shop; return its address."""
    whole = f"<h1>Shop</h1>{body}{TEXT}"
    return front.page("/", whole, head=PAGE + head + MEASURED, kind=kind)


def check_nothing_shifted(page: Page) -> None:
    assert page.evaluate("[moved, from]") == [0, []]


@pytest.mark.parametrize(("wide", "kind"), each_width_in_turn(KINDS), indirect=["wide"])
def test_a_full_answer_takes_exactly_the_reserved_height(
    wide: Page, front: Storefront, kind: str
) -> None:
    attributes, count = KINDS[kind]
    answer(wide, front, count)
    wide.goto(put(front, f"<product-recs {attributes}></product-recs>"))
    before = wide.evaluate(TOP)
    settled(wide)

    assert wide.evaluate("window.loaded") == 1
    check_nothing_shifted(wide)
    assert wide.evaluate(TOP) == before


@LONG  # it measures before the answer comes, for which a busy machine is too slow
def test_control_without_the_stylesheet_the_answer_moves_what_is_below(
    wide: Page, front: Storefront
) -> None:
    answer(wide, front, 8, wait_ms=800)  # not before it was measured, on a busy machine
    wide.goto(put(front, "<product-recs></product-recs>", head=""))
    before = wide.evaluate(TOP)
    settled(wide)

    assert wide.evaluate(TOP) > before + 200
    check_nothing_shifted(wide)  # it slides


def test_the_reserved_height_follows_what_the_merchant_set(
    wide: Page, front: Storefront
) -> None:
    settings = {
        "layout": "grid",
        "columns": 5,
        "columns_mobile": 1,
        "num": 7,
        "gap": 30,
        "image_ratio": "3 / 4",
        "show_add_to_cart": True,
    }
    domain, client = front.merchant.account.domain, front.service.client()
    body = json.dumps({"settings": settings}).encode()
    target = "/integration/widget-config?type=season"
    assert client.ask("PUT", target, body, front.merchant.server).status == 200
    head = front.service.run("embed", domain).partition("</script>")[0] + "</script>"
    answer(wide, front, 7)
    wide.goto(put(front, "<product-recs data-type=season></product-recs>", head=head))
    before = wide.evaluate(TOP)
    settled(wide)

    assert wide.evaluate("window.loaded") == 1
    check_nothing_shifted(wide)
    assert wide.evaluate(TOP) == before


ANSWERS = {
    "fewer than reserved": ("", 3),
    "one row of a bundle": ("data-type=fbt data-item-id=p0", 1),
    "two of a grid": ("data-layout=grid", 2),
    "none": ("", 0),
    "none, not even a bundle": ("data-type=fbt data-item-id=p0", 0),
}
CHILDREN = {"no fallback": "", "a low fallback": FALLBACK, "a high fallback": HIGH}
# In sight, at its lower edge, and below it.
ABOVE = [0, pytest.param(700, marks=LONG), pytest.param(1000, marks=LONG)]
GAPS = """() => [...document.querySelectorAll("product-recs, product-look")].map((one) => {
  const inner = one.shadowRoot?.querySelector(".w") ?? one;
  const bottoms = [...(inner === one ? one : inner.parentNode).children]
    .map((child) => child.assignedElements?.() ?? [child]).flat()
    .map((child) => child.getBoundingClientRect().bottom);
  const box = one.getBoundingClientRect();
  return box.height ? Math.round(box.bottom - Math.max(box.top, ...bottoms)) : 0;
})"""


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize(
    ("wide", "kind", "children"), each_width_in_turn(ANSWERS, CHILDREN), indirect=["wide"]
)
def test_another_answer_shifts_nothing_and_leaves_no_gap(
    wide: Page, front: Storefront, kind: str, children: str, above: int
) -> None:
    attributes, count = ANSWERS[kind]
    answer(wide, front, count)
    element = f"<product-recs {attributes}>{CHILDREN[children]}</product-recs>"
    wide.goto(put(front, f"<div style='height:{above}px'></div>{element}"))
    settled(wide)

    check_nothing_shifted(wide)
    assert max(wide.evaluate(GAPS)) <= LINE


SIX = "".join(
    f"<h2>{n}</h2><product-recs data-type={kind} data-item-id=p0>{inner}</product-recs>"
    for n, (kind, inner) in enumerate(
        [
            *[("recs", ""), ("fbt", ""), ("cart", FALLBACK)],
            *[("trending", HIGH), ("similar", ""), ("recs", FALLBACK)],
        ]
    )
)


# Answers come one after another; of those that hide, slides overlap the slides before.
@pytest.mark.parametrize(
    ("wide", "recs_reply"),
    each_width_in_turn(
        [
            (8, 150, "data-eager"),
            (2, 150, "data-eager"),
            (0, 150, "data-eager"),
            (0, 250, ""),
        ]
    ),
    indirect=["wide"],
)
def test_six_widgets_shift_nothing(
    wide: Page, front: Storefront, recs_reply: tuple[int, int, str]
) -> None:
    count, wait_ms, loading = recs_reply
    answer(wide, front, count, wait_ms)
    element_with_options = f"<product-recs data-allow-duplicates {loading}"
    element = SIX.replace("<product-recs", element_with_options)
    wide.goto(put(front, f"<main>{element}</main><p>Below</p>"))
    settled(wide, 6)

    check_nothing_shifted(wide)
    assert max(wide.evaluate(GAPS)) <= LINE


def nothing(_route: Route) -> None:
    """Never answer."""


def refuse(route: Route) -> None:
    """Answer as a server that is down, or a blocker of the browser."""
    route.abort("connectionrefused")


SILENCE: dict[str, tuple[str, Callable[[Route], None]]] = {
    "the script is refused": ("**/widget/v1/*", refuse),
    "the script never comes": ("**/widget/v1/*", nothing),
    "lists are refused": ("**/v1/recommendations?*", refuse),
    "lists never come": ("**/v1/recommendations?*", nothing),
    "looks never come": ("**/v1/widget-config?*", nothing),
}
WITHIN_MS = 3_000


def test_without_an_answer_no_gap_is_left_after_three_seconds(
    wide: Page, front: Storefront
) -> None:
    waiting = {}  # all at once, since each takes three seconds
    for silence, (calls, answer_) in SILENCE.items():
        for children in ("no fallback", "a low fallback"):
            page = waiting[silence, children] = wide.context.new_page()
            page.route(calls, answer_)
            element = f"<product-recs data-eager>{CHILDREN[children]}</product-recs>"
            body = f"<main>{element}<p>Between</p>{element}</main>"
            page.goto(put(front, body), wait_until="commit")
            page.wait_for_function("document.querySelector('body > p')")
    for case, page in waiting.items():
        page.wait_for_function(f"performance.now() - window.began > {WITHIN_MS}")

        assert max(page.evaluate(GAPS)) <= LINE, case
    wide.wait_for_timeout(400)
    for page in waiting.values():
        check_nothing_shifted(page)


def test_a_list_that_still_loads_has_no_barriers(
    wide: Page, front: Storefront, axe: str
) -> None:
    wide.route(*SILENCE["lists never come"])
    body = "<main><product-recs data-eager></product-recs></main>"
    wide.goto(put(front, body), wait_until="commit")
    wide.wait_for_function("document.querySelector('product-recs')?.shadowRoot")
    wide.evaluate(axe)
    found = wide.evaluate("axe.run('product-recs').then(it => it.violations)")

    assert wide.evaluate("document.querySelector('product-recs').offsetHeight") > LINE
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found]


def test_a_page_that_forbids_the_script_beside_the_stylesheet_keeps_no_gap(
    wide: Page, front: Storefront
) -> None:
    wide.route(*SILENCE["the script never comes"])
    address = put(front, "<product-recs></product-recs>", head=STYLE)
    wide.goto(address, wait_until="commit")
    wide.wait_for_function(f"performance.now() > {WITHIN_MS + 200}")

    assert wide.evaluate(GAPS) == [0]


LOOK = {
    "id": "look-1",
    "title": "In the hills",
    "item_id": "p0",
    "published_at": "2026-01-01T00:00:00Z",
}
PORTRAIT = "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='500'/>"
LOOKS = {
    "with its shape": "data-ratio='4/5' data-num=3",
    "of unknown shape": "",
    "with a fallback": "data-fallback",
}


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize(
    ("wide", "kind", "is_there"),
    each_width_in_turn(LOOKS, [True, False]),
    indirect=["wide"],
)
def test_a_look_shifts_nothing(
    wide: Page, front: Storefront, kind: str, above: int, *, is_there: bool
) -> None:
    origin = front.pages.origin("shop.example")
    front.pages.pages["/portrait.svg"] = PORTRAIT
    spots = [
        {"label": one["title"], "bbox": [0.2, 0.2, 0.2, 0.2], "product": one}
        for one in products(front, 3)
    ]
    look = {**LOOK, "image_url": f"{origin}/portrait.svg", "hotspots": spots}
    reply = {"look": look if is_there else None}
    wide.route("**/v1/looks?*", lambda route: route.fulfill(json=reply, headers=OPEN))
    inner = FALLBACK if kind == "with a fallback" else ""
    element = (
        f"<product-look data-item-id=p0 data-title='In the hills' {LOOKS[kind]}>{inner}"
    )
    element = f"<div style='height:{above}px'></div>{element}</product-look>"
    wide.goto(put(front, element, kind="look-"))
    before = wide.evaluate(TOP)
    settled(wide)

    check_nothing_shifted(wide)
    assert max(wide.evaluate(GAPS)) <= LINE
    if is_there and kind == "with its shape":  # the rest slides
        assert wide.evaluate(TOP) == pytest.approx(before, abs=1)


PARENTS = {
    "inline-block": "<div style='display:inline-block'>{}</div>",
    "float": "<div style='float:left'>{}</div>",
    "cell": "<table><tr><td>{}</td></tr></table>",
    "flex item": "<div style='display:flex'><div>{}</div></div>",
}
WIDTH = "document.querySelector('product-recs').getBoundingClientRect().width"


@pytest.mark.parametrize(("wide", "parent"), each_width_in_turn(PARENTS), indirect=["wide"])
def test_a_parent_without_a_width_of_its_own_shows_the_whole_widget(
    wide: Page, front: Storefront, parent: str
) -> None:
    answer(wide, front, 8)
    wide.goto(put(front, PARENTS[parent].format("<product-recs></product-recs>")))
    settled(wide)

    width = wide.evaluate("innerWidth") - 32
    assert wide.evaluate(WIDTH) == pytest.approx(width, abs=8)
    assert wide.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(wide.locator("product-recs >> a[part=link][href]").first).to_be_visible()
    assert wide.evaluate("[moved, from]") == [0, []]
