"""Which figures of speed are there, and in which order are they measured?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.report import Figure
from benchmarks.speed import (
    attributing,
    counting,
    dashboard,
    footprint,
    forecasting,
    guessing,
    ingest,
    large_store,
    learning,
    many_stores,
    overload,
    painting,
    photos,
    pushing,
    reads,
    saving,
    search_peer,
    searching,
    uploading,
)
from benchmarks.speed.servers import ServerError
from benchmarks.speed.stores import CommandError, big_shop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.report import Report
    from benchmarks.speed.stores import BigShop

ON_THE_BIG_SHOP: dict[str, Callable[[Report, BigShop], None]] = {
    "start": footprint.start,
    "memory": footprint.memory,
    "training": learning.training,
    "recommendations": reads.recommendations,
    "events": ingest.events,
    "import-items": ingest.import_items,
    "freshness": learning.freshness,
    "backup": saving.backup,
    "dashboard": dashboard.dashboard,
}
ALONE: dict[str, Callable[[Report], None]] = {
    "import-orders": ingest.import_orders,
    "upload": uploading.upload,
    "metering": counting.metering,
    "attribution": attributing.attribution,
    "search": searching.search,
    "search-peer": search_peer.search_peer,
    "forecast": forecasting.forecasting,
    "photos": photos.photos,
    "painting": painting.painting,
    "pushes": pushing.pushing,
    "guessing": guessing.guessing,
    "overload": overload.overload,
    "rebuild": large_store.rebuild,
    "large-store": large_store.large_store,
    "many-stores": many_stores.many_stores,
}
NAMES = (*ALONE, *ON_THE_BIG_SHOP)


def measure(report: Report, names: Sequence[str] = ()) -> None:
    """Measure the named figures, or all of them; one that fails does not stop the others.

    Raises:
        ValueError: when a name is unknown; the message lists the known ones.
    """
    unknown = set(names) - set(NAMES)
    if unknown:
        raise ValueError(f"no figure {', '.join(sorted(unknown))}; there are {NAMES}")
    chosen = names or NAMES
    for name in chosen:
        try:
            _measure(report, name)
        except (CommandError, ServerError) as error:
            report.add(Figure(name, math.nan, "", ok=False, note=f"FAILED: {error}"))


def _measure(report: Report, name: str) -> None:
    if name in ALONE:
        ALONE[name](report)
    else:
        ON_THE_BIG_SHOP[name](report, big_shop())
