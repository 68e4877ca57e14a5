"""Due stores: those with enough clicks whose ranking was last trained a day ago.

Live lists are counted as they come. Those of an imported file are counted in the metadata
of the next model, so that a store that imports its history need not wait.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.engines.item_stats import ItemStats
from productrecs.storage.database import Database
from productrecs.storage.model_files import model_metadata
from productrecs.tenancy.accounts.store import Store
from productrecs.training.ranking.repository import (
    count_impressions_and_clicks,
    serving_rankers,
    trained_at,
)


@dataclass(frozen=True, slots=True)
class MinimumData:
    """From how much on an order is learned."""

    clicks: int = 2_000
    shown: int = 20_000


MINIMUM_DATA: Final = MinimumData()
_SHOWN: Final = "shown"
_CLICKED: Final = "clicked"


def impressions_and_clicks(trials: ItemStats) -> dict[str, int]:
    """Return the totals of impressions and clicks in a model."""
    return {_SHOWN: trials.total, _CLICKED: trials.all_clicks}


def stores_to_rank(
    database: Database, stores: Iterable[Store], now_ms: int, models: Path
) -> list[StoreId]:
    """Return the stores whose order should be learned now: once a day, from enough on.

    `models` is the folder of the stores' models.
    """
    with database.reading() as connection:
        counts, learned = count_impressions_and_clicks(connection), trained_at(connection)
        served = serving_rankers(connection)
    found = []
    for store in stores:
        since = now_ms - learned.get(store.store_id, 0)
        if not store.settings.learned_order or abs(since) < DAY_MS:
            continue
        plenty = _is_plenty(*counts.get(store.store_id, (0, 0)))
        if not plenty and (model_id := served.get(store.store_id)):
            facts = model_metadata(models / store.store_id / model_id)
            plenty = _is_plenty(facts.get(_SHOWN, 0), facts.get(_CLICKED, 0))
        if plenty:
            found.append(store.store_id)
    return found


def _is_plenty(shown: int, clicks: int) -> bool:
    return shown >= MINIMUM_DATA.shown and clicks >= MINIMUM_DATA.clicks
