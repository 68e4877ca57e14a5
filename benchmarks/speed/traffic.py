"""What do a big shop's visitors ask for: which products, which shoppers, how often?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ITEMS = 100_000
SHOPPERS = 50_000
READS_PER_EVENT = 10
VIEWS_PER_VISIT = 6
CARDS = 10
# A load's list of requests; the client begins again when it has come to its end.
REQUESTS = 220_000


class Popularity:
    """Zipf(1) over all items; which item has which rank is fixed and follows no number."""

    def __init__(self) -> None:
        self._bounds = np.cumsum(1.0 / np.arange(1, ITEMS + 1))
        self._by_rank = np.random.default_rng(3).permutation(ITEMS)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the numbers of `count` items."""
        at = np.searchsorted(
            self._bounds, rng.random(count) * self._bounds[-1], side="right"
        )
        drawn: NDArray[np.int64] = self._by_rank[np.minimum(at, ITEMS - 1)]
        return drawn


def item_id(number: int) -> str:
    """Return the id of an item, as a shop writes it."""
    return f"sku-{number:06d}"


def shopper_id(number: int) -> str:
    """Return the customer id of a shopper."""
    return f"u{number:05d}"


def session_id(visit: int) -> str:
    """Return the browser session of a visit; visit n is by shopper n modulo `SHOPPERS`."""
    return f"s_{visit:06d}a"


def get(path: str) -> bytes:
    """Return a whole GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def post(path: str, body: object) -> bytes:
    """Return a whole POST request with a JSON body, as a widget sends it."""
    text = json.dumps(body, separators=(",", ":"))
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(text.encode())}\r\n\r\n"
    )
    return (head + text).encode()


def recommendation(key: str, item: int, shopper: int | None = None) -> bytes:
    """Return the request of a product page, for a stranger or for a known shopper."""
    who = "" if shopper is None else f"&user_id={shopper_id(shopper)}"
    return get(
        f"/v1/recommendations?key={key}&item_id={item_id(item)}{who}&source=mix&num={CARDS}"
    )


def view(key: str, item: int, shopper: int, at: int) -> bytes:
    """Return the request that tells of a product view, the `at`-th of all loads.

    One in `VIEWS_PER_VISIT` begins a visit in a browser never seen; the others come from
    the browser in which the shopper came first (`serving_state.py` names it).
    """
    new = at % VIEWS_PER_VISIT == 0
    return post(
        f"/v1/events?key={key}",
        {
            "event": "detail-page-view",
            "item_id": item_id(item),
            "user_id": shopper_id(shopper),
            "session_id": f"s_{at}n" if new else session_id(shopper),
        },
    )


def pages(key: str, *, known: bool, seed: int) -> bytes:
    """Return a file of requests: product pages, one event after each ten of them.

    Shoppers are drawn evenly from all 50,000, which is the hardest case for a cache.
    """
    rng = np.random.default_rng(seed)
    items = Popularity().draw(REQUESTS, rng).tolist()
    shoppers = rng.integers(0, SHOPPERS, REQUESTS).tolist()
    chunks = []
    for at, (item, shopper) in enumerate(zip(items, shoppers, strict=True)):
        if at % (READS_PER_EVENT + 1) == READS_PER_EVENT:
            chunks.append(b"e" + view(key, item, shopper, seed * REQUESTS + at))
        else:
            chunks.append(b"r" + recommendation(key, item, shopper if known else None))
    return b"\0".join(chunks)


def events_only(key: str, seed: int) -> bytes:
    """Return a file of requests: one event each, by any shopper, on popular items."""
    rng = np.random.default_rng(seed)
    items = Popularity().draw(REQUESTS, rng).tolist()
    shoppers = rng.integers(0, SHOPPERS, REQUESTS).tolist()
    pairs = enumerate(zip(items, shoppers, strict=True), start=seed * REQUESTS)
    return b"\0".join(b"e" + view(key, item, shopper, at) for at, (item, shopper) in pairs)
