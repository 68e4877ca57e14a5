"""Events page: each event appears with its verdict, from every process, while one looks."""

import json
import re

import pytest

from productrecs.features.live_events.live_event import LiveEvent, LiveEventVerdict
from productrecs.features.live_events.repository import (
    MAX_EVENTS,
    RETENTION_MS,
    LiveEventRepository,
    watched_stores,
)
from productrecs.http.pipeline.live_view_recorder import LiveViewRecorder
from productrecs.serving.writes.background_writes import BackgroundWriter
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import rotate_secret
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_store, text_of
from tests.support.service import Reply, eventually

PAGE = "/dashboard/events"
VIEW = {"event": "detail-page-view", "item_id": "tent", "session_id": "s_1"}


BUY = {**VIEW, "event": "buy", "value": 5, "currency": "EUR"}


def search(session: str, words: str = "tents", **more: str) -> dict[str, str]:
    """Return the event of a search."""
    one = {"event": "search-pref", "search_query": words, "session_id": session}
    return one | more


def send(
    office: Office, store: Store, body: object, agent: str = "", origin: str = ""
) -> Reply:
    """Send events as a shop's page does."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    path = f"/v1/events?key={store.publishable_key}"
    sent = {"content-type": "text/plain", "user-agent": agent}
    if origin:
        sent["origin"] = origin
    return office.inside.ask("POST", path, data, sent)


def lines(member: Member, query: str = "") -> list[str]:
    """Return the events on the page, as text, the newest first."""
    page = member.get(f"{PAGE}?{query}").body.decode()
    rows = re.findall(r"<li>(.*?)</li>", page.partition('id="stream"')[2], re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]


def awaited(member: Member, count: int) -> list[str]:
    """Return the events once so many were recorded."""
    eventually(lambda: len(recorded(member)) >= count, 8, 0.1)
    return lines(member)


def recorded(member: Member) -> list[str]:
    """Return the events that the stream adds to a page."""
    asking = Member(member.client, member.cookies, {"hx-request": "true"})
    return re.findall(r"<li>", asking.get(f"{PAGE}?after=").body.decode())


def test_events_appear_with_their_verdicts(office: Office, store: Store) -> None:
    member = office.member(store)
    assert "Nothing has come yet" in text_of(member.get(PAGE))
    named = {**VIEW, "event_id": "e-1"}
    for body in (
        VIEW,
        BUY,
        search("s_2"),
        {**VIEW, "event": "detail-page-watch"},
        [search("s_3", "ok"), {"event": "buy"}],
        b"{broken",
        search("s_4", timestamp="2020-01-01"),
        {**search("s_5"), "user_id": "7", "identity": "1." + 64 * "0"},
        named,
    ):
        send(office, store, body)
        office.now_ms += 5
    send(office, store, named)

    seen = awaited(member, 11)
    text = "\n".join(reversed(seen))

    assert [verdict_of(one) for one in reversed(seen)] == [
        "Unknown product",
        "No order id",
        "Accepted",
        "Invalid",
        "Not stored",
        "Invalid",
        "Invalid",
        "Wrong time",
        "Wrong signature",
        "Unknown product",
        "Duplicate",
    ]
    assert "is not in your catalog" in text
    assert "Send order_id with each purchase" in text
    assert "a second time when a shopper leaves the page" in text
    assert "its signature is not that of this id" in text
    assert "&#34;search_query&#34;: &#34;tents&#34;" in member.get(PAGE).body.decode()
    assert len(lines(member, "kind=search-pref")) == 4
    assert len(lines(member, "session=s_1&verdict=no_order_id")) == 1
    assert len(lines(member, "item=tents")) == 3


def test_a_second_purchase_of_an_order_and_product_replaces_the_first(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    member.get(PAGE)
    first = {**BUY, "order_id": "1001"}
    send(office, store, [first, first])
    office.now_ms += 5
    send(office, store, first)
    send(office, store, {**first, "order_id": "1002"})
    send(office, store, {**first, "item_id": "stove"})

    seen = [verdict_of(one) for one in awaited(member, 5)]

    assert seen.count("Replaces a purchase") == 2
    assert seen.count("Unknown product") == 3
    assert len(lines(member, "verdict=buy_again")) == 2


def test_events_that_came_before_the_page_was_opened_are_listed(
    office: Office, store: Store
) -> None:
    shown = {"event": "rec-impression", "item_ids": ["tent", "stove"], "session_id": "s_9"}
    for body in (VIEW, search("s_8"), shown):
        assert send(office, store, body).status == 200
        office.now_ms += 5
    member = office.member(store)

    seen = lines(member, "")

    unknown = "Unknown product"
    assert [verdict_of(one) for one in seen] == [unknown, "Accepted", unknown]
    assert "tent, stove" in seen[0], "one impression is one event"
    assert "tents" in seen[1]
    assert len(lines(member, "session=s_8")) == 1
    assert not lines(member, "verdict=bot")
    assert not lines(member, "mine=on")
    office.now_ms += 10_000
    send(office, store, search("s_7"))
    assert len(awaited(member, 1)) == 4, "a recorded event is not listed twice"


def test_an_order_that_came_before_the_page_was_open_is_there_once(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    key = rotate_secret(office.services.database, store)
    sent = {"session_id": "s_1", "items": [{"item_id": "tent"}, {"item_id": "lamp"}]}

    def order(order_id: str) -> None:
        body = json.dumps({**sent, "order_id": order_id}).encode()
        path, headers = "/v1/orders", {"x-api-key": key}
        eventually(lambda: office.inside.ask("POST", path, body, headers).status == 200)

    order("A-1")
    (before,) = lines(member, "kind=order")
    assert "tent, lamp" in before
    assert lines(member, "item=lamp") == lines(member, "session=s_1") == [before]
    assert lines(member, "item=other") == lines(member, "kind=buy") == []

    order("A-2")  # while the page is open

    eventually(lambda: len(recorded(member)) >= 1, 8, 0.1)
    assert len(lines(member, "kind=order")) == 2


def test_orders_appear_beside_events_with_their_verdicts(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    member.get(PAGE)
    shown = {"order_id": "A-1", "user_id": "anna", "items": [{"item_id": "tent"}]}
    path = "/v1/orders"

    def order(body: object, key: str = store.publishable_key) -> int:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        office.now_ms += 5
        return office.inside.ask("POST", f"{path}?key={key}", data, {}).status

    statuses = [
        order(shown),
        order(shown),
        order({**shown, "order_id": "A-2", "user_id": ""}),
        order({**shown, "order_id": ""}),
        order({**shown, "items": []}),
        order(b"{broken"),
        order({**shown, "order_id": "A-3", "identity": "1.0"}),
    ]
    seen = list(reversed(awaited(member, 7)))

    assert statuses == [200, 200, 200, 422, 422, 422, 200]
    assert [verdict_of(one) for one in seen] == [
        "Unknown product",
        "Duplicate",
        "No shopper",
        "Invalid",
        "Invalid",
        "Invalid",
        "Wrong signature",
    ]
    assert "Order A-1." in seen[0]
    assert "counts once" in seen[1]
    assert len(lines(member, "kind=order&verdict=no_shopper")) == 1
    assert len(lines(member, "item=tent&kind=order")) == 5


def verdict_of(line: str) -> str:
    """Return the badge of a line."""
    known = ("Unknown product", "No order id", "Accepted", "Invalid", "Not stored")
    others = ("Wrong time", "Duplicate", "Other origin", "Key refused", "No shopper")
    more = ("Wrong signature", "Replaces a purchase")
    return next(one for one in (*known, *others, *more) if f" {one} " in f"{line} ")


def test_refused_origins_and_keys_are_shown(office: Office, store: Store) -> None:
    member = office.member(store)
    listed = {"origin": "https://shop.example"}
    member.post("/dashboard/account/origins/add", page="/dashboard/account", **listed)
    lines(member)

    send(office, store, VIEW, origin="https://elsewhere.example")
    wrong = {"content-type": "text/plain", "origin": f"https://{store.domain}"}
    office.inside.ask("POST", "/v1/events?key=pk_wrong", b"{}", wrong)

    seen = "\n".join(awaited(member, 2))
    assert "Key refused" in seen
    assert "Other origin" in seen


def test_only_what_came_since_is_sent_again(office: Office, store: Store) -> None:
    member = office.member(store)
    lines(member)
    send(office, store, VIEW)
    awaited(member, 1)
    page = member.get(PAGE).body.decode()
    poll = re.search(r'id="poll" hx-get="([^"]+)"', page)
    assert poll is not None
    member.headers = {"hx-request": "true"}

    address = poll[1].replace("&amp;", "&")
    none = member.get(address)
    send(office, store, {**VIEW, "session_id": "s_later"})
    eventually(lambda: b"s_later" in member.get(address).body, 8, 0.1)
    later = member.get(address).body.decode()

    assert b"<li>" not in none.body
    assert later.count("<li>") == 1
    assert 'hx-swap-oob="true"' in later


def test_a_filter_shows_only_events_of_my_browser(office: Office, store: Store) -> None:
    member = Member(office.inside, headers={"user-agent": "Mine/1"})
    member.log_in(f"owner@{store.domain}")
    lines(member)
    send(office, store, VIEW, agent="Mine/1")
    send(office, store, VIEW, agent="Other/2")

    assert len(awaited(member, 2)) == 2
    assert len(lines(member, "mine=on")) == 1


def test_events_are_not_recorded_while_the_page_is_closed(
    office: Office, store: Store
) -> None:
    other = add_store(office.services, f"other-{office.now_ms}.example")
    member = office.member(store)
    lines(member)
    send(office, other, VIEW)
    send(office, store, VIEW)
    awaited(member, 1)

    assert recorded(office.member(other)) == []


def test_a_watch_ends_and_every_process_follows(office: Office, store: Store) -> None:
    database = office.services.database
    watch = LiveViewRecorder(database, BackgroundWriter(database), lambda: office.now_ms)
    watch.watch_store(store.store_id)
    reader = database.raw_reader()
    assert store.store_id in watched_stores(reader, office.now_ms)
    assert store.store_id not in watched_stores(reader, office.now_ms + 121_000)
    reader.close()


def event_at(at_ms: int) -> LiveEvent:
    return LiveEvent(at_ms, LiveEventVerdict.ACCEPTED, "buy", "s", "tent", "c", "", "{}")


@pytest.mark.parametrize("per_batch", [1, 7, 600])
def test_so_many_are_stored_and_no_more(
    office: Office, store: Store, per_batch: int
) -> None:
    now, total = office.now_ms, MAX_EVENTS + 60
    for start in range(0, total, per_batch):
        with office.services.database.transaction() as transaction:
            repository = LiveEventRepository(transaction, store.store_id)
            end = min(total, start + per_batch)
            repository.add_and_delete_old(
                [event_at(now + one) for one in range(start, end)]
            )

    with office.services.database.reading() as connection:
        repository = LiveEventRepository(connection, store.store_id)
        found = repository.latest_recorded(now + total)
        assert repository.latest_recorded(now + total + RETENTION_MS) == []
    assert len(found) == MAX_EVENTS
    assert found[0].at_ms == now + total - 1


def test_nothing_is_missed_between_two_polls_of_one_millisecond(
    office: Office, store: Store
) -> None:
    after, counts = "", []
    for earlier in (0, 0, 5, 0, 900):
        with office.services.database.transaction() as transaction:
            repository = LiveEventRepository(transaction, store.store_id)
            repository.add_and_delete_old([event_at(office.now_ms - earlier)])
            came = repository.latest_recorded(office.now_ms, after)
        counts.append(len(came))
        after = came[0].entry_id
    assert counts == [1, 1, 1, 1, 1]
