"""Bots: what they send is stored, and changes no list, test, quota or count."""

import time
from collections.abc import Mapping
from functools import partial

import pytest
import sqlalchemy as sa

from productrecs.records.events.event import INHUMAN_RATE
from productrecs.storage.sql.tables import (
    bot_events,
    event_session,
    events,
    exposures,
    metered_calls,
    search_counts,
)
from tests.support.service import Merchant, Reply, Service, eventually

VIEWS = 200
GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36"


class WithHeaders:
    """A connection that sends some headers with each request."""

    def __init__(self, merchant: Merchant, **headers: str) -> None:
        self._client, self._headers = merchant.client, headers

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request and return its reply."""
        return self._client.ask(method, target, body, {**(headers or {}), **self._headers})


def as_agent(merchant: Merchant, agent: str) -> Merchant:
    return merchant.through(WithHeaders(merchant, **{"user-agent": agent}))


def a_shop(service: Service, **settings: str) -> Merchant:
    """Return a store with a little of everything that lists are made of."""
    merchant = service.register(**settings)
    merchant.push(*({"id": f"i{n}", "title": f"Tent {n}"} for n in range(8)))
    for n in range(12):
        for item in (n % 4, (n + 1) % 4):
            merchant.track(
                {"event": "detail-page-view", "item_id": f"i{item}", "session_id": f"v{n}"}
            )
    for n in range(3):
        merchant.order(f"o{n}", "i0", "i1", user_id=f"c{n}")
    service.train(merchant)
    eventually(lambda: lists(merchant)[1] == ["i1"])
    return merchant


def lists(merchant: Merchant) -> list[list[str]]:
    """Return lists of every source, which nobody's own history changes."""
    return [
        merchant.trending(num=8).ids,
        merchant.recommend(source="buy", item_id="i0").ids,
        merchant.recommend(source="browse", item_id="i2", num=8).ids,
        merchant.recommend(item_id="i3", num=8).ids,
        merchant.recommend(num=8).ids,
    ]


def crawl(merchant: Merchant, session: str | None) -> None:
    """View products that nobody views, in a second or two."""
    for n in range(VIEWS):
        merchant.track(
            {
                "event": "detail-page-view",
                "item_id": f"i{5 + n % 3}" if n % 2 else "i3",
                "session_id": session or f"crawl{n // 2}",
            }
        )


def counted(service: Service, merchant: Merchant, table: sa.Table) -> int:
    with service.database() as database, database.reading() as connection:
        query = sa.select(sa.func.count()).where(
            table.c.store_id == merchant.account.store_id
        )
        return int(connection.execute(query).scalar_one())


def test_200_views_of_one_bot_change_no_list(service: Service) -> None:
    merchant = a_shop(service)
    before, stored = lists(merchant), counted(service, merchant, events)

    for agent in (GOOGLE, CHROME):
        crawl(as_agent(merchant, agent), "s_crawl")
    service.train(merchant)
    time.sleep(0.5)  # a process maps a new model within 200 ms

    assert lists(merchant) == before
    assert counted(service, merchant, events) == stored
    assert counted(service, merchant, bot_events) == 2 * VIEWS
    target = "/integration/report?name=health"
    report = merchant.client.ask("GET", target, None, merchant.server).json
    figures = {one["name"]: one["value"] for one in report["figures"]}
    assert figures["bot_events"] == 2 * VIEWS
    assert report["notes"][0] == (
        f"Bots of the last 7 days: Googlebot ({VIEWS}), {INHUMAN_RATE} ({VIEWS})."
    )

    crawl(as_agent(merchant, CHROME), None)  # the control: the same views of many people
    service.train(merchant)
    eventually(lambda: lists(merchant) != before)


def test_calls_of_a_crawler_are_metered_but_in_no_test_or_search_report(
    service: Service,
) -> None:
    """A user agent with "bot" in it made every call free."""
    merchant = service.register(holdout_percent="50")
    merchant.push({"id": "i0", "title": "Tent"}, {"id": "i1", "title": "Tent 2"})
    calls = 0
    for there in service.everywhere(merchant):
        crawler = as_agent(there, GOOGLE)
        eventually(partial(_shows, crawler, 2))
        for n in range(12):
            assert crawler.recommend(user_id=f"s_{n}", num=2).ids  # nobody is held out
            assert crawler.recommend(customer_id=f"s_{n}", fallback="declared route").ids
            calls += 2
        eventually(partial(_finds, crawler))
        crawler.search("tent 2", user_id="s_1", num=3, offset=0)
        calls += 1
    person = as_agent(merchant, CHROME)
    person.recommend(user_id="s_person", num=2)
    person.search("tent 7", user_id="s_person")

    # the calls that waited for the catalog and the index count too
    eventually(lambda: _metered(service, merchant) >= calls + 2)
    eventually(lambda: counted(service, merchant, exposures) == 1)
    eventually(lambda: counted(service, merchant, search_counts) == 1)


def test_31_requests_with_somebodys_number_move_none_of_their_lists(
    service: Service,
) -> None:
    merchant = a_shop(service)
    for n in range(4):
        view = {"event": "detail-page-view", "item_id": f"i{n}", "user_id": "7"}
        merchant.track(view | {"session_id": "s_of-7"})
    calls = (
        {"user_id": "7"},
        {"customer_id": "7", "user_id": "s_of-7"},
        {"customer_id": "7", "identity": merchant.identity("7")},
        {"user_id": "s_of-7"},
    )

    def personal() -> list[list[str]]:
        return [merchant.recommend(num=3, source="browse", **call).ids for call in calls]

    before, stored = personal(), counted(service, merchant, events)

    attacker = WithHeaders(merchant, **{"x-forwarded-for": "9.9.9.9"})
    elsewhere = merchant.through(attacker)

    def attack(**fields: str) -> None:
        for _ in range(60):
            elsewhere.track({"event": "add-to-cart", "item_id": "i7"} | fields)

    attack(session_id="7")
    attack(user_id="7", session_id="s_x")
    assert counted(service, merchant, bot_events) == 2 * 60  # the control
    stranger, anonymous = {"user_id": "s_x"}, dict[str, str]()
    lists = [
        elsewhere.recommend(num=3, source="browse", **call).ids
        for call in (anonymous, stranger, anonymous)
    ]
    assert lists[1] in (lists[0], lists[2])  # a training may come in between
    assert counted(service, merchant, events) == stored
    assert personal() == before

    attack(user_id="7")  # without a session nothing is taken along
    assert counted(service, merchant, bot_events) == pytest.approx(3 * 60 - 30, abs=2)
    assert counted(service, merchant, events) == pytest.approx(stored + 30, abs=2)
    with service.database() as database, database.reading() as connection:
        query = sa.select(sa.func.count()).where(
            events.c.store_id == merchant.account.store_id,
            sa.literal_column(event_session(), sa.Text) == "s_of-7",
        )
        assert connection.execute(query).scalar() == 4


def _shows(merchant: Merchant, products: int) -> bool:
    return len(merchant.trending().ids) == products


def _finds(merchant: Merchant) -> bool:
    return bool(merchant.search("tent", user_id="s_1").ids)


def _metered(service: Service, merchant: Merchant) -> int:
    with service.database() as database, database.reading() as connection:
        query = sa.select(sa.func.sum(metered_calls.c.calls)).where(
            metered_calls.c.store_id == merchant.account.store_id
        )
        return int(connection.execute(query).scalar() or 0)
