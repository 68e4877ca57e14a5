"""The big shop that speed is measured on: 100,000 items and a million facts, in files.

875,000 events of 175,000 visits and 138,000 order lines, with structure in them: items lie
in clusters of 25, visits and baskets stay mostly within one, and shoppers have favourites.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.speed.traffic import (
    ITEMS,
    SHOPPERS,
    Popularity,
    item_id,
    session_id,
    shopper_id,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

VISITS, STEPS = 175_000, 5
ORDERS, LINES = 60_000, 150_000
CLUSTER, LEAF, DEPARTMENT = 25, 250, 5_000
DAYS = 60
STAYS = 0.7
CARTS = 0.08
WORDS = (
    *("amber", "ash", "birch", "brass", "canvas", "cedar", "clay", "cobalt", "copper"),
    *("coral", "cotton", "ember", "fern", "flint", "granite", "heather", "indigo", "ivory"),
    *("jute", "linen", "maple", "marble", "moss", "oak", "olive", "onyx", "pearl", "pine"),
    *("quartz", "rattan", "rust", "sage", "sand", "slate", "steel", "teak", "walnut"),
)
KINDS = (
    *(
        "basket",
        "bench",
        "blanket",
        "board",
        "bottle",
        "bowl",
        "box",
        "brush",
        "cap",
        "chair",
    ),
    *(
        "clock",
        "cup",
        "curtain",
        "cushion",
        "desk",
        "dish",
        "frame",
        "hook",
        "jacket",
        "jar",
    ),
    *(
        "kettle",
        "knife",
        "lamp",
        "mat",
        "mirror",
        "mug",
        "pan",
        "pen",
        "plate",
        "pot",
        "rack",
    ),
    *("rug", "scarf", "shelf", "spoon", "stool", "tray", "towel", "vase"),
)


@dataclass(frozen=True, slots=True)
class ShopFiles:
    """Where the three files lie."""

    items: Path
    events: Path
    orders: Path


def shop_files(folder: Path) -> ShopFiles:
    """Return the names of the files in a folder."""
    return ShopFiles(folder / "items.jsonl", folder / "events.jsonl", folder / "orders.csv")


def write_shop(folder: Path) -> ShopFiles:
    """Write the three files, the newest event being of now, and return their names."""
    files = shop_files(folder)
    rng = np.random.default_rng(11)
    with files.items.open("w") as out:
        out.writelines(item_line(number) for number in range(ITEMS))
    popularity = Popularity()
    _write_events(files.events, popularity, rng)
    _write_orders(files.orders, popularity, rng)
    return files


def item_line(number: int) -> str:
    """Return an item as a line of JSON."""
    word, kind = WORDS[number % len(WORDS)], KINDS[(number // CLUSTER) % len(KINDS)]
    department, leaf = number // DEPARTMENT, number // LEAF
    name = f"{word.title()} {kind}, number {number}"
    return (
        f'{{"id":"{item_id(number)}","title":"{name}",'
        f'"product_url":"https://shop.example/products/{word}-{kind}-{number}",'
        f'"image_url":"https://images.shop.example/large/{word}-{kind}-{number}.jpg",'
        f'"price":{5 + number % 9_500 / 100:.2f},"stock_qty":{5 + number % 90},'
        f'"categories":["Floor {department}","Floor {department} > Aisle {leaf}"],'
        f'"category_ids":["d{department}","d{department}/a{leaf}"]}}\n'
    )


def walks(
    popularity: Popularity, firsts: NDArray[np.int64], steps: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return item numbers, shape (len(firsts), steps): mostly of the first's cluster."""
    walked = np.empty((len(firsts), steps), np.int64)
    walked[:, 0] = firsts
    cluster = firsts // CLUSTER * CLUSTER
    for step in range(1, steps):
        near = np.minimum(rng.geometric(0.15, len(firsts)) - 1, CLUSTER - 1)
        far = popularity.draw(len(firsts), rng)
        stays = rng.random(len(firsts)) < STAYS
        walked[:, step] = np.where(stays, cluster + (firsts + near) % CLUSTER, far)
    return walked


def visit_walks(
    popularity: Popularity, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (shopper of each visit, items of each visit)."""
    shoppers = np.arange(VISITS) % SHOPPERS
    favourites = popularity.draw(SHOPPERS, rng)[shoppers]
    firsts = np.where(rng.random(VISITS) < 0.5, favourites, popularity.draw(VISITS, rng))
    return shoppers, walks(popularity, firsts, STEPS, rng)


def baskets(popularity: Popularity, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return the items of each order; together at most `LINES` lines."""
    sizes = rng.multinomial(LINES - ORDERS, np.full(ORDERS, 1 / ORDERS)) + 1
    walked = walks(popularity, popularity.draw(ORDERS, rng), 9, rng)
    return [np.unique(row[:size]) for row, size in zip(walked, sizes.tolist(), strict=True)]


def _moments(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    now_ms = time.time_ns() // 1_000_000
    back = rng.random(count) * DAYS * 86_400_000
    return np.sort(now_ms - 600_000 - back.astype(np.int64))


def _iso(moments: NDArray[np.int64]) -> list[str]:
    return np.datetime_as_string(moments.astype("datetime64[ms]"), timezone="UTC").tolist()


def _write_events(path: Path, popularity: Popularity, rng: np.random.Generator) -> None:
    shoppers, walked = visit_walks(popularity, rng)
    order = rng.permutation(VISITS)
    starts = _moments(VISITS, rng)
    steps = np.cumsum(rng.integers(10_000, 90_000, (VISITS, STEPS)), axis=1)
    moments = np.minimum(starts[:, None] + steps, time.time_ns() // 1_000_000 - 1_000)
    carted = rng.random((VISITS, STEPS)) < CARTS
    texts = np.array(_iso(moments.ravel()), dtype=object).reshape(VISITS, STEPS)
    with path.open("w") as out:
        for at, visit in enumerate(order.tolist()):
            shopper = shopper_id(int(shoppers[visit]))
            who = f'"user_id":"{shopper}","session_id":"{session_id(visit)}"'
            out.writelines(
                _event_line(item, text, who, carted=cart)
                for item, text, cart in zip(
                    walked[visit].tolist(), texts[at], carted[at].tolist(), strict=True
                )
            )


def _event_line(item: int, moment: str, who: str, *, carted: bool) -> str:
    kind = "add-to-cart" if carted else "detail-page-view"
    extra = ',"value":19.5,"currency":"EUR","quantity":1' if carted else ""
    told = f'"event":"{kind}","item_id":"{item_id(item)}",{who}{extra}'
    return f'{{{told},"timestamp":"{moment}"}}\n'


def _write_orders(path: Path, popularity: Popularity, rng: np.random.Generator) -> None:
    moments = _iso(_moments(ORDERS, rng))
    buyers = rng.integers(0, SHOPPERS, ORDERS).tolist()
    with path.open("w") as out:
        out.write("order_id,item_id,customer_id,timestamp,quantity,price\n")
        for number, basket in enumerate(baskets(popularity, rng)):
            tail = f"{shopper_id(buyers[number])},{moments[number]},1,19.50\n"
            out.writelines(
                f"B{number:06d},{item_id(item)},{tail}" for item in basket.tolist()
            )
