"""What does the demo shop hold, for a seed and a moment?"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from productrecs.entrypoints.demo.assortment import catalog_items, stock_the_shelves
from productrecs.entrypoints.demo.chance import dice
from productrecs.entrypoints.demo.history import ORDER_COLUMNS, Exposure, History
from productrecs.entrypoints.demo.living import live_a_year
from productrecs.entrypoints.demo.shoppers import gather_the_crowd
from productrecs.entrypoints.demo.visits import Event, Search

__all__ = ["DAYS", "DOMAIN", "ORDER_COLUMNS", "SEED", "DemoStore", "generate"]

DOMAIN = "demo.localhost"
DAYS = 365
SEED = 2_026
"""Of the shop that `productrecs demo` opens."""


@dataclass(frozen=True, slots=True)
class DemoStore:
    """A shop's catalog and its year, in the shapes in which a merchant sends them.

    `items` are objects of `POST /v1/items`; `events` those of `import-events`, with every
    purchase; `order_rows` have the columns `ORDER_COLUMNS` of an order history (4.2) and
    what came back, too. `searches` were made in the search box, and `exposures` say who
    was met in the holdout test. All stand in the order of their time.
    """

    items: list[dict[str, object]]
    order_rows: list[dict[str, str]]
    events: list[Event]
    searches: list[Search]
    exposures: list[Exposure]


def generate(seed: int, now_ms: int, is_held_out: Callable[[str], bool]) -> DemoStore:
    """Return the shop as it stands at `now_ms` (UTC): the same for the same arguments.

    400 products, about 3,000 shoppers, 6,000 orders and 110,000 events over `DAYS` days,
    none later than `now_ms`. Whoever `is_held_out` names sees no list in the holdout test:
    what lists show is clicked on and bought by the others, at times.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date()
    days = [today - timedelta(days=back) for back in range(DAYS, -1, -1)]
    assortment = stock_the_shelves(days, dice(seed, "shelves"))
    colours = sorted({product.colour for product in assortment.products.values()})
    history = History(
        assortment,
        gather_the_crowd(colours, dice(seed, "crowd")),
        days,
        now_ms,
        dice(seed, "history"),
        is_held_out,
    )
    live_a_year(history)
    rows, sold = history.order_rows(), Counter[str]()
    for row in rows:
        sold[row["item_id"]] += int(row["quantity"])
    items = catalog_items(assortment, days, sold, dice(seed, "catalog"))
    searches = sorted(history.searches, key=lambda one: one.at_ms)
    return DemoStore(items, rows, history.events(), searches, history.exposures())
