"""Stopped writer: bounded waits, and a retry counts once.

The process that writes is stopped where it is. Who sends something is answered within ten
seconds all the same, and sending it again counts it once. Meanwhile, and while merchants
push as much as they may all at once, memory stays within the budget.
"""

import contextlib
import http.client
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import sqlalchemy as sa

from productrecs.serving.writes.write_client import CONFIRM_SECONDS
from productrecs.storage.sql.tables import event_session, events
from tests.support.service import Merchant, Reply, Service, eventually
from tests.trust.forms import violations
from tests.trust.load import receipts
from tests.trust.test_busy import held

BROKEN: Final = Path(__file__).parent / "broken"
EARLY: Final = BROKEN / "early_deadline"
PROMISED: Final = 10.0  # seconds until there is an answer
SLACK: Final = 5.0  # of a machine that does other things
ADDED: Final = 200 << 20  # bytes to a process


class CallResult(NamedTuple):
    """A reply, and after how many seconds it came."""

    reply: Reply
    seconds: float


def at_once(calls: list[Callable[[], Reply]]) -> list[CallResult]:
    """Return the reply to each call; all are made at the same time."""
    replies: list[CallResult | None] = [None] * len(calls)

    def make(number: int) -> None:
        began = time.monotonic()
        # Who is refused before the body was read may find the connection closed.
        with contextlib.suppress(OSError, http.client.HTTPException):
            replies[number] = CallResult(calls[number](), time.monotonic() - began)

    threads = [threading.Thread(target=make, args=(n,)) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [reply for reply in replies if reply is not None]


def process_named(service: Service, name: str) -> int:
    """Return the id of the first process of a role."""
    found: list[int] = []

    def is_found() -> bool:
        found[:] = [p for p, line in service.processes().items() if line.startswith(name)]
        return bool(found)

    eventually(is_found, 60)  # a process takes its name a moment after it was started
    return found[0]


@contextlib.contextmanager
def nobody_writes(service: Service) -> Iterator[None]:
    """Stop the process that writes where it is."""
    writer = process_named(service, "writer")
    os.kill(writer, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(writer, signal.SIGCONT)


def resident(process: int, field: str) -> int:
    """Return the bytes that a process has, or had at most, in memory."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


@contextlib.contextmanager
def peak_of(process: int) -> Iterator[list[int]]:
    """Give a list that holds, after the block, how much memory it added at most."""
    Path(f"/proc/{process}/clear_refs").write_text("5")  # the peak begins anew
    before, added = resident(process, "VmRSS"), list[int]()
    yield added
    added.append(resident(process, "VmHWM") - before)


def view(number: int) -> dict[str, object]:
    return {
        "event": "detail-page-view",
        "item_id": "tent",
        "session_id": f"s_{number}",
        "event_id": f"e-{number}",
    }


def sending(service: Service, merchant: Merchant) -> dict[str, Callable[[], Reply]]:
    """Return a call of every kind that writes, each on a connection of its own."""

    def own() -> Merchant:
        return merchant.through(service.client(60))

    look = json.dumps({"settings": {"columns": 3}}).encode()
    return {
        "event": lambda: own().track(view(1)),
        "array": lambda: own().track(*(view(n) for n in range(2, 20))),
        "order": lambda: own().order("A-1", "tent"),
        "push": lambda: own().push({"id": "tent", "price": 9}),
        "deletion": lambda: own().delete("old"),
        "setting": lambda: own().client.ask(
            "PUT", "/integration/widget-config?type=recs", look, merchant.server
        ),
    }


def check_answers(service: Service, merchant: Merchant) -> None:
    """While nothing can be written everybody hears so in time; then it is written once."""
    calls = sending(service, merchant)
    with held(service, merchant), nobody_writes(service):
        replies = at_once(list(calls.values()))
    codes = {
        name: one.reply.json.get("code") for name, one in zip(calls, replies, strict=True)
    }
    print(codes, f"after {max(one.seconds for one in replies):.1f} s")  # noqa: T201 - the figures
    assert {one.reply.status for one in replies} == {503}, codes
    for name in ("event", "array", "order"):
        assert codes[name] == "write_unconfirmed"
    # These are not handed over: their own process had no turn, and says so.
    assert {codes[name] for name in ("push", "deletion", "setting")} <= {
        "storage_busy",
        "write_unconfirmed",
    }
    for one in replies:
        assert violations(one.reply) == []
        assert one.reply.header("retry-after")
        assert one.seconds < PROMISED + SLACK
        if one.reply.json["code"] == "write_unconfirmed":
            assert "may be stored" in one.reply.json["detail"]
            assert "event_id" in one.reply.json["detail"]

    for name, call in calls.items():  # once the writer has caught up; each counts once

        def is_taken(name: str = name, call: Callable[[], Reply] = call) -> bool:
            return call().status in ({200, 404} if name == "deletion" else {200})

        eventually(is_taken, 60)
    assert merchant.track(view(1)).status == 200
    store_id = merchant.account.store_id
    with service.database() as database, database.reading() as connection:
        session = sa.literal_column(event_session(), sa.Text)
        query = sa.select(session).where(events.c.store_id == store_id)
        seen = Counter(connection.execute(query).scalars())
        assert len(receipts(database, store_id)) == 1
    assert seen == {f"s_{number}": 1 for number in range(1, 20)}


@pytest.mark.parametrize(
    "broken", [EARLY, pytest.param(None, marks=pytest.mark.trust)], ids=["early", "real"]
)
def test_an_unconfirmed_write_is_answered_and_counts_once(
    data_folder: Path, database_url: str | None, broken: Path | None
) -> None:
    assert CONFIRM_SECONDS < PROMISED
    with Service(data_folder, database_url, broken=broken).prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "tent"}, {"id": "old"}).status == 200

        check_answers(service, merchant)


def test_readiness_says_that_writes_are_not_confirmed_until_they_are(
    data_folder: Path,
) -> None:
    with Service(data_folder, broken=EARLY).prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "tent"}).status == 200

        def strictly() -> tuple[int, str]:
            reply = service.client().ask("GET", "/health/ready?strict=true")
            return reply.status, reply.json["checks"]["writes"]

        with nobody_writes(service):
            reply = merchant.through(service.client(60)).track(view(1))
            assert reply.json["code"] == "write_unconfirmed"
            status, said = strictly()
            assert (status, "not confirmed" in said) == (503, True), said
            assert service.client().ask("GET", "/health/ready").status == 200
        eventually(lambda: strictly() == (200, "ok"), 60)  # the late answer is enough


def test_control_a_service_without_a_deadline_is_seen(data_folder: Path) -> None:
    broken = BROKEN / "no_deadline"
    with Service(data_folder, broken=broken).prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "tent"}).status == 200
        with nobody_writes(service), pytest.raises(TimeoutError):
            merchant.through(service.client(PROMISED)).track(view(1))


def shown(number: int, kib: int) -> list[dict[str, object]]:
    """Return an array of events that tells of as many products as so many KiB can."""
    one: dict[str, object] = {
        "event": "rec-impression",
        "item_ids": [f"i{n}" for n in range(200)],
        "session_id": f"s_{number}",
    }
    return [one] * (kib * 1024 // len(json.dumps(one)))


def check_arrays(service: Service, merchant: Merchant, count: int) -> None:
    """So many large arrays at once, while nobody writes, stay within the budget."""
    body = json.dumps(shown(1, 600)).encode()
    address, headers = merchant.target("/v1/events"), {"content-type": "text/plain"}

    def send() -> Reply:
        return service.client(300).ask("POST", address, body, headers)

    quiet = service.register().through(service.client(60))  # while somebody writes
    with peak_of(process_named(service, "api")) as added, nobody_writes(service):
        replies = at_once([send] * count)
        quiet_replies = at_once([lambda: quiet.track(view(1))])
    codes = Counter(one.reply.json.get("code") for one in replies)
    print(f"{added[0] >> 20} MiB for {count} arrays: {dict(codes)}")  # noqa: T201 - the figures
    assert len(replies) == count
    assert codes.keys() == {"overloaded", "write_unconfirmed"}
    assert all(one.reply.header("retry-after") for one in replies)
    assert [one.reply.json["code"] for one in quiet_replies] == [
        "write_unconfirmed"
    ]  # it was taken
    assert added[0] <= ADDED
    eventually(lambda: merchant.track(view(2)).status == 200, 60)
    # What nobody waited for any more was held until it was written, and not for ever.
    eventually(lambda: service.client().ask("POST", address, body, headers).status == 200)


def push_of(mebibytes: int, *, ends: str = "") -> bytes:
    """Return the body of a push of a thousand items, so large."""
    long = "Light, dry and warm. " * 3_200
    size = mebibytes * (1 << 20) // 1_000 - 100
    items = [{"id": f"i{n}", "description": long[:size] + ends} for n in range(1_000)]
    return json.dumps({"items": items}, ensure_ascii=False).encode()


def check_pushes(service: Service, body: bytes, count: int) -> None:
    """So many large pushes of as many stores at once stay within the budget."""
    *stores, quiet = [service.register() for _ in range(count + 1)]

    def sender(merchant: Merchant) -> Callable[[], Reply]:
        client = service.client(120)
        return lambda: client.ask("POST", "/v1/items", body, merchant.server)

    with peak_of(process_named(service, "api")) as added:
        replies = at_once([sender(one) for one in stores])
        # On a slow disk the pushes that were taken are written for longer than one waits.
        eventually(lambda: quiet.push({"id": "a"}).status == 200, 60)
    statuses = Counter(one.reply.status for one in replies)
    print(f"{added[0] >> 20} MiB for {count} pushes of {len(body) >> 20} MiB: {statuses}")  # noqa: T201 - the figures
    assert statuses.keys() <= {200, 503}
    assert added[0] <= ADDED
    alone = eventually(
        lambda: (
            service.client(60).ask("POST", "/v1/items", body, stores[0].server).status
            == 200
        ),
        120,
    )
    assert alone < 120


@pytest.mark.trust
@pytest.mark.parametrize("count", [12, 40])
def test_unwritten_arrays_of_events_stay_within_the_memory_budget(
    data_folder: Path, count: int
) -> None:
    with Service(data_folder).prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "tent"}).status == 200
        check_arrays(service, merchant, count)


@pytest.mark.parametrize(
    ("count", "ends"),
    [
        (6, ""),
        *(pytest.param(8, ends, marks=pytest.mark.trust) for ends in ("", "\U0001f600")),
    ],
    ids=["short", "long", "long with emojis"],
)
def test_large_pushes_of_many_stores_stay_within_the_budget(
    data_folder: Path, count: int, ends: str
) -> None:
    with Service(data_folder).prepare() as service:
        check_pushes(service, push_of(31, ends=ends), count)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            lambda service, merchant: check_arrays(service, merchant, 16),
            marks=pytest.mark.trust,
        ),
        lambda service, _: check_pushes(service, push_of(31), 6),
    ],
    ids=["arrays", "pushes"],
)
def test_control_a_service_without_a_budget_is_seen(
    data_folder: Path, check: Callable[[Service, Merchant], Any]
) -> None:
    with Service(data_folder, broken=BROKEN / "no_budget").prepare() as service:
        merchant = service.register()
        assert merchant.push({"id": "tent"}).status == 200
        with pytest.raises(AssertionError):
            check(service, merchant)
