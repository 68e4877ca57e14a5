"""Bot detection: crawlers and inhuman rates are bots; people and shops' servers are not."""

import time
from typing import Any

import pytest

from productrecs.core.ids import StoreId
from productrecs.http.limits.bot_detection import (
    BURST,
    FLAGGED_SECONDS,
    BotDetector,
    crawler_name,
)
from productrecs.records.events.event import INHUMAN_RATE, EventKind, NewEvent
from productrecs.tenancy.accounts.key_misuse.repository import KeyMisuse, MisuseKind

CRAWLERS = {
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; "
    "+http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36": "bingbot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; "
    "+https://openai.com/gptbot)": "GPTBot",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)": "AhrefsBot",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1)": "Applebot",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "HeadlessChrome/129.0.0.0 Safari/537.36": "HeadlessChrome",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": (
        "facebookexternalhit"
    ),
    "Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 PhantomJS/2.1.1": "PhantomJS",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)": (
        "Slurp"
    ),
    "Mozilla/5.0 (compatible; Nimbostratus/1.3; +http://cloud.example/info)": (
        "Nimbostratus"
    ),
}
PEOPLE = (
    "",
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0"
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1.15 (KHTML, "
        "like Gecko) Version/18.0 Safari/605.1.15"
    ),
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 "
        "(KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/489.0.0.44.70]"
    ),
    (
        "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) "
        "SamsungBrowser/26.0 Chrome/122.0.0.0 Mobile Safari/537.36"
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; CUBOT X30) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/129.0.0.0 Mobile Safari/537.36"
    ),
    (
        "Mozilla/5.0 (Linux; Android 13; wv) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Version/4.0 Chrome/129.0.0.0 Mobile Safari/537.36 Instagram 352.0.0.38.100"
    ),
    # Meta's browser, which public lists of crawlers take for one.
    (
        "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Version/4.0 "
        "Chrome/146.0.7680.174 Mobile Safari/537.36 MetaIAB Facebook"
    ),
    "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1.32052/29.3709; U; en) Presto/2.8.119",
    # A shop's server may send events by any of these.
    "python-requests/2.32.3",
    "python-httpx/0.28.1",
    "GuzzleHttp/7",
    "okhttp/4.12.0",
    "Go-http-client/2.0",
    "axios/1.7.7",
    "curl/8.5.0",
    "WordPress/6.6; https://shop.example",
    "service-recommender/1.0",
)
STORE, OTHER = StoreId("st_one"), StoreId("st_other")
BROWSER = {b"user-agent": PEOPLE[1].encode(), b"origin": b"https://shop.example"}


class Caller:
    """A detector with a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.misuses: list[KeyMisuse] = []
        self.detector = BotDetector(
            self.misuses.append, lambda: 1_772_366_400_000, lambda: self.now
        )

    def send(
        self,
        *events: NewEvent,
        store: StoreId = STORE,
        headers: dict[bytes, bytes] | None = None,
    ) -> list[str | None]:
        """Send one request; return the bot of each of its events."""
        groups = [[event] for event in events]
        marked = self.detector.count_actions_and_mark_bots(
            store, groups, headers or BROWSER
        )
        return [event.bot for group in marked for event in group]

    def act(self, times: int, seconds: float, **facts: Any) -> list[str | None]:
        """Send views, one a request, evenly over the seconds."""
        bots = []
        for _ in range(times):
            bots += self.send(view(**facts))
            self.now += seconds / times
        return bots


def view(**facts: Any) -> NewEvent:
    facts = {"session_id": "s_1"} | facts
    return NewEvent(EventKind.DETAIL_PAGE_VIEW, item_id="tent", **facts)


@pytest.mark.parametrize(("agent", "name"), CRAWLERS.items())
def test_crawlers_and_automated_browsers_are_named(agent: str, name: str) -> None:
    assert crawler_name(agent.encode()) == name


@pytest.mark.parametrize("agent", PEOPLE)
def test_browsers_apps_and_shops_servers_are_no_crawlers(agent: str) -> None:
    assert crawler_name(agent.encode()) is None


def test_all_events_of_a_crawler_are_marked_but_its_purchases() -> None:
    headers = {b"user-agent": b"Googlebot/2.1"}
    buy = NewEvent(EventKind.BUY, item_id="tent", order_id="A-1", session_id="s_1")
    shown = NewEvent(EventKind.REC_IMPRESSION, item_id="tent", session_id="s_1")

    assert Caller().send(view(), buy, shown, headers=headers) == [
        "Googlebot",
        None,
        "Googlebot",
    ]


@pytest.mark.parametrize(
    ("times", "seconds", "bots"),
    [
        (BURST, 0.0, 0),  # a browser that restores its tabs
        (200, 5.0, 200 - 31),  # a crawler
        (300, 600.0, 0),  # a view every two seconds, for ten minutes
        (400, 200.0, 400 - 60),  # two a second
        (1_000, 1_000.0, 0),  # one a second is the limit
    ],
)
def test_a_rate_is_inhuman_beyond_a_burst_and_one_action_a_second(
    times: int, seconds: float, bots: int
) -> None:
    marks = Caller().act(times, seconds)

    assert marks.count(None) == pytest.approx(times - bots, abs=2)
    assert set(marks) - {None} == ({INHUMAN_RATE} if bots else set())
    assert marks == sorted(marks, key=bool)  # once recognised, everything is marked


def test_a_recognised_shopper_stays_marked_for_a_day_and_is_shown_once() -> None:
    caller = Caller()
    caller.act(100, 1.0)

    caller.now += FLAGGED_SECONDS - 100
    shown = NewEvent(EventKind.REC_IMPRESSION, item_id="tent", session_id="s_1")
    assert caller.send(view(), shown) == [INHUMAN_RATE] * 2
    caller.now += 200
    assert caller.send(view()) == [None]
    assert [(one.kind, one.value) for one in caller.misuses] == [
        (MisuseKind.INHUMAN_RATE, "https://shop.example")
    ]


THEIRS, OURS = "9.9.9.1", "9.9.9.2"
CUSTOMER = {"user_id": "7", "session_id": "s_of-7", "network": OURS}


@pytest.mark.parametrize(
    "claim",
    [
        {"user_id": "7", "session_id": "s_x", "network": THEIRS},
        {"user_id": "7", "session_id": "s_x", "network": OURS},
        {"user_id": "7", "session_id": None, "network": THEIRS},
        {"user_id": "7", "session_id": None, "network": OURS},
        {"user_id": None, "session_id": "7", "network": THEIRS},
    ],
)
def test_who_only_knows_a_customers_number_cannot_make_them_a_bot(
    claim: dict[str, Any],
) -> None:
    caller = Caller()
    assert INHUMAN_RATE in caller.act(2 * BURST, 1.0, **claim)
    assert caller.send(view(**claim)) == [INHUMAN_RATE]  # the control

    assert caller.send(view(**CUSTOMER)) == [None]
    for query in (
        {"customer_id": "7", "user_id": "s_of-7"},
        {"user_id": "7"},
        {"user_id": "7", "session_id": "s_of-7"},
        {"user_id": "s_of-7"},
    ):
        assert not caller.detector.is_flagged(STORE, query, OURS)


def test_a_fast_session_is_flagged_in_lists_and_after_it_signs_in() -> None:
    caller = Caller()
    caller.act(2 * BURST, 1.0, network=THEIRS)

    assert caller.send(view(user_id="7", network=THEIRS)) == [INHUMAN_RATE]
    for query in ({"user_id": "s_1"}, {"customer_id": "7", "user_id": "s_1"}):
        assert caller.detector.is_flagged(STORE, query, THEIRS)
        assert not caller.detector.is_flagged(STORE, query, OURS)
        assert not caller.detector.is_flagged(OTHER, query, THEIRS)
    assert not caller.detector.is_flagged(STORE, {"user_id": "s_2"}, THEIRS)


def test_a_signed_identity_is_never_a_bot_by_its_rate() -> None:
    caller = Caller()

    assert set(caller.act(200, 1.0, user_id="7", signed=True)) == {None}
    assert INHUMAN_RATE in caller.act(200, 1.0, user_id="7")
    assert caller.send(view(user_id="7", signed=True)) == [None]


def test_an_array_counts_once_and_impressions_and_purchases_do_not() -> None:
    caller = Caller()
    shown = NewEvent(EventKind.REC_IMPRESSION, item_id="tent", session_id="s_1")
    buy = NewEvent(EventKind.BUY, item_id="tent", order_id="A-1", session_id="s_1")

    bots = caller.send(*[view()] * 500)
    for _ in range(200):
        bots += caller.send(shown) + caller.send(buy)

    assert set(bots) == {None}


def test_shoppers_and_stores_are_counted_apart() -> None:
    caller = Caller()

    bots = [
        mark
        for n in range(2 * BURST)
        for mark in (
            *caller.send(view(session_id=f"s_{n}")),
            *caller.send(view(session_id="s_both"), store=(STORE, OTHER)[n % 2]),
        )
    ]

    assert set(bots) == {None}


def test_a_hostile_agent_costs_no_time() -> None:
    began = time.perf_counter()

    for letter in (b"a", b"http", b"(", b"bo", b"a."):
        crawler_name(letter * 100_000)

    assert time.perf_counter() - began < 0.1
