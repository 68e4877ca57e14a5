"""Load shedding: what is rejected under overload, and when it ends."""

import asyncio
import time
from collections import Counter
from pathlib import Path

from productrecs.http.limits.load_shedding import (
    LAG_SECONDS,
    MIN_SERVED,
    OVERLOADED_AFTER_SECONDS,
    PROBE_SECONDS,
    SERVE_SECONDS,
    LoadShedder,
)
from productrecs.http.transport.connection import FastPathHandler
from productrecs.http.transport.request_parser import RequestHeaders
from productrecs.services import build_services
from productrecs.settings import Settings
from tests.api.inside import Inside, of_our_own
from tests.support.service import Merchant, Reply, Service


def late(pressure: LoadShedder, seconds: float, until: float, now: float = 0.0) -> None:
    """Let each look be late by so many seconds."""
    while now < until:
        now += PROBE_SECONDS + seconds
        pressure.record_probe(now, seconds)


def test_turns_that_are_all_late_for_a_second_are_being_behind() -> None:
    pressure = LoadShedder()

    pressure.record_probe(60.0, 60.0)
    assert not pressure.is_overloaded  # one long turn is no overload, however long

    late(pressure, LAG_SECONDS, 60.0 + 2 * OVERLOADED_AFTER_SECONDS, 60.0)
    assert pressure.is_overloaded


def test_one_quick_turn_is_enough_to_be_on_time_again() -> None:
    pressure = LoadShedder()
    late(pressure, 1.0, 3.0)
    assert pressure.is_overloaded

    pressure.record_probe(4.0, LAG_SECONDS / 2)

    assert not pressure.is_overloaded


class Turns:
    """A process behind with its work, whose clock a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pressure = LoadShedder(lambda: self.now)
        late(self.pressure, 1.0, 3.0)
        self.begin()

    def begin(self, late: float = LAG_SECONDS) -> None:
        """Begin a turn."""
        self.now += 10.0
        self.pressure.record_probe(self.now, late)

    def grow_old(self) -> None:
        """Let the turn last for as long as it gives lists to everybody."""
        self.now += SERVE_SECONDS * 1.01


def test_a_turn_gives_lists_for_as_long_as_the_next_may_wait_for_it() -> None:
    turns = Turns()

    assert not any(
        turns.pressure.count_and_decide_rejection("only") for _ in range(10 * MIN_SERVED)
    )
    turns.grow_old()
    assert turns.pressure.count_and_decide_rejection("only")


def test_who_refuses_in_quick_turns_stays_behind_until_one_has_refused_nothing() -> None:
    turns = Turns()
    turns.grow_old()
    assert (
        sum(
            turns.pressure.count_and_decide_rejection("only") for _ in range(MIN_SERVED + 1)
        )
        == 1
    )

    turns.begin(late=0.0)  # quick, because it refused
    assert turns.pressure.is_overloaded

    turns.begin(late=0.0)
    assert not turns.pressure.is_overloaded


def test_a_store_that_asks_for_much_is_refused_and_the_others_are_not() -> None:
    turns, refused = Turns(), Counter[str]()
    turns.grow_old()

    for _ in range(50):
        for store in ["large"] * 20 + ["small", "other"]:
            refused[store] += turns.pressure.count_and_decide_rejection(store)

    assert refused["large"] > 900
    assert refused["small"] + refused["other"] <= 2


def test_a_quiet_store_whose_calls_come_first_in_a_turn_is_not_refused() -> None:
    """What the loud one asked for in the turns before still counts."""
    turns = Turns()
    pressure, now = turns.pressure, turns.now
    for _ in range(2):
        turns.grow_old()
        for _ in range(20 * MIN_SERVED):
            pressure.count_and_decide_rejection("loud")
        now = turns.now = now + LAG_SECONDS
        pressure.record_probe(now, LAG_SECONDS)
    turns.grow_old()

    assert not any(
        pressure.count_and_decide_rejection("quiet") for _ in range(2 * MIN_SERVED)
    )
    assert pressure.count_and_decide_rejection("loud")


def test_old_requests_do_not_count() -> None:
    turns = Turns()
    turns.grow_old()
    for _ in range(20 * MIN_SERVED):
        turns.pressure.count_and_decide_rejection("once loud")
    turns.begin()  # ten seconds later
    turns.grow_old()

    assert [
        turns.pressure.count_and_decide_rejection("only") for _ in range(2 * MIN_SERVED)
    ] == MIN_SERVED * [False] + (MIN_SERVED * [True])


def test_a_store_alone_is_refused_but_the_first_few_of_a_turn() -> None:
    turns = Turns()

    for _ in range(2):
        turns.grow_old()
        assert not any(
            turns.pressure.count_and_decide_rejection("only") for _ in range(MIN_SERVED)
        )
        assert all(turns.pressure.count_and_decide_rejection("only") for _ in range(10))
        turns.begin()


def test_the_loop_itself_says_how_late_it_is() -> None:
    async def behind_after(stall: float) -> bool:
        pressure = LoadShedder()
        watching = asyncio.create_task(pressure.measure_lag_periodically())
        await asyncio.sleep(0)
        for _ in range(4):
            time.sleep(stall)
            await asyncio.sleep(PROBE_SECONDS / 10)
        watching.cancel()
        return pressure.is_overloaded

    assert asyncio.run(behind_after(OVERLOADED_AFTER_SECONDS / 2))


def at_once(answer: FastPathHandler, target: str, accept: str) -> Reply:
    """Return what the short way says."""
    came = RequestHeaders.of([(b"host", b"127.0.0.1"), (b"accept", accept.encode())])
    head, _, body = (answer(target.encode(), came, "") or b"").partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    named = [line.partition(": ")[::2] for line in lines]
    return Reply(int(status.split()[1]), named, body)


def constant_parts(reply: Reply) -> tuple[object, ...]:
    """Return all of a refusal that does not change from call to call."""
    passing = {"x-request-id", "retry-after"}
    lines = [(name, "" if name in passing else value) for name, value in reply.headers]
    return reply.status, lines, {**reply.json, "request_id": ""}


def test_an_unparsed_request_shows_its_store(data_folder: Path) -> None:
    account = Service(data_folder).prepare().register().account
    gate = of_our_own(build_services(Settings(data=data_folder)))
    key, ours = account.publishable, account.store_id
    heads = {
        f"GET /v1/recommendations?item_id=a&key={key} HTTP/1.1\r\n\r\n": ours,
        f"GET /v1/search?key={key}&q=tent HTTP/1.1\r\n\r\n": ours,
        f"GET /v1/search?q=tent HTTP/1.1\r\nX-Pub-Key: {key}\r\n\r\n": ours,
        f"GET /v1/search?q=tent HTTP/1.1\r\nReferer: /?monkey={key}\r\n\r\n": "",
        "GET /v1/search?key=pk_unknown HTTP/1.1\r\n\r\n": "",
        f"GET /v1/search?key={account.secret} HTTP/1.1\r\n\r\n": "",
        "GET /v1/search HTTP/1.1\r\n\r\n": "",
    }
    with Inside(gate):
        stores = {
            head: gate.fast_path.store_id_of_unparsed_request(head.encode())
            for head in heads
        }

    assert stores == heads


def test_lists_are_refused_with_503_and_writes_are_stored(data_folder: Path) -> None:
    account = Service(data_folder).prepare().register().account
    gate = of_our_own(build_services(Settings(data=data_folder)))
    with Inside(gate) as inside:
        shop = Merchant(account, inside)
        gate.load_shedder.record_probe = lambda *_: None  # type: ignore[method-assign]  # it stays so
        gate.load_shedder.is_overloaded = True
        time.sleep(SERVE_SECONDS)  # the turn grows old, and is the last
        assert shop.trending().status == 200  # one of the few of each turn
        for _ in range(MIN_SERVED):
            gate.load_shedder.count_and_decide_rejection(account.store_id)

        target = shop.target("/v1/recommendations", item_id="a")
        short = {
            accept: at_once(gate.fast_path.try_reply_and_meter, target, accept)
            for accept in ("*/*", "application/problem+json")
        }
        by_the_gate = {
            accept: inside.ask("GET", target, None, {"accept": accept}) for accept in short
        }
        refused = [shop.recommend(item_id="a"), shop.trending(), shop.search("tent")]
        kept = [
            shop.push({"id": "a"}),
            shop.track({"event": "add-to-cart", "item_id": "a", "session_id": "s"}),
            shop.order("A-1", "a"),
        ]
        gate.load_shedder.is_overloaded = False
        after = shop.recommend(item_id="a")

    assert [constant_parts(reply) for reply in short.values()] == [
        constant_parts(reply) for reply in by_the_gate.values()
    ]
    for reply in [*refused, *short.values()]:
        assert (reply.status, reply.json["code"]) == (503, "overloaded")
        assert (reply.header("retry-after") or "").isdigit()
        assert reply.header("access-control-allow-origin") == "*"
    assert {reply.status for reply in [*kept, after]} == {200}
