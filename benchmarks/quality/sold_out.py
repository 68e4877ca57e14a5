"""Sold-out rescue: is what visitors chose instead of a product in its sold-out list?

The REES46 sample: the first 60 % of the sessions are learned. A question is a product that
a later session viewed and left for another of its category: it is marked as sold out, and
the other one should be among the first four. The baselines are the same store with the
setting off, and the best-selling products of the category. The sample covers three hours,
so the figures are small; nothing was chosen by them.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.quality.datasets import MissingDataError, folder
from benchmarks.quality.statistics import difference
from benchmarks.report import Figure
from productrecs.core.ids import StoreId
from productrecs.engines.browse import fit_sessions
from productrecs.engines.registry import BROWSE, TRENDING
from productrecs.engines.trending_and_category import TrendingModel
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.catalog_view import CardFields, CatalogView
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import empty_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.report import Report
    from productrecs.engines.array_types_and_sorting import Floats

_STORE: Final = StoreId("st_sold_out")
_LEARNED: Final = 0.6  # of the sessions
_NUM: Final = 8
_FIRST: Final = 4  # of the list are looked at
_FILE: Final = "events_rees46_sample/events.csv.gz"
_BASELINES: Final = ("setting off", "best of category")


@dataclass(slots=True)
class _Catalog:
    """Rows of the catalog; those of `changed` are read again at the next refresh."""

    rows: list[tuple[Any, ...]]
    changed: list[int]

    def all(self, _sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        if self.changed:
            return [self.rows[number] for number in self.changed]
        after = parameters[1]
        return [row for row in self.rows if isinstance(after, int) and row[0] > after]

    def close(self) -> None:
        """Close nothing."""


def measure(report: Report) -> None:
    """Add the share of questions answered among the first four, beside the baselines."""
    names, sessions, rows = _read()
    cut = int(len(sessions) * _LEARNED)
    learned = [(end, viewed) for end, viewed in sessions[:cut]]
    known = {item for _, viewed in learned for item in viewed}
    source = _Catalog(rows, [])
    catalog = CatalogView(_STORE, ZoneInfo("UTC"), _card)
    catalog.refresh(source, 1)
    shop = StoreState(catalog, _models(learned, len(names)), StoreSettings())
    hits: dict[str, list[bool]] = {"on": [], **{name: [] for name in _BASELINES}}
    groups: list[int] = []
    for code, (end, viewed) in enumerate(sessions[cut:]):
        for item, chosen in itertools.pairwise(viewed):
            if not {item, chosen} <= known or rows[item][10] != rows[chosen][10]:
                continue
            groups.append(code)
            _sell(catalog, source, item, stock=0)
            shop.settings = StoreSettings()
            hits["on"].append(chosen in _first(shop, names[item], end))
            shop.settings = StoreSettings(replace_sold_out=False)
            hits["setting off"].append(chosen in _first(shop, names[item], end))
            eligible = shop.eligible_items(end, "product", "mix")
            best = eligible.best_of_category(json.loads(rows[item][10])[0])
            hits["best of category"].append(chosen in best[:_FIRST])
            _sell(catalog, source, item, stock=None)
    mine = np.array(hits["on"], float)
    for name in _BASELINES:
        theirs = np.array(hits[name], float)
        _add(report, name, mine, theirs, np.unique(groups, return_inverse=True)[1])


def _add(report: Report, name: str, mine: Floats, theirs: Floats, groups: Any) -> None:
    gain = difference(mine, theirs, groups)
    value, baseline = float(mine.mean()), float(theirs.mean())
    report.add(
        Figure(
            f"sold-out page, hit rate of the first {_FIRST}, beside {name}",
            value,
            "share",
            baseline,
            value / baseline if baseline else None,
            "> floor",
            gain.low > 0,
            f"{len(mine)} questions; difference {gain}",
        )
    )


def _first(shop: StoreState, item_id: str, now_ms: int) -> list[int]:
    request = RecommendationRequest(Source.MIX, _NUM, item_id)
    return [pick.item for pick in recommend(shop, request, [], now_ms)[:_FIRST]]


def _sell(catalog: CatalogView, source: _Catalog, item: int, *, stock: int | None) -> None:
    row = list(source.rows[item])
    row[3], row[9] = catalog.seq + 1, stock
    source.rows[item], source.changed = tuple(row), [item]
    catalog.refresh(source, catalog.seq + 1)


def _models(learned: Sequence[tuple[int, Sequence[int]]], n_items: int) -> Any:
    codes = [code for code, (_, viewed) in enumerate(learned) for _ in viewed]
    items = [item for _, viewed in learned for item in viewed]
    times = [end for end, viewed in learned for _ in viewed]
    sessions = fit_sessions(
        np.array(codes, np.int64),
        np.array(items, np.int32),
        np.array(times, np.int64),
        n_items,
    )
    trending = np.argsort(-np.bincount(items, minlength=n_items), kind="stable")
    models = empty_models().replacing(BROWSE, sessions)
    return models.replacing(TRENDING, TrendingModel.from_ranking(trending.astype(np.int32)))


def _read() -> tuple[list[str], list[tuple[int, list[int]]], list[tuple[Any, ...]]]:
    """Return item ids, sessions (last event in UTC ms, items viewed) and catalog rows."""
    path = folder() / _FILE
    if not path.is_file():
        raise MissingDataError(f"{path} is missing")
    numbers: dict[str, int] = {}
    rows: list[tuple[Any, ...]] = []
    visits: dict[str, tuple[int, list[int]]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for event in csv.DictReader(file):
            item_id = event["product_id"]
            number = numbers.setdefault(item_id, len(numbers))
            if number == len(rows):
                rows.append(_row(number, event))
            moment = datetime.fromisoformat(event["event_time"].replace("Z", "+00:00"))
            viewed = visits.get(event["user_session"], (0, []))[1]
            if event["event_type"] == "view" and viewed[-1:] != [number]:
                viewed.append(number)
            visits[event["user_session"]] = (int(moment.timestamp() * 1000), viewed)
    return list(numbers), sorted(visits.values()), rows


def _row(number: int, event: dict[str, str]) -> tuple[Any, ...]:
    title = f"{event['brand']} {event['category_code'].rpartition('.')[2]}".strip()
    categories = json.dumps([event["category_id"]])
    price = float(event["price"])
    more = (None, None, price, None, None, categories, None, None, 1)
    attributes = (None, "[]", "[]", "[]", "[]", None, "[]")
    return (number, event["product_id"], True, 1, title, *more, *attributes)


def _card(fields: CardFields) -> bytes:
    return json.dumps({"title": fields.title}).encode()[:-1]
