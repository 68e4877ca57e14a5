"""Products and a product's page, without a browser."""

import html
import re

import pytest

from productrecs.dashboard import list_explanations
from productrecs.dashboard.page_registry import PAGES
from productrecs.engines.registry import ENGINES
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of
from tests.support.dashboard_calls import address_of
from tests.support.filled_store import Filled, open_store
from tests.support.service import Reply

PICTURES = "https://pictures.example"


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store of thirty lamps, of which one is out of stock and one discontinued."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"lamps-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    lamps = [
        {
            "id": f"lamp-{number}",
            "sku": f"SKU{number}",
            "title": f"Lamp number {number}",
            "price": 10 + number,
            "stock_qty": number,
            "categories": ["Lamps"],
            "image_url": f"{PICTURES}/{number}.webp",
        }
        for number in range(29)
    ]
    old = {"id": "old", "title": "Old lamp", "availability": "discontinued"}
    assert made.merchant.push(*lamps, old).status == 200
    assert made.merchant.recommend(item_id="lamp-1").status == 200  # it is in memory
    return made


def opened(office: Office, shop: Filled) -> Member:
    return office.member(shop.store)


def test_products_are_listed_the_newest_first_in_pages(
    office: Office, shop: Filled
) -> None:
    member = opened(office, shop)

    first = text_of(member.get("/dashboard/products"))
    second = text_of(member.get("/dashboard/products?page=2"))

    assert "1 to 25 of 30" in first
    assert "26 to 30 of 30" in second
    assert "Lamp number 28" in first
    assert "Lamp number 0" in second
    assert "Lamp number 28" not in second


def test_a_product_is_found_by_its_exact_id_before_it_is_indexed(
    office: Office, shop: Filled
) -> None:
    page = text_of(opened(office, shop).get("/dashboard/products?q=lamp-7"))

    assert "1 to 1 of 1" in page
    assert "Lamp number 7" in page


@pytest.mark.parametrize(
    ("chosen", "shown", "unseen"),
    [
        ("sold_out", "Lamp number 0", "Lamp number 1"),
        ("hidden", "Old lamp", "Lamp number"),
        ("shown", "Lamp number 5", "Old lamp"),
    ],
)
def test_products_are_filtered_by_what_shoppers_see(
    office: Office, shop: Filled, chosen: str, shown: str, unseen: str
) -> None:
    page = text_of(opened(office, shop).get(f"/dashboard/products?show={chosen}"))

    assert shown in page
    assert unseen not in page


def test_htmx_gets_the_table_alone(office: Office, shop: Filled) -> None:
    member = opened(office, shop)
    member.headers = {"hx-request": "true"}

    body = member.get("/dashboard/products?q=lamp-7").body.decode()

    assert "<html" not in body
    assert "Lamp number 7" in body


def test_a_product_sold_beyond_its_stock_is_a_back_order(
    office: Office, shop: Filled
) -> None:
    assert shop.merchant.push({"id": "lamp-1", "stock_qty": -4}).status == 200
    page = re.sub(
        r"\s+", " ", text_of(opened(office, shop).get("/dashboard/products?q=lamp-1"))
    )
    assert "Back-order" in page
    assert "In stock" not in page.partition("1 to 1 of 1")[2]


def picture_sources(reply: Reply) -> list[str]:
    """Return where a page may load pictures from."""
    policy = reply.header("content-security-policy") or ""
    found = [part for part in policy.split(";") if part.strip().startswith("img-src")]
    return found[0].split()[1:]


def test_pictures_are_allowed_from_the_hosts_of_the_catalog_and_on_these_pages_alone(
    office: Office, shop: Filled
) -> None:
    member = opened(office, shop)

    def sources(path: str) -> list[str]:
        return picture_sources(member.get(path))

    assert sources("/dashboard/products") == ["'self'", "data:", "blob:", PICTURES]
    assert sources("/dashboard/products/item?id=lamp-1")[-1] == PICTURES
    assert sources("/dashboard/account") == ["'self'", "data:", "blob:"]


def test_each_page_may_load_the_pictures_that_it_shows_at_once_or_later(
    office: Office, shop: Filled
) -> None:
    member, showing = opened(office, shop), set[str]()
    chosen = "action=pin&pin=lamp-1"
    for page in PAGES:
        if page.show is None or page.is_public:
            continue
        paths = {page.path, address_of(page, shop), f"{page.path}?q=lamp&{chosen}"}
        for path in sorted(paths):
            member.headers = {}
            whole = member.get(path)
            member.headers = {"hx-request": "true"}
            bodies = whole.body + member.get(path).body
            if f'src="{PICTURES}'.encode() in bodies:
                showing.add(page.path)
                assert PICTURES in picture_sources(whole), path
    assert {"/dashboard/products", "/dashboard/search/improve"} <= showing


@pytest.mark.parametrize(
    "address",
    [
        "https://x.example;script-src */a.png",
        "https://x.example *",
        "//x.example:99999999/a.png",
        "javascript:alert(1)",
        "https://'self'/a.png",
        "https://[::1/a.png",
    ],
)
def test_no_address_of_a_picture_widens_the_policy(
    office: Office, shop: Filled, address: str
) -> None:
    shop.merchant.push({"id": "hostile", "title": "Hostile", "image_url": address})
    reply = opened(office, shop).get("/dashboard/products?q=hostile")

    policy = reply.header("content-security-policy") or ""
    assert policy.count("script-src 'self'; ") == 1
    assert policy.count(";") == 9
    assert "*" not in policy
    assert "x.example" not in policy.replace("https://x.example ", "")
    assert "javascript:alert" not in reply.body.decode()


def test_a_product_page_says_what_is_recommended_and_why(
    office: Office, shop: Filled
) -> None:
    page = opened(office, shop).get("/dashboard/products/item?id=lamp-1")
    text = text_of(page)

    assert page.status == 200
    assert "Lamp number 1" in text
    assert "SKU1" in text
    assert "Mix" in text
    assert "Bought together" in text
    assert "Lamps" in text
    assert 'src="https://pictures.example/1.webp"' in page.body.decode()
    assert "Lamp number 0" not in text  # it is out of stock, and those are hidden


def test_a_product_without_a_fact_has_the_reason_of_its_engine(
    office: Office, shop: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_explanations, "_product_reasons", lambda *_: iter(()))
    page = opened(office, shop).get("/dashboard/products/item?id=lamp-1").body.decode()
    reason = r'item\?id=lamp-\d+">[^<]*</a>\s*<p class="soft">(.*?)</p>'
    shown = re.findall(reason, page)

    assert shown
    assert set(shown) <= {engine.summary.capitalize() for engine in ENGINES}


def test_a_product_page_shows_its_lists_without_a_product_and_with_sold_out_ones(
    office: Office, shop: Filled
) -> None:
    member = opened(office, shop)
    now = member.get("/dashboard/products/item?id=lamp-1").body.decode()
    seen = re.findall(r'products/item\?id=(lamp-\d+)"', now)[0]

    without = member.get(f"/dashboard/products/item?id=lamp-1&item={seen}")
    stock = text_of(member.get("/dashboard/products/item?id=lamp-1&show=stock"))
    cheap = text_of(member.get("/dashboard/products/item?id=lamp-1&filter=price:..13"))
    call = re.search(r"curl &#39;[^/]*//[^/]*(\S+)&#39;", now)
    wrong = text_of(member.get("/dashboard/products/item?id=lamp-1&filter=weight:9"))

    assert f'products/item?id={seen}"' not in without.body.decode()
    assert f"No longer in the list: Lamp number {seen[5:]}" in text_of(without)
    assert "These lists are a preview" in stock
    assert "These lists are a preview" in cheap
    assert call is not None
    assert office.inside.ask("GET", html.unescape(call[1])).status == 200
    assert "Lamp number 3" in cheap
    assert "Lamp number 4 " not in cheap.partition("No longer in the list")[0]
    assert "A filter is categories:NAME" in wrong


def test_a_product_counts_only_companions_that_may_be_shown(office: Office) -> None:
    office.now_ms += 3_600_000
    services = office.services
    domain = f"tents-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    for number, lines in enumerate([("tent", "mat")] * 12 + [("boat",)] * 60):
        made.merchant.order(f"o-{number}", *lines)
    deps = TrainingDeps(services.database, services.models, services.clock)
    train_store(deps, made.store, TrainingInputs(), lambda _: None)
    counts = []
    for stock in (5, 0):
        made.merchant.push({"id": "tent"}, {"id": "mat", "stock_qty": stock})
        page = opened(office, made).get("/dashboard/products/item?id=tent")
        text = " ".join(text_of(page).split())
        counts.append(re.findall(r"Bought together (its .*? product|with nothing)", text))

    assert counts == [["its lists use the best 1 product"], ["with nothing"]]


def test_a_product_of_another_store_is_not_there(office: Office, shop: Filled) -> None:
    other = open_store(
        office.services.database, office.services.clock, office.inside, "else.example"
    )
    other.merchant.push({"id": "theirs", "title": "Theirs"})

    reply = opened(office, shop).get("/dashboard/products/item?id=theirs")

    assert reply.status == 404
    assert "no product with this id" in text_of(reply)


def test_an_empty_catalog_leads_to_the_start(office: Office) -> None:
    office.now_ms += 3_600_000
    services, domain = office.services, f"empty-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)

    page = text_of(office.member(made.store).get("/dashboard/products"))

    assert "No products yet" in page
