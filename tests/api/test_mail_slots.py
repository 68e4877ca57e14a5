"""Mail slots over HTTP: picture, link and JSON of a mail agree, whatever changes."""

import itertools
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.features.mail_slots.mail_slot import MailResource
from productrecs.features.mail_slots.opened_mails.repository import (
    MailSlotCountRepository,
    MailSlotCounts,
)
from productrecs.records.pictures.draw_product_card import ProductCard, draw_product_card
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import mail_choices
from tests.support.pictures import drawn, encoded
from tests.support.service import (
    HOST,
    Merchant,
    Reply,
    Service,
    eventually,
    switch_on_mail_slot,
)
from tests.support.web import PictureHost

PICTURE = encoded(drawn("red", "ball"))
_COUNT = itertools.count()
IDS = ("tent", "rope", "stove", "lamp", "map", "bag")
GMAIL = "Mozilla/5.0 (Windows NT 5.1) Firefox/11.0 (via ggpht.com GoogleImageProxy)"


@pytest.fixture(scope="module")
def host() -> Iterator[PictureHost]:
    with PictureHost(PICTURE) as started:
        yield started


class Mailing:
    """A store's slot, opened by recipients."""

    def __init__(self, merchant: Merchant) -> None:
        self.merchant = merchant
        self.paths = switch_on_mail_slot(merchant.account)

    def path(self, part: MailResource, **query: object) -> str:
        """Return an address of the slot."""
        sent = {"key": self.merchant.account.publishable, **query}
        return self.paths[part] + "".join(f"&{name}={sent[name]}" for name in sent)

    def ask(
        self,
        part: MailResource,
        headers: Mapping[str, str] | None = None,
        /,
        **query: object,
    ) -> Reply:
        """Open an address of the slot."""
        return self.merchant.client.ask(
            "GET", self.path(part, **query), None, dict(headers or {})
        )

    def ids(self, **query: object) -> list[str]:
        """Return the products of a mail."""
        reply = self.ask(MailResource.PRODUCTS, **query)
        assert reply.status == 200, reply
        return [product["id"] for product in reply.json["products"]]

    def linked(self, **query: object) -> str:
        """Return the page that a link leads to, without its parameters."""
        reply = self.ask(MailResource.LINK, **query)
        assert reply.status == 302, reply
        return (reply.header("location") or "").partition("?")[0]

    def new_ids(self) -> list[str]:
        """Return the products of a mail that nobody has opened."""
        return self.ids(campaign=f"new-{next(_COUNT)}")

    def page(self, item_id: str) -> str:
        """Return the page of a product."""
        return f"https://{self.merchant.account.domain}/p/{item_id}"


def _count_choices(database: Database, mailing: Mailing) -> int:
    is_own = mail_choices.c.store_id == mailing.merchant.account.store_id
    with database.reading() as connection:
        query = sa.select(sa.func.count()).select_from(mail_choices).where(is_own)
        return int(connection.execute(query).scalar_one())


def open_mailing(service: Service, host: PictureHost) -> Mailing:
    merchant = service.register()
    pushed = merchant.push(*(product(host, item_id) for item_id in IDS))
    assert pushed.status == 200
    mailing = Mailing(merchant)
    eventually(lambda: mailing.ask(MailResource.PRODUCTS).status == 200)
    eventually(lambda: len(mailing.new_ids()) == len(IDS))
    return mailing


@pytest.fixture
def mailing(service: Service, host: PictureHost) -> Mailing:
    """Return a store's slot, and six products that can be bought."""
    return open_mailing(service, host)


@pytest.fixture(scope="module")
def unchanged(service: Service, host: PictureHost) -> Mailing:
    """Return the same for tests that change nothing."""
    return open_mailing(service, host)


def product(host: PictureHost, item_id: str, **fields: object) -> dict[str, object]:
    given = {
        "id": item_id,
        "title": f"The {item_id}",
        "price": 20,
        "product_url": f"/p/{item_id}",
        "image_url": f"http://{HOST}:{host.port}/{item_id}.jpg",
    }
    return given | fields


def counts(service: Service, mailing: Mailing) -> MailSlotCounts:
    store_id = StoreId(mailing.merchant.account.store_id)
    with service.database() as database, database.reading() as connection:
        found = MailSlotCountRepository(connection, store_id).recent_counts_by_slot(
            system_ms()
        )
    return found.get("newsletter", MailSlotCounts())


@pytest.mark.parametrize("user_id", ["", "c-7"])
def test_picture_link_and_json_of_a_position_show_one_product(
    unchanged: Mailing, user_id: str
) -> None:
    mail = {"user_id": user_id, "campaign": "spring"}
    for position in (1, 2, 6):
        image = unchanged.ask(MailResource.IMAGE, position=position, width=300, **mail)
        assert image.status == 200, image
        assert image.header("content-type") == "image/jpeg"
        shown = unchanged.ask(MailResource.PRODUCTS, **mail).json["products"][position - 1]

        card = ProductCard(shown["title"], shown["price_text"], 300)
        assert image.body == draw_product_card(card, PICTURE)
        assert shown["price_text"] == "€20.00"
        assert unchanged.linked(position=position, **mail) == unchanged.page(shown["id"])
        link = urlsplit(shown["link_url"])
        followed = unchanged.merchant.client.ask("GET", f"{link.path}?{link.query}")
        assert unchanged.page(shown["id"]) in (followed.header("location") or "")


def test_a_sold_out_product_is_replaced_and_the_others_stay(
    mailing: Mailing, host: PictureHost
) -> None:
    mail = {"user_id": "c-7", "campaign": "spring"}
    before = mailing.ids(**mail)
    second = before[1]

    assert mailing.merchant.push(product(host, second, stock_qty=0)).status == 200
    eventually(lambda: second not in mailing.new_ids())

    # Nobody has loaded the picture again, so the link leads to the one that it shows.
    assert mailing.linked(position=2, **mail) == mailing.page(second)
    assert mailing.ids(**mail) == [one for one in before if one != second]

    replaced = product(host, "kettle")
    assert mailing.merchant.push(replaced).status == 200
    eventually(lambda: "kettle" in mailing.new_ids())
    assert mailing.ids(**mail) == [before[0], "kettle", *before[2:]]
    # Another process knows it as soon as it is stored.
    eventually(lambda: mailing.linked(position=2, **mail) == mailing.page("kettle"))


def test_every_process_keeps_the_products_of_a_mail_when_other_products_sell(
    service: Service, mailing: Mailing
) -> None:
    mail = {"user_id": "c-7", "campaign": "spring"}
    before = mailing.ids(**mail)
    with service.database() as database:
        eventually(lambda: _count_choices(database, mailing))  # stored a moment later
    for number in range(9):
        mailing.merchant.order(f"o-{number}", before[-1], user_id=f"c-{number + 100}")
    service.train(mailing.merchant)

    eventually(lambda: mailing.new_ids()[0] == before[-1])

    for client in service.clients_of_every_worker():
        reply = client.ask("GET", mailing.path(MailResource.PRODUCTS, **mail))
        assert [one["id"] for one in reply.json["products"]] == before
        link = client.ask("GET", mailing.path(MailResource.LINK, position=1, **mail))
        assert mailing.page(before[0]) in (link.header("location") or "")


def test_a_cache_asks_again_for_an_unchanged_picture_and_gets_304(
    unchanged: Mailing,
) -> None:
    first = unchanged.ask(MailResource.IMAGE, campaign="spring")
    tag = first.header("etag") or ""

    again = unchanged.ask(MailResource.IMAGE, {"if-none-match": tag}, campaign="spring")

    assert (again.status, again.body) == (304, b"")
    assert first.header("cache-control") == "public, max-age=300, must-revalidate"


def test_only_the_right_signature_of_a_slot_that_is_on_opens_it(
    service: Service, mailing: Mailing
) -> None:
    other, off = Mailing(service.register()), Mailing(service.register())
    service.run("settings", off.merchant.account.domain, "mail_slots=false")
    eventually(lambda: off.ask(MailResource.PRODUCTS).status == 404)
    signature = mailing.paths[MailResource.IMAGE].partition("signature=")[2]
    key = mailing.merchant.account.publishable
    opened = [
        (off, f"newsletter?{off.paths[MailResource.IMAGE].partition('?')[2]}"),
        (other, f"newsletter?signature={signature}"),
        (mailing, f"receipt?signature={signature}"),
        (mailing, "newsletter?signature=%C3%A9"),
        (mailing, "newsletter?campaign=spring"),
    ]

    for one, address in opened:
        account = one.merchant.account
        own = {"x-pub-key": account.publishable}
        for part in (MailResource.IMAGE, MailResource.PRODUCTS):
            refused = one.merchant.client.ask(
                "GET", f"/v1/mail/{part}/{address}", None, own
            )
            assert refused.status == 404
            assert refused.json["code"] == "mail_slot_unknown"
        link = one.merchant.client.ask("GET", f"/v1/mail/link/{address}", None, own)
        assert link.header("location") == f"https://{account.domain}/"
    assert mailing.ask(MailResource.IMAGE, key=key).status == 200


@pytest.mark.parametrize(
    ("part", "parameters", "status"),
    [
        (MailResource.IMAGE, "width=119", 422),
        (MailResource.IMAGE, "width=801", 422),
        (MailResource.IMAGE, "width=1e9", 422),
        (MailResource.IMAGE, "position=0", 422),
        (MailResource.IMAGE, "position=13", 422),
        (MailResource.IMAGE, "position=12", 200),  # names the shop
        (MailResource.LINK, "position=-1", 422),
        (MailResource.LINK, "position=12&url=https://evil.example", 302),
        (MailResource.LINK, "item_ids=https://evil.example/", 302),
        (MailResource.LINK, "campaign=%0d%0aset-cookie:a=b&user_id=%00", 302),
        (MailResource.LINK, "campaign=" + 3_000 * "%F0%9F%98%80", 302),
        (MailResource.PRODUCTS, "user_id=" + 5_000 * "x", 200),
        (MailResource.PRODUCTS, "item_ids=" + 2_000 * "a,", 200),
        (MailResource.PRODUCTS, "identity=1.x&user_id=c-7", 200),
        (MailResource.PRODUCTS, "campaign=%FF%FE&user_id=%ED%A0%80", 200),
    ],
)
def test_hostile_parameters_open_nothing_else(
    unchanged: Mailing, part: MailResource, parameters: str, status: int
) -> None:
    reply = unchanged.merchant.client.ask("GET", f"{unchanged.path(part)}&{parameters}")

    assert reply.status == status
    assert reply.header("set-cookie") is None
    if part is MailResource.LINK and status == 302:
        target = urlsplit(reply.header("location") or "")
        assert target.netloc == unchanged.merchant.account.domain


def test_a_click_is_a_click_on_a_recommended_product_once(
    service: Service, mailing: Mailing
) -> None:
    mail = {"user_id": "c-7", "campaign": "spring", "position": 2}
    second = mailing.ids(**mail)[1]
    mailing.ask(MailResource.IMAGE, {"user-agent": GMAIL}, **mail)
    mailing.ask(MailResource.IMAGE, **mail)
    for _ in range(3):
        mailing.linked(**mail)
    mailing.linked(campaign="spring", position=2)  # its page counts it
    for part in (MailResource.LINK, MailResource.IMAGE):  # mail servers test addresses
        path = mailing.path(part, user_id="c-8", campaign="spring", position=2)
        assert mailing.merchant.client.ask("HEAD", path).body == b""
    mailing.merchant.order("o-1", {"item_id": second, "price": 20}, user_id="c-7")

    eventually(lambda: counts(service, mailing) == MailSlotCounts(1, 1, 4))
    target = "/integration/report?name=widgets&by=widget"
    server = mailing.merchant.server

    def row() -> dict[str, object]:
        report = mailing.merchant.client.ask("GET", target, None, server).json
        rows = [one for one in report["rows"] if one.get("widget") == "mail-newsletter"]
        return rows[0] if rows else {}

    eventually(lambda: row().get("clicked") == 1)
    assert row()["shown"] == 0  # a loaded picture is no view


@pytest.mark.parametrize(
    ("user_id", "counted_on_page"), [("c-7", []), (None, ["newsletter"])]
)
def test_the_page_counts_the_click_of_a_reader_whom_nobody_knows(
    unchanged: Mailing, user_id: str | None, counted_on_page: list[str]
) -> None:
    reader = {} if user_id is None else {"user_id": user_id}

    link = unchanged.ask(MailResource.LINK, campaign="spring", **reader)

    parameters = parse_qs(urlsplit(link.header("location") or "").query)
    assert parameters.get("pr_mail", []) == counted_on_page


def test_an_e_mail_address_counts_as_no_shopper_and_is_passed_on_nowhere(
    unchanged: Mailing,
) -> None:
    address = "anna%40example.com"
    reply = unchanged.ask(MailResource.PRODUCTS, user_id=address, campaign="spring")

    assert b"anna" not in reply.body
    assert unchanged.ids(campaign="spring") == [one["id"] for one in reply.json["products"]]
    link = unchanged.ask(MailResource.LINK, user_id=address, campaign="spring")
    assert "anna" not in (link.header("location") or "")


def test_a_mail_about_an_order_shows_none_of_its_products(unchanged: Mailing) -> None:
    about = unchanged.ids(item_ids="tent,rope", campaign="receipt")

    assert about
    assert not {"tent", "rope"} & set(about)


def test_a_removed_placement_leaves_the_mails_that_were_opened_and_names_the_shop_in_others(
    service: Service, mailing: Mailing
) -> None:
    opened = mailing.ids(campaign="opened")
    domain = mailing.merchant.account.domain
    service.run("placements", "remove", domain, "newsletter")
    unopened = (f"unopened-{number}" for number in itertools.count())  # opened ones stay
    eventually(
        lambda: mailing.ask(MailResource.PRODUCTS, campaign=next(unopened)).status == 404
    )

    assert mailing.linked(campaign="opened") == mailing.page(opened[0])
    shop = mailing.ask(MailResource.IMAGE, campaign="newer", width=300)
    assert shop.body == draw_product_card(ProductCard(domain, "", 300), b"")
    assert mailing.linked(campaign="newer") == f"https://{domain}/"
