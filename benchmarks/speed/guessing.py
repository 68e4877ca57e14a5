"""Password guessing: what a flood of logins costs the dashboard and the shop's searches.

`GUESSERS` connections send a wrong password each as soon as the last was answered, ten from
one address of loopback, then from the next, so that no limit of an address stops them. In
turns with and without them, one person opens pages of the dashboard, and searches leave at
drawn times. The control takes the same CPU time in processes apart from the service.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np

from benchmarks.report import Figure
from benchmarks.speed.dashboard import CSRF, LINK, OWNER, Person
from benchmarks.speed.overload import ITEMS, stock
from benchmarks.speed.servers import ROOT, Server, ready_service
from benchmarks.speed.stores import productrecs, scratch
from benchmarks.speed.traffic import get

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.report import Report

GUESSERS, PER_ADDRESS = 32, 10
ROUNDS, SECONDS = 3, 5.0
SEARCHES_PER_SECOND, CONNECTIONS, PAGES_PER_SECOND = 25.0, 8, 4
PAGES = ("/dashboard/products", "/dashboard/search")  # which are made in 10 to 25 ms
PAGE_MS, RATIO = 100.0, 1.3


def guessing(report: Report) -> None:
    """Add the p99 of pages and of searches beside a flood of password guesses."""
    with scratch() as data:
        key = stock(data, 0)
        link = LINK.search(
            productrecs(data, "account", "reset-link", "store-0.example", *OWNER)
        )
        assert link is not None
        with ready_service(data, 1) as server:
            person = Person(server)
            person.log_in(link[0])
            _measure(server, person, key)  # first visits compile templates
            rounds = [
                (_measure(server, person, key), *_flooded(server, person, key))
                for _ in range(ROUNDS)
            ]
    alone, beside, guesses = map(list, zip(*rounds, strict=True))
    pages = max(one[0] for one in beside)
    told = f"p95 of rounds {_all(beside, 0)}, without {_all(alone, 0)}; {guesses} guesses/s"
    report.add(
        Figure(
            "dashboard beside password guesses",
            pages,
            "ms p95",
            target=f"< {PAGE_MS:.0f}",
            ok=pages < PAGE_MS,
            note=told,
        )
    )
    ratio = float(
        np.median([one[1] / other[1] for one, other in zip(beside, alone, strict=True)])
    )
    told = f"p99 of rounds {_all(beside, 1)} ms, without {_all(alone, 1)} ms"
    report.add(
        Figure(
            "searches beside password guesses",
            ratio,
            "ratio of p99",
            target=f"<= {RATIO}",
            ok=ratio <= RATIO,
            note=told,
        )
    )


def _all(rounds: list[tuple[float, float]], which: int) -> str:
    return ", ".join(f"{one[which]:.1f}" for one in rounds)


def _measure(server: Server, person: Person, key: str) -> tuple[float, float]:
    """Return the p95 of pages and the p99 of searches."""
    rng = np.random.default_rng(time.monotonic_ns())
    numbers = rng.integers(0, ITEMS, 2_000).tolist()
    # Each query is another, so that none is answered from memory.
    paths = (f"/v1/search?q=thing+{n}+{at}&key={key}" for at, n in enumerate(numbers))
    searches = b"\0".join(b"r" + get(path) for path in paths)
    took: list[float] = []
    end = threading.Event()

    def visit() -> None:
        for path in itertools.cycle(PAGES):
            began = time.perf_counter()
            person.open(path)
            took.append(1e3 * (time.perf_counter() - began))
            if end.wait(1 / PAGES_PER_SECOND):
                return

    visitor = threading.Thread(target=visit)
    visitor.start()
    try:
        load = server.load(searches, CONNECTIONS, SECONDS, SEARCHES_PER_SECOND)
    finally:
        end.set()
        visitor.join()
    return float(np.percentile(took, 95)), load.p99_ms("r")


def _flooded(server: Server, person: Person, key: str) -> tuple[tuple[float, float], int]:
    """Return what is measured beside the flood, and the guesses answered per second."""
    command = [sys.executable, "-m", "benchmarks.speed.guessing", str(server.port)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as flood:
        assert flood.stdout is not None
        flood.stdout.readline()  # it has begun
        measured = _measure(server, person, key)
        told, _ = flood.communicate("\n")
    return measured, round(float(told))


def _guess(
    port: int, addresses: Iterator[int], end: threading.Event, done: list[int]
) -> None:
    headers, body = _form(port)
    while not end.is_set():
        number = next(addresses)
        source = (
            f"127.{1 + number % 200}.{number // 200 % 250}.{1 + number // 50_000 % 250}"
        )
        for at in range(PER_ADDRESS):
            wrong = f"{body}&name=user{number}-{at}%40shop.example"
            client = http.client.HTTPConnection("127.0.0.1", port, 120, (source, 0))
            with (
                contextlib.closing(client),
                contextlib.suppress(OSError, http.client.HTTPException),
            ):
                client.request("POST", "/dashboard/login", wrong, headers)
                done.append(client.getresponse().status)
            if end.is_set():
                return


def _form(port: int) -> tuple[dict[str, str], str]:
    """Return the headers and the body of a login, with the token of one browser."""
    client = http.client.HTTPConnection("127.0.0.1", port, 60)
    with contextlib.closing(client):
        client.request("GET", "/dashboard/login")
        reply = client.getresponse()
        cookie = (reply.headers["Set-Cookie"] or "").partition(";")[0]
        token = CSRF.search(reply.read().decode())
    headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    return headers, urlencode(
        {"csrf": token[1] if token else "", "password": "wrong password"}
    )


def _flood(port: int) -> None:
    """Guess until a line comes on standard input; print the guesses answered per second."""
    end, done = threading.Event(), list[int]()
    addresses = itertools.count(time.time_ns() // 10**8 % 10**7)  # others in each round
    guessers = [
        threading.Thread(target=_guess, args=(port, addresses, end, done), daemon=True)
        for _ in range(GUESSERS)
    ]
    for one in guessers:
        one.start()
    began = time.monotonic()
    print("begun", flush=True)
    sys.stdin.readline()
    sys.stderr.write(f"{ {code: done.count(code) for code in set(done)} }\n")
    print(len(done) / (time.monotonic() - began))


if __name__ == "__main__":
    _flood(int(sys.argv[1]))
