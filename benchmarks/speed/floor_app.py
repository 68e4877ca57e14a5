"""What would a recommendation cost if nothing had to be thought about?

A bare ASGI application: it parses the query as strictly as the interface asks and joins
ten fragments of JSON that are there already. Its event route decodes and says yes, and
keeps nothing. Run as `python -m benchmarks.speed.floor_app ITEMS.jsonl PORT WORKERS`.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import msgspec
import uvicorn

ITEMS = "PRODUCTRECS_FLOOR_ITEMS"
HEADERS = [(b"content-type", b"application/json")]
ACCEPTED = b'{"ok":true}'


class Query(msgspec.Struct):
    """The parameters of `GET /v1/recommendations`."""

    key: str
    item_id: str | None = None
    item_ids: str | None = None
    user_id: str | None = None
    customer_id: str | None = None
    num: int = 8
    source: Literal["mix", "buy", "browse", "similar"] = "mix"


class Event(msgspec.Struct):
    """The fields of an event that the load holds."""

    event: str
    item_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None


class Item(msgspec.Struct):
    """The fields of a product card."""

    id: str
    title: str
    price: float
    image_url: str
    product_url: str


class Card(Item):
    """A product card as it stands in a reply."""

    score: float
    source: str


class Shelf:
    """All cards as JSON, and a fixed list of ten for each item."""

    def __init__(self, path: Path) -> None:
        items = msgspec.json.Decoder(list[Item]).decode(
            b"[" + b",".join(path.read_bytes().splitlines()) + b"]"
        )
        rng = random.Random(5)
        self.fragments = [self._fragment(item, rng) for item in items]
        self.numbers = {item.id: number for number, item in enumerate(items)}
        # Ten cards lie anywhere in memory, as those of a real answer do.
        self.order = rng.choices(range(len(items)), k=len(items) + 10)

    @staticmethod
    def _fragment(item: Item, rng: random.Random) -> bytes:
        fields = msgspec.structs.asdict(item)
        return msgspec.json.encode(Card(**fields, score=rng.random(), source="browse"))

    def answer(self, query: Query) -> bytes:
        """Return the body for a query."""
        at = self.numbers.get(query.item_id or "", 0)
        fragments = self.fragments
        cards = b",".join([fragments[number] for number in self.order[at : at + query.num]])
        return b'{"recommendations":[' + cards + b"]}"


shelf: Shelf | None = None


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer a recommendation or accept an event."""
    if scope["type"] != "http":
        await lifespan(receive, send)
        return
    if scope["method"] == "GET":
        assert shelf is not None
        query = dict(parse_qsl(scope["query_string"].decode()))
        body = shelf.answer(msgspec.convert(query, Query, strict=False))
    else:
        message = await receive()
        msgspec.json.decode(message["body"], type=Event)
        body = ACCEPTED
    headers = [*HEADERS, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def lifespan(receive: Any, send: Any) -> None:
    """Load the cards when the server starts."""
    global shelf  # noqa: PLW0603 - one per process, as uvicorn's workers start
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            shelf = Shelf(Path(os.environ[ITEMS]))
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


def main(items: str, port: str, workers: str = "1") -> None:
    """Serve until told to stop."""
    os.environ[ITEMS] = items
    uvicorn.run(
        "benchmarks.speed.floor_app:app",
        host="127.0.0.1",
        port=int(port),
        workers=int(workers),
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
