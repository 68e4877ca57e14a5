"""Demo store generator: the catalog and a year of history, from a seed and a moment."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from demo_store.assortment import build_catalog_items, create_assortment
from demo_store.random_choice import seeded_random
from demo_store.shopper_simulation import simulate_year
from demo_store.shoppers import create_shoppers
from demo_store.simulated_visit import Event, SimulatedSearch
from demo_store.store_history import ORDER_COLUMNS, HoldoutExposure, StoreHistory

__all__ = [
    "DAYS",
    "DOMAIN",
    "ORDER_COLUMNS",
    "SEED",
    "GeneratedStore",
    "generate_demo_store",
]

DOMAIN = "demo.localhost"
DAYS = 365
SEED = 2_026
"""The seed of the shop of `productrecs demo`."""


@dataclass(frozen=True, slots=True)
class GeneratedStore:
    """A shop's catalog and its year of history, in the formats of the public interface.

    `items` are objects of `POST /v1/items`; `events` those of `import-events`, including
    every purchase; `order_rows` have the columns `ORDER_COLUMNS` of an order history (4.2)
    and include returns. `searches` are those of the search box, and `exposures` those of
    the holdout test. All are in order of time.
    """

    items: list[dict[str, object]]
    order_rows: list[dict[str, str]]
    events: list[Event]
    searches: list[SimulatedSearch]
    exposures: list[HoldoutExposure]


def generate_demo_store(
    seed: int, now_ms: int, is_held_out: Callable[[str], bool]
) -> GeneratedStore:
    """Return the shop at `now_ms` (UTC): deterministic for the same arguments.

    400 products, about 3,000 shoppers, 6,000 orders and 110,000 events over `DAYS` days,
    none later than `now_ms`. In the holdout test, shoppers of whom `is_held_out` is true
    see no lists; the others sometimes click and buy products of lists.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    days = [today - timedelta(days=days_ago) for days_ago in range(DAYS, -1, -1)]
    assortment = create_assortment(days, seeded_random(seed, "shelves"))
    colours = sorted({product.colour for product in assortment.products.values()})
    history = StoreHistory(
        assortment,
        create_shoppers(colours, seeded_random(seed, "crowd")),
        days,
        now_ms,
        seeded_random(seed, "history"),
        is_held_out,
    )
    simulate_year(history)
    rows, sold = history.order_rows(), Counter[str]()
    for row in rows:
        sold[row["item_id"]] += int(row["quantity"])
    items = build_catalog_items(assortment, days, sold, seeded_random(seed, "catalog"))
    searches = sorted(history.searches, key=lambda search: search.at_ms)
    return GeneratedStore(items, rows, history.events(), searches, history.exposures())
