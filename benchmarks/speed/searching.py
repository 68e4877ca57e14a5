"""How fast does a store of 100,000 products search, index and follow, and in what memory?

Products are made of some 40,000 invented words, most of them rare, as brands and models
are. A query is one to three words, a third of them mistyped, a third with the last word
unfinished. Every one is another, so that nothing is answered from memory; beside that stand
searches as a shop has them, where many ask alike (20,000 queries by Zipf(1)).

All this by words. Then, if the text model is installed, the same queries by meaning too:
each product has the embedding of one of 2,000 texts, moved at random.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import numpy as np

from benchmarks.quality.letters import mistyped
from benchmarks.quality.search_peers import Catalog, bare, fts5
from benchmarks.report import Figure
from benchmarks.speed.servers import ROOT, Server, ServerError, ready_service
from benchmarks.speed.stores import DOMAIN, create_store, productrecs, scratch
from productrecs.engines.text.search_index import IndexQuery, SearchIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from benchmarks.report import Report

PRODUCTS, WORDS = 100_000, 40_000
QUERIES, IN_PROCESS = 40_000, 1_000
PACED, PACED_SECONDS = 100.0, 10.0
CONNECTIONS, SECONDS = 8, 6.0
DIFFERENT, WARM_ROUNDS = 20_000, 3
P50_MS, P99_MS, SHARE, INDEX_SECONDS, VISIBLE_SECONDS, MEMORY_MB = 5, 25, 0.5, 30, 1, 250
MEGABYTE = 1_000_000
_SYLLABLES: Final = (
    *("ka", "to", "mi", "re", "su", "lo", "ne", "pa", "shi", "der"),
    *("gan", "tel", "bor", "vin", "qua", "zel", "fro", "plu", "dam", "rix"),
)


class Assortment:
    """The products and what people type to find them; the same each time."""

    def __init__(self) -> None:
        """Invent the words."""
        self.rng = random.Random(5)
        words: set[str] = set()
        while len(words) < WORDS:
            syllables = self.rng.choices(_SYLLABLES, k=self.rng.randint(2, 4))
            words.add("".join(syllables))
        self.words = sorted(words)
        self.rng.shuffle(self.words)
        self.frequent = list(
            itertools.accumulate(1 / (n + 20) for n in range(len(self.words)))
        )

    def text(self, length: int) -> str:
        """Return some words, the frequent ones often."""
        return " ".join(self.rng.choices(self.words, cum_weights=self.frequent, k=length))

    def catalog(self) -> Catalog:
        """Return all products."""
        numbers = range(PRODUCTS)
        titles = [self.text(self.rng.randint(3, 8)) for _ in numbers]
        descriptions = [self.text(30) for _ in numbers]
        return Catalog(list(numbers), titles, descriptions)

    def queries(self, titles: Sequence[str], count: int) -> list[str]:
        """Return what people type: words of one title, mistyped or unfinished or not."""
        found = []
        for n in range(count):
            words = self.rng.choice(titles).split()
            asked = self.rng.sample(words, k=min(len(words), self.rng.randint(1, 3)))
            query = " ".join(asked)
            if n % 3 == 0:
                query = mistyped(query, 1, self.rng)
            elif n % 3 == 1 and len(asked[-1]) > 4:
                query = query[: -(len(asked[-1]) // 3)]
            found.append(query)
        return found


def search(report: Report) -> None:
    """Measure indexing, memory, latency, throughput and freshness of search."""
    assortment = Assortment()
    catalog = assortment.catalog()
    with scratch() as folder:
        data = folder / "data"
        keys = create_store(data)
        _import(folder / "items.jsonl", data, catalog)
        index = _index(report, data, catalog)
        queries = assortment.queries(catalog.titles, QUERIES)
        _memory(report, index, folder, queries)
        speed = _Speed(report, keys, queries)
        with words_only(), ready_service(data, 1) as serving:
            speed.latency(serving, "")
            rates = {
                "never asked before": speed.throughput(serving),
                "asked by Zipf(1) of 20,000": speed.as_a_shop(serving),
            }
            speed.visible(serving)
        if _embed(data):
            with ready_service(data, 1) as serving:
                speed.latency(serving, ", by meaning too")
                rates["by meaning too, never asked before"] = speed.throughput(serving)
        else:
            report.skip("search by meaning", "productrecs[meaning] is not installed")
        _beside(report, rates, index, catalog, queries)


def searches(key: str, queries: Sequence[str]) -> bytes:
    """Return the requests of these queries."""
    return b"".join(
        f"rGET /v1/search?q={quote(query)}&key={key} HTTP/1.1\r\n"
        "Host: bench\r\n\r\n\0".encode()
        for query in queries
    )


def _import(file: Path, data: Path, catalog: Catalog) -> None:
    texts = zip(catalog.ids, catalog.titles, catalog.descriptions, strict=True)
    with file.open("w") as out:
        for n, title, description in texts:
            item = {"id": f"p-{n}", "title": title, "description": description, "price": 9}
            out.write(json.dumps(item) + "\n")
    productrecs(data, "import-items", DOMAIN, str(file))


_WRITE: Final = """
import json, resource, sys, time
from pathlib import Path
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.search.indexer import Indexer
data = Path(sys.argv[1])
database = Database.open(None, data)
reader = database.raw_reader()
indexer = Indexer(data / "search", AccountDirectory(database))
began = time.perf_counter()
while indexer.run_once(reader):
    pass
seconds = time.perf_counter() - began
indexer.close()
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000]))
"""
_READ: Final = """
import json, re, sys
from pathlib import Path
import numpy as np
from productrecs.engines.text.search_index import IndexQuery, SearchIndex
def held():
    told = Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\\s+(\\d+) kB", told, re.M)[1]) / 1000
queries = json.loads(Path(sys.argv[2]).read_text())
visible, before = np.ones(200_000, dtype=np.bool_), held()
index = SearchIndex(Path(sys.argv[1]), "en")
for query in queries:
    index.find(IndexQuery(index.analyse(query), 36, visible))
print(json.dumps([before, held()]))
"""


def _told(script: str, *arguments: str) -> list[float]:
    """Return what a script prints, run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise ServerError(done.stderr[-1500:])
    found: list[float] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def words_only() -> Iterator[None]:
    """Let the service start without the text model."""
    name = "PRODUCTRECS_SEARCH_MODEL"
    before = os.environ.get(name)
    os.environ[name] = "none"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


_EMBED: Final = """
import itertools, json, sys
from pathlib import Path
import numpy as np
from productrecs.settings import Settings
from productrecs.services import build_services
from productrecs.training.search.semantic_space_builder import SemanticSpaceBuilder
from productrecs.training.search.text_embedder import TextEmbedder
TEXTS, APART = 2_000, 0.5
class Moved:
    def __init__(self, model):
        self.own, self.model = TextEmbedder(model), model
        self.rng, self.rows = np.random.default_rng(6), []
    def embed(self, texts):
        if len(self.rows) < TEXTS:
            self.rows.extend(self.own.embed(texts))
        drawn = self.rng.integers(len(self.rows), size=len(texts))
        rows = np.array([self.rows[n] for n in drawn])
        noise = self.rng.standard_normal(rows.shape, dtype=np.float32)
        rows = rows + APART * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    def embed_queries(self, texts):
        return self.embed(texts)
    def precompute_piece_vectors(self, stopping):
        return False
    def knows_every_word(self, text):
        return self.own.knows_every_word(text)
    def release(self):
        pass
services = build_services(Settings(data=Path(sys.argv[1]), has_packaged_search_model=True))
model = services.load_or_convert_text_model()
if model is not None:
    # A clock that never makes it wait between publications.
    clock = map(float, itertools.count(step=1_000)).__next__
    builder = SemanticSpaceBuilder(services.indexes, Moved(model), clock)
    reader = services.database.raw_reader()
    while builder.run_once(reader):
        pass
services.close()
print(json.dumps([float(model is not None)]))
"""


def _embed(data: Path) -> bool:
    """Give every product an embedding; return whether the text model is installed."""
    return bool(_told(_EMBED, str(data))[0])


def _index(report: Report, data: Path, catalog: Catalog) -> Path:
    """Report how long the index of all products takes; return its folder."""
    seconds, cpu, megabytes = _told(_WRITE, str(data))
    began = time.perf_counter()
    bare(catalog)
    plain = time.perf_counter() - began
    folder = next((data / "search").glob("st_*/index-*"))
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    report.add(
        Figure(
            "search, indexing 100,000 products",
            seconds,
            "s",
            plain,
            seconds / plain,
            f"<= {INDEX_SECONDS}",
            seconds <= INDEX_SECONDS,
            f"{cpu:.0f} s CPU, {size / MEGABYTE:.0f} MB on disk, the process "
            f"{megabytes:.0f} MB at most; floor: the library, bare, in memory",
        )
    )
    return folder


def _memory(report: Report, index: Path, folder: Path, queries: Sequence[str]) -> None:
    """Report what an API process holds for its searches."""
    file = folder / "queries.json"
    file.write_text(json.dumps(queries[:5_000]))
    before, after = _told(_READ, str(index), str(file))
    report.add(
        Figure(
            "search, memory of an API process for 100,000 products",
            after - before,
            "MB",
            target=f"<= {MEMORY_MB}",
            ok=after - before <= MEMORY_MB,
            note="proportional set, mapped files included, after 5,000 searches; the "
            "process that writes indexes comes once, whatever the number of stores",
        )
    )


@dataclass(frozen=True, slots=True)
class _Speed:
    """One store, asked through HTTP."""

    report: Report
    keys: dict[str, str]
    queries: Sequence[str]

    def requests(self, first: int) -> bytes:
        """Return requests, each another one, from the query of a number on."""
        return searches(self.keys["publishable_key"], self.queries[first:])

    def latency(self, serving: Server, how: str) -> None:
        """Report how soon searches are answered when few come at a time."""
        serving.load(self.requests(0), CONNECTIONS, 3.0, PACED)
        load = serving.load(self.requests(2_000), 32, PACED_SECONDS, PACED)
        note = f"{PACED:.0f} searches/s, neighbours {load.neighbours_cpu:.2f} CPU"
        for name, value, most in (
            ("p50", load.p50_ms("r"), P50_MS),
            ("p99", load.p99_ms("r"), P99_MS),
        ):
            self.report.add(
                Figure(
                    f"search, 100,000 products through HTTP{how}, {name}",
                    value,
                    "ms",
                    target=f"<= {most}",
                    ok=value <= most and not load.refused(),
                    note=note,
                )
            )

    def throughput(self, serving: Server) -> float:
        """Return the searches per second of one API process."""
        load = serving.load(self.requests(10_000), CONNECTIONS, SECONDS)
        refused = load.refused()
        assert not refused, refused
        return load.rate("r")

    def as_a_shop(self, serving: Server) -> float:
        """Return the searches per second where people ask alike, as they do in a shop."""
        rng = random.Random(8)
        asked = self.requests(0).split(b"\0")[:DIFFERENT]
        often = list(itertools.accumulate(1 / (n + 1) for n in range(DIFFERENT)))

        def traffic() -> bytes:
            return b"\0".join(rng.choices(asked, cum_weights=often, k=60_000)) + b"\0"

        for _ in range(WARM_ROUNDS):
            serving.load(traffic(), CONNECTIONS, SECONDS)
        load = serving.load(traffic(), CONNECTIONS, SECONDS)
        refused = load.refused()
        assert not refused, refused
        return load.rate("r")

    def visible(self, serving: Server) -> None:
        """Report how soon a changed product is found while others search."""
        busy = threading.Thread(
            target=serving.load,
            args=(self.requests(30_000), 16, 8.0, PACED),
            daemon=True,
        )
        busy.start()
        waits = []
        for n in range(5):
            began = time.perf_counter()
            word = f"changeling{chr(97 + n)}xyz"
            self._push(serving, {"id": f"p-{n}", "title": f"{word} thing"})
            address = f"/v1/search?q={word}&key={self.keys['publishable_key']}"
            while not serving.get(address)[1]["results"]:
                time.sleep(0.01)
            waits.append(time.perf_counter() - began)
        busy.join()
        self.report.add(
            Figure(
                "search, one changed product found while 100 a second search",
                max(waits),
                "s",
                target=f"<= {VISIBLE_SECONDS}",
                ok=max(waits) <= VISIBLE_SECONDS,
                note=f"the longest of {len(waits)}, pushing included",
            )
        )

    def _push(self, serving: Server, item: dict[str, str]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", serving.port, timeout=10)
        headers = {
            "X-API-Key": self.keys["secret_key"],
            "Content-Type": "application/json",
        }
        connection.request("POST", "/v1/items", json.dumps({"items": [item]}), headers)
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        connection.close()


def _beside(
    report: Report,
    rates: Mapping[str, float],
    index: Path,
    catalog: Catalog,
    queries: Sequence[str],
) -> None:
    """Report searches per second through HTTP, beside searches without a service."""
    ours, visible = SearchIndex(index, "en"), np.ones(2 * PRODUCTS, dtype=np.bool_)
    peers: dict[str, Callable[[str], object]] = {
        "our index in process": lambda query: ours.find(
            IndexQuery(ours.analyse(query), 36, visible)
        ),
        "tantivy's own parsed query in process": bare(catalog),
        "SQLite FTS5 in process": fts5(catalog),
    }
    plain = "peers forgive no mistakes and finish no words, and keep nothing"
    for name, find in peers.items():
        began = time.perf_counter()
        for query in queries[-IN_PROCESS:]:
            find(query)
        floor = IN_PROCESS / (time.perf_counter() - began)
        for asked, rate in rates.items():
            report.add(
                Figure(
                    f"search, one API process, {asked}, beside {name}",
                    rate,
                    "searches/s",
                    floor,
                    rate / floor,
                    f">= {SHARE} of it",
                    rate >= SHARE * floor,
                    "" if name.startswith("our") else plain,
                )
            )
