"""Due stores: stores with enough clicks whose ranker is at least a day old.

Live impressions are counted when they arrive. Imported ones are counted in the metadata of
the next model, so a store need not wait after an import.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.engines.item_impression_stats import ItemStats
from productrecs.storage.database import Database
from productrecs.storage.model_files import model_metadata
from productrecs.storage.snapshot_cache import SnapshotCache
from productrecs.storage.snapshots import MODELS, SnapshotName
from productrecs.tenancy.accounts.store import Store
from productrecs.training.repository import (
    count_impressions_and_clicks,
    serving_rankers,
    trained_at,
)


@dataclass(frozen=True, slots=True)
class MinimumData:
    """Minimum data for training a ranker."""

    clicks: int = 2_000
    shown: int = 20_000


MINIMUM_DATA: Final = MinimumData()
_SHOWN: Final = "shown"
_CLICKED: Final = "clicked"


def impressions_and_clicks(trials: ItemStats) -> dict[str, int]:
    """Return the totals of impressions and clicks in a model."""
    return {_SHOWN: trials.total, _CLICKED: trials.all_clicks}


def stores_to_rank(
    database: Database,
    stores: Iterable[Store],
    now_ms: int,
    models: Path,
    snapshots: SnapshotCache | None = None,
) -> list[StoreId]:
    """Return the stores whose ranker is due: once a day, above the minimum data.

    `models` is the folder of the stores' models.
    """
    with database.reading() as connection:
        counts, trained_times = (
            count_impressions_and_clicks(connection),
            trained_at(connection),
        )
        served = serving_rankers(connection)
    found = []
    for store in stores:
        since = now_ms - trained_times.get(store.store_id, 0)
        if not store.settings.learned_order or abs(since) < DAY_MS:
            continue
        has_enough = _has_enough(*counts.get(store.store_id, (0, 0)))
        if not has_enough and (model_id := served.get(store.store_id)):
            if snapshots is not None:
                snapshots.fetch(SnapshotName(store.store_id, MODELS, model_id))
            facts = model_metadata(models / store.store_id / model_id)
            has_enough = _has_enough(facts.get(_SHOWN, 0), facts.get(_CLICKED, 0))
        if has_enough:
            found.append(store.store_id)
    return found


def _has_enough(shown: int, clicks: int) -> bool:
    return shown >= MINIMUM_DATA.shown and clicks >= MINIMUM_DATA.clicks
