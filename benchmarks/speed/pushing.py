"""Large pushes: what eight at once add to another store's lists and to memory.

Lists of one store leave at drawn times. In turns, for as long each, nothing else happens,
or eight other stores push 31 MiB of items each at the same moment, and again once they are
answered, after the seconds that a refusal asks for. Both p99 are of the same run; memory is
the most that each of the service's processes added.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import traffic
from benchmarks.speed.servers import ready_service
from benchmarks.speed.stores import productrecs, scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.report import Report
    from benchmarks.speed.servers import Load, Server

WORKERS, PUSHERS, ITEMS, MEBIBYTES = 1, 8, 1_000, 31
LISTS_PER_SECOND, CONNECTIONS, SECONDS = 200.0, 16, 10.0
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
ADDED_MIB = 200
PATIENCE = 120.0


def pushing(report: Report) -> None:
    """Add the p99 of lists alone and beside eight pushes, and the memory added."""
    with scratch() as data:
        reader, *pushers = [_store(data, number) for number in range(PUSHERS + 1)]
        key = reader["publishable_key"]
        lists = b"\0".join(
            b"r" + traffic.get(f"/v1/trending?key={key}&num={num}") for num in range(1, 21)
        )
        with ready_service(data, WORKERS) as server:
            _push(server, reader["secret_key"], _items(1))
            for number in range(ROUNDS):
                _round(
                    report, server, lists, [one["secret_key"] for one in pushers], number
                )


def _round(
    report: Report, server: Server, lists: bytes, secrets: list[str], number: int
) -> None:
    alone = _lists(server, lists)
    with _highest(server) as added, _pushed(server, secrets) as statuses:
        beside = _lists(server, lists)
    p99, floor = beside.p99_ms("r"), alone.p99_ms("r")
    told = ", ".join(f"{count} of {status}" for status, count in sorted(statuses.items()))
    note = (
        f"{PUSHERS} stores push {MEBIBYTES} MiB at once, again and again: {told}; floor: "
        f"no pushes; p50 {alone.p50_ms('r'):.1f} and {beside.p50_ms('r'):.1f} ms; "
        f"refused {beside.refused()}; neighbours {alone.neighbours_cpu:.2f}, then with "
        f"pushers {beside.neighbours_cpu:.2f}"
    )
    name = f"another store's lists beside pushes, round {number}"
    report.add(Figure(name, p99, "ms p99", floor, p99 / floor, note=note))
    for process, mebibytes in added.items():
        if process.startswith(("api", "writer")):
            name = f"memory that pushes add to the process {process}, round {number}"
            ok = mebibytes <= ADDED_MIB
            report.add(Figure(name, mebibytes, "MiB", target=f"<= {ADDED_MIB}", ok=ok))


def _lists(server: Server, lists: bytes) -> Load:
    return server.load(lists, CONNECTIONS, SECONDS, LISTS_PER_SECOND)


@contextlib.contextmanager
def _pushed(server: Server, secrets: list[str]) -> Iterator[Counter[int]]:
    """Push from all at once while the block runs; give what they were answered."""
    body, statuses, end = _items(MEBIBYTES), Counter[int](), threading.Event()

    def go_on(secret: str) -> None:
        while not end.is_set():
            status, wait = _push(server, secret, body)
            statuses[status] += 1
            end.wait(wait)

    threads = [threading.Thread(target=go_on, args=(secret,)) for secret in secrets]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        end.set()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def _highest(server: Server) -> Iterator[dict[str, float]]:
    """Give what holds, after the block, the most MiB that each process added."""
    before: dict[int, int] = {}
    for process in server.family():
        with contextlib.suppress(OSError):
            Path(f"/proc/{process}/clear_refs").write_text("5")  # the peak begins anew
            before[process] = _kib(process, "VmRSS")
    added: dict[str, float] = {}
    yield added
    for process, held in before.items():
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{process}/comm").read_text("ascii").strip()
            added[name] = max(added.get(name, 0.0), (_kib(process, "VmHWM") - held) / 1024)


def _kib(process: int, field: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    return next((int(one.split()[1]) for one in lines if one.startswith(field)), 0)


def _push(server: Server, secret: str, body: bytes) -> tuple[int, float]:
    """Return how a push was answered, 0 for not at all, and the seconds to wait then."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {"Content-Type": "application/json", "X-API-Key": secret}
    with contextlib.closing(connection):
        try:
            connection.request("POST", "/v1/items", body, headers)
            reply = connection.getresponse()
            return reply.status, float(reply.headers.get("Retry-After", 0))
        except (OSError, http.client.HTTPException):
            return 0, 1.0


def _items(mebibytes: int) -> bytes:
    """Return the body of a push of a thousand items, so large."""
    words = "Light, dry and warm. " * 3_200
    size = mebibytes * (1 << 20) // ITEMS - 100
    items = [{"id": f"i{n}", "description": words[:size]} for n in range(ITEMS)]
    return json.dumps({"items": items}).encode()


def _store(data: Path, number: int) -> dict[str, str]:
    domain = f"store-{number}.example"
    words = ("store", "create", "--domain", domain, "--plan", "unlimited", "--json")
    keys: dict[str, str] = json.loads(productrecs(data, *words))
    return keys
