"""What does a process let go when it is behind, and when does it take all again?"""

import asyncio
import time
from collections import Counter
from pathlib import Path

from productrecs.entrypoints.http.pressure import (
    BEHIND_SECONDS,
    FEW,
    LATE_SECONDS,
    LOOK_SECONDS,
    Pressure,
)
from productrecs.entrypoints.services import build_services
from productrecs.settings import Settings
from tests.api.inside import Inside, of_our_own
from tests.support.service import Merchant, Service


def late(pressure: Pressure, seconds: float, until: float, now: float = 0.0) -> None:
    """Let each look be late by so many seconds."""
    while now < until:
        now += LOOK_SECONDS + seconds
        pressure.note(now, seconds)


def test_turns_that_are_all_late_for_a_second_are_being_behind() -> None:
    pressure = Pressure()

    pressure.note(60.0, 60.0)
    assert not pressure.is_behind  # one long turn is no overload, however long

    late(pressure, LATE_SECONDS, 60.0 + 2 * BEHIND_SECONDS, 60.0)
    assert pressure.is_behind


def test_one_quick_turn_is_enough_to_be_on_time_again() -> None:
    pressure = Pressure()
    late(pressure, 1.0, 3.0)
    assert pressure.is_behind

    pressure.note(4.0, LATE_SECONDS / 2)

    assert not pressure.is_behind


def test_a_store_that_asks_for_much_is_refused_and_the_others_are_not() -> None:
    pressure, refused = Pressure(), Counter[str]()

    for _ in range(50):
        for store in ["large"] * 20 + ["small", "other"]:
            refused[store] += pressure.lets_go(store)

    assert refused["large"] > 900
    assert refused["small"] + refused["other"] <= 2


def test_a_store_alone_is_refused_but_the_first_few_of_a_turn() -> None:
    pressure = Pressure()

    for now in (1.0, 2.0):
        assert not any(pressure.lets_go("only") for _ in range(FEW))
        assert all(pressure.lets_go("only") for _ in range(10))
        pressure.note(now, LATE_SECONDS)  # the next turn


def test_the_loop_itself_says_how_late_it_is() -> None:
    async def behind_after(stall: float) -> bool:
        pressure = Pressure()
        watching = asyncio.create_task(pressure.watch())
        await asyncio.sleep(0)
        for _ in range(4):
            time.sleep(stall)
            await asyncio.sleep(LOOK_SECONDS / 10)
        watching.cancel()
        return pressure.is_behind

    assert asyncio.run(behind_after(BEHIND_SECONDS / 2))


def test_lists_are_refused_honestly_and_what_stores_tell_is_kept(data_folder: Path) -> None:
    account = Service(data_folder).prepare().register().account
    gate = of_our_own(build_services(Settings(data=data_folder)))
    with Inside(gate) as inside:
        shop = Merchant(account, inside)
        gate.pressure.note = lambda *_: None  # type: ignore[method-assign]  # it stays so
        gate.pressure.is_behind = True
        assert shop.trending().status == 200  # one of the few of each turn
        for _ in range(FEW):
            gate.pressure.lets_go(account.store_id)

        refused = [shop.recommend(item_id="a"), shop.trending(), shop.search("tent")]
        kept = [
            shop.push({"id": "a"}),
            shop.track({"event": "add-to-cart", "item_id": "a", "session_id": "s"}),
            shop.order("A-1", "a"),
        ]
        gate.pressure.is_behind = False
        after = shop.recommend(item_id="a")

    for reply in refused:
        assert (reply.status, reply.json["code"]) == (503, "overloaded")
        assert (reply.header("retry-after") or "").isdigit()
        assert reply.header("access-control-allow-origin") == "*"
    assert {reply.status for reply in [*kept, after]} == {200}
