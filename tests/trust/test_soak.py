"""Soak test: memory, open files and threads level off over an hour, and over eight.

Two shops of one service get lists, searches, events, orders, pushes of items and photos at
a moderate rate. Nearly each call of the first one is from a shopper who never came before:
in the first third of an hour come more of them than the API process keeps in memory
(`RegisteredCache.SHOPPER_HISTORIES`). Every process is sampled.

The rule: over the last third of the time, when caches are warm, the line through the
samples of a process (the median of the slopes between any two of them) rises by less than
`memory_bytes`. Two processes may rise by more: one holds what it learned from, the other's
memory goes up and down. And no process has more files or threads than in the third before,
but for a few that connections and learning come and go with. SQLite's log of writes stays
below 128 MiB, and in the long forms the p99 of events rises by at most a fifth.

`SOAK_SECONDS` makes the hour shorter or longer; `SOAK_CURVE` names a file that
the samples are written to, one line of JSON each.
"""

import base64
import json
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tests.support.pictures import COLOURS, SHAPES, drawn, encoded, see
from tests.support.service import Merchant, Service, eventually
from tests.trust.load import at_once

BROKEN: Final = Path(__file__).parent / "broken"
ITEMS: Final = 400
WORDS: Final = ("red", "green", "blue", "wool", "tent", "lamp", "chair", "bottle")
MIB: Final = 1 << 20
SAMPLES: Final = 15  # of a process, at least
PATIENCE: Final = 120.0
"""Seconds that a call may take: photos wait where others want the processor."""


@dataclass(frozen=True)
class Held:
    """What one process holds."""

    memory: int  # bytes, resident
    mapped: int  # of these, of files that all processes share
    files: int
    threads: int


@dataclass(frozen=True)
class Soak:
    """For how long at which rate, how often sampled, and what may be more at the end."""

    seconds: float
    rate: float = 100.0  # requests a second
    pause: float = 10.0  # between samples
    memory_bytes: float = 2 * MIB
    worker_bytes: float = 8 * MIB  # it holds what it learned from, which grows
    indexer_bytes: float = 32 * MIB  # its heap goes up and down by twice that
    files: int = 12
    threads: int = 4
    indexer_threads: int = 16  # its writer starts that many, and ends them when idle
    log_bytes: float = 128 * MIB
    event_p99: float = np.inf  # of the last third, in those of the one before

    def allowed(self, process: str) -> float:
        """Return by how many bytes a process may grow in the last third."""
        of_their_own = {"worker": self.worker_bytes, "indexer": self.indexer_bytes}
        return of_their_own.get(process, self.memory_bytes)


# Workers learn for the first time meanwhile: files and threads tell most.
BRIEF: Final = Soak(4.0, pause=0.2, memory_bytes=64 * MIB, indexer_bytes=128 * MIB)
MINUTE: Final = Soak(90.0, pause=1.0, memory_bytes=6 * MIB)
HOUR: Final = Soak(float(os.environ.get("SOAK_SECONDS", "3600")), event_p99=1.2)
# At most 2 MiB an hour: the last third has 2 h 40 min.
EIGHT_HOURS: Final = Soak(
    8 * 3_600.0, pause=30.0, memory_bytes=16 / 3 * MIB, worker_bytes=64 * MIB, event_p99=1.2
)
QUICK_MS: Final = 20.0
"""A p99 of events that may rise by more than a fifth: the machine does other things."""

Curves = dict[str, list[tuple[float, Held]]]
"""By process: the samples, each with the seconds since the start."""


def grown(curves: Mapping[str, Sequence[tuple[float, Held]]], soak: Soak) -> list[str]:
    """Return what did not level off, in words."""
    wrong = []
    end = max(curve[-1][0] for curve in curves.values())
    for name, curve in curves.items():
        middle, last = (
            [one for one in curve if start <= one[0] / end <= start + 0.34]
            for start in (1 / 3, 2 / 3)
        )
        if len(middle) < 3 or len(last) < 3:
            continue  # a child that came and went
        rise = _rise(last)
        if rise >= soak.allowed(name):
            wrong.append(f"{name}: memory rose by {rise / MIB:.1f} MiB")
        files, threads = (
            max(getattr(held, what) for _, held in last)
            - max(getattr(held, what) for _, held in middle)
            for what in ("files", "threads")
        )
        if files > soak.files:
            wrong.append(f"{name}: {files} more files")
        if threads > (soak.indexer_threads if name == "indexer" else soak.threads):
            wrong.append(f"{name}: {threads} more threads")
    return wrong


def _rise(curve: Sequence[tuple[float, Held]]) -> float:
    """Return by how many bytes the line through the samples rises (Theil and Sen)."""
    times = np.array([moment for moment, _ in curve])
    sizes = np.array([held.memory for _, held in curve], float)
    first, second = np.triu_indices(len(times), 1)
    slopes = (sizes[second] - sizes[first]) / (times[second] - times[first])
    return float(np.median(slopes) * (times[-1] - times[0]))


@dataclass
class Use:
    """Shops of one service, used by one thread; what each call was answered is counted."""

    service: Service
    shops: list[Merchant] = field(default_factory=list)
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    event_ms: list[float] = field(default_factory=list)  # in the order asked
    largest_log: int = 0  # bytes
    _chance: random.Random = field(default_factory=lambda: random.Random(19))  # noqa: S311 - the load, not a key
    _count: int = 0

    @classmethod
    def prepare(cls, service: Service) -> "Use":
        """Open two shops whose items are sold, searched for and known by picture."""
        use = cls(service, [service.register() for _ in range(2)])
        use._reconnect()
        pictures = {
            f"i{n}": drawn(colour, shape)
            for n, (colour, shape) in enumerate((a, b) for a in COLOURS for b in SHAPES)
        }
        for shop in use.shops:
            shop.push(*(_item(n, 10.0) for n in range(ITEMS)))
            for n in range(60):
                shop.order(f"first-{n}", f"i{n}", f"i{n * 7 % ITEMS}")
            with service.database() as database:
                folder = service.folder / "pictures"
                see(database, folder, shop.account.store_id, pictures)
        eventually(lambda: use._photo(use.shops[-1]) == 200, PATIENCE)
        eventually(lambda: use.shops[-1].search("wool").ids, PATIENCE)
        return use

    def go_on(self, soak: Soak) -> Curves:
        """Use the service for so long; return what each process held meanwhile."""
        curves: Curves = {}
        began = due = time.monotonic()
        with at_once(lambda until: self._watch(curves, soak, until)):
            # On a busy machine longer, for a third without samples says nothing.
            while time.monotonic() < began + soak.seconds or _samples(curves) < SAMPLES:
                self._ask()
                due += self._chance.expovariate(soak.rate)
                time.sleep(max(0.0, due - time.monotonic()))
        return curves

    def _watch(self, curves: Curves, soak: Soak, until: threading.Event) -> None:
        """Sample every process until told to stop, whatever the calls wait for."""
        began = time.monotonic()
        while not until.is_set():
            sample, moment = held(self.service), time.monotonic() - began
            _note(sample, moment)
            log = (self.service.folder / "productrecs.db-wal").stat().st_size
            self.largest_log = max(self.largest_log, log)
            for name, one in sample.items():
                curves.setdefault(name, []).append((moment, one))
            until.wait(soak.pause)

    def _ask(self) -> None:
        self._count += 1
        if self._count % 50 == 0:  # connections come and go, to whichever process is free
            self.shops = [
                shop.through(self.service.client(PATIENCE)) for shop in self.shops
            ]
        shop = self._chance.choices(self.shops, (9, 1))[0]
        kinds: dict[str, tuple[float, Callable[[Merchant], int]]] = {
            "list": (140, self._list),
            "search": (20, self._search),
            "event": (30, self._event),
            "order": (8, self._order),
            "push": (1, self._push),
            "photo": (1, self._photo),
        }
        weights = [weight for weight, _ in kinds.values()]
        kind = self._chance.choices(list(kinds), weights)[0]
        began = time.monotonic()
        self.answers[kind, kinds[kind][1](shop)] += 1
        if kind == "event":
            self.event_ms.append(1e3 * (time.monotonic() - began))

    def _reconnect(self) -> None:
        self.shops = [shop.through(self.service.client(PATIENCE)) for shop in self.shops]

    def _list(self, shop: Merchant) -> int:
        others = shop is not self.shops[0]  # so few that all have come when caches are warm
        shopper = f"shopper-{self._count % 300 if others else self._count}"
        return shop.recommend(item_id=self._item(), user_id=shopper).status

    def _search(self, shop: Merchant) -> int:
        words = self._chance.sample(WORDS, 2)
        return shop.search(f"{words[0]} {words[1]} {self._count % 5_000}").status

    def _event(self, shop: Merchant) -> int:
        kind = self._chance.choice(["detail-page-view", "add-to-cart"])
        shopper = f"shopper-{self._count - self._chance.randrange(40)}"
        event = {"event": kind, "item_id": self._item(), "user_id": shopper}
        return shop.track(event).status

    def _order(self, shop: Merchant) -> int:
        lines = [self._item() for _ in range(self._chance.randint(1, 4))]
        buyer = f"shopper-{self._count}"
        return shop.order(f"o{self._count}", *lines, customer_id=buyer).status

    def _push(self, shop: Merchant) -> int:
        price = 5 + self._chance.random() * 50
        return shop.push(
            *(_item(self._chance.randrange(ITEMS), price) for _ in range(5))
        ).status

    def _photo(self, shop: Merchant) -> int:
        picture = drawn(self._chance.choice(list(COLOURS)), SHAPES[0], self._count)
        body = b'{"image":"%b"}' % base64.b64encode(encoded(picture))
        target = shop.target("/v1/search/image")
        return shop.client.ask("POST", target, body, {"content-type": "text/plain"}).status

    def _item(self) -> str:
        return f"i{min(int(self._chance.expovariate(0.02)), ITEMS - 1)}"


def _samples(curves: Curves) -> int:
    return max(map(len, list(curves.values())), default=0)


def _item(n: int, price: float) -> dict[str, object]:
    title = f"{WORDS[n % len(WORDS)].title()} {WORDS[n // 8 % len(WORDS)]} number {n}"
    image = f"https://i.example/{n}.jpg" if n < len(COLOURS) * len(SHAPES) else None
    return {"id": f"i{n}", "title": title, "price": round(price, 2), "image_url": image}


def held(service: Service) -> dict[str, Held]:
    """Return what each process of a service holds, by the name of its work."""
    found: dict[str, Held] = {}
    for pid, said in sorted(service.processes().items()):
        folder = Path(f"/proc/{pid}")
        try:
            status = (folder / "status").read_text("ascii", "replace")
            files = sum(1 for _ in (folder / "fd").iterdir())
        except OSError:  # a child that has ended
            continue
        memory, mapped, threads = (
            int(match[1]) if (match := re.search(rf"{name}:\s+(\d+)", status)) else 0
            for name in ("VmRSS", "RssFile", "Threads")
        )
        name = _name(said)
        if name == "python":  # children that come and go are not one process
            name = f"python {pid}"
        while name in found:
            name += "'"
        if memory:
            found[name] = Held(memory * 1024, mapped * 1024, files, threads)
    return found


def _name(said: str) -> str:
    comm, _, rest = said.partition(" /")
    return f"{comm} (photos)" if "pictures.child" in rest else comm


def _note(sample: Mapping[str, Held], seconds: float) -> None:
    path = os.environ.get("SOAK_CURVE")
    if path:
        held = {name: vars(one) for name, one in sample.items()}
        with Path(path).open("a") as out:
            out.write(json.dumps({"seconds": round(seconds, 1), "held": held}) + "\n")


def check_soak(use: Use, soak: Soak) -> None:
    curves = use.go_on(soak)
    for name, curve in curves.items():
        every = curve[:: max(1, len(curve) // 12)]
        memory = " ".join(f"{one.memory / MIB:.0f}" for _, one in [*every, curve[-1]])
        print(f"{name}: MiB {memory}; {curve[-1][1]}")  # noqa: T201 - the figures
    thirds = np.array_split(np.array(use.event_ms), 3)
    _, before, after = (float(np.percentile(third, 99)) for third in thirds)
    print(  # noqa: T201 - the figures
        f"{dict(use.answers)}; log at most {use.largest_log / MIB:.1f} MiB; "
        f"p99 of events {before:.1f}, then {after:.1f} ms"
    )
    assert grown(curves, soak) == []
    assert use.largest_log <= soak.log_bytes
    assert after <= max(soak.event_p99 * before, QUICK_MS)
    good = sum(count for (_, status), count in use.answers.items() if status == 200)
    assert good >= 0.99 * sum(use.answers.values()), use.answers


@pytest.fixture
def use(tmp_path: Path) -> Iterator[Use]:
    with Service(tmp_path).prepare() as service:
        yield Use.prepare(service)


@pytest.mark.parametrize(
    "soak",
    [BRIEF, MINUTE, HOUR, EIGHT_HOURS],
    ids=["brief", "minute", "hour", "eight-hours"],
)
@pytest.mark.trust
def test_what_a_service_holds_levels_off_while_it_is_used(use: Use, soak: Soak) -> None:
    check_soak(use, soak)


LEVEL: Final = Soak(3_600.0)


@pytest.mark.parametrize(
    ("memory", "files", "wrong"),
    [
        pytest.param(
            lambda t: 80 + 20 * min(1, t / 900), lambda _: 30, "", id="a cache fills"
        ),
        pytest.param(
            lambda t: 80 + t % 60, lambda t: 30 + t % 9, "", id="it goes up and down"
        ),
        pytest.param(lambda t: 80 + 8 * t / 3600, lambda _: 30, "memory", id="it leaks"),
        pytest.param(
            lambda _: 80, lambda t: 30 + t / 60, "files", id="it leaves files open"
        ),
    ],
)
def test_the_rule_distinguishes_a_leak_from_a_cache(
    memory: Callable[[float], float], files: Callable[[float], float], wrong: str
) -> None:
    times = np.arange(0, LEVEL.seconds, LEVEL.pause).tolist()
    curve = [(t, Held(int(memory(t) * MIB), 0, int(files(t)), 9)) for t in times]

    found = grown({"api 1": curve}, LEVEL)

    assert len(found) == bool(wrong)
    assert all(wrong in one for one in found)


@pytest.mark.parametrize(
    ("fault", "soak"),
    [("leaky", BRIEF), pytest.param("forgets_nobody", MINUTE, marks=pytest.mark.trust)],
)
def test_control_a_service_that_lets_go_of_nothing_is_seen(
    tmp_path: Path, fault: str, soak: Soak
) -> None:
    with Service(tmp_path, broken=BROKEN / fault).prepare() as service:
        use = Use.prepare(service)
        with pytest.raises(AssertionError, match="api"):
            check_soak(use, soak)
