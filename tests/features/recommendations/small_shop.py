"""Small store in memory: models built from literals, without a database."""

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.engines.browse import fit_sessions
from productrecs.engines.copurchase import fit_copurchase
from productrecs.engines.registry import BROWSE, BUY, TRENDING
from productrecs.engines.trending_and_category import TrendingModel
from productrecs.features.recommendations.serving_state import StoreState
from productrecs.records.catalog.catalog_view import CardFields, CatalogView
from productrecs.records.events.shopper_history_cache import ShopperHistory
from productrecs.records.merchandising.rule import Rule, RuleContent, by_priority
from productrecs.records.merchandising.rules_in_force import RulesInForce, RulesView
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.trained_models import empty_models

NOW = 1_772_366_400_000
STORE = StoreId("st_small")
UTC = ZoneInfo("UTC")


@dataclass
class CatalogRows:
    """A database that holds one catalog; every row is an item's."""

    items: list[tuple[Any, ...]] = field(default_factory=list)

    def add(
        self,
        item_id: str,
        categories: Sequence[str] = (),
        price: float | None = 10.0,
        stock: int | None = None,
        title: str | None = None,
    ) -> None:
        """Push one item; its title is its id unless another is given."""
        number, title = len(self.items), title or item_id
        where = (json.dumps(list(categories)), None, None, 1)
        attributes = (None, "[]", "[]", "[]", "[]", None, "[]")
        row = (number, item_id, True, 1, title, None, None, price, None, stock, *where)
        self.items.append(row + attributes)

    def all(self, _sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows after the one that was read last."""
        _, after = parameters
        return [row for row in self.items if isinstance(after, int) and row[0] > after]

    def close(self) -> None:
        """Hold nothing."""


def small_shop(
    rows: CatalogRows,
    baskets: Sequence[Sequence[int]],
    visits: Sequence[Sequence[int]],
    trending: Sequence[int],
    settings: StoreSettings | None = None,
) -> StoreState:
    """Return a shop of that catalog, which learned from these groups of item numbers."""
    catalog = CatalogView(STORE, UTC, _card)
    catalog.refresh(rows, 1)
    size = len(rows.items)
    orders, bought = _columns(baskets)
    sessions, seen = _columns(visits)
    index = fit_sessions(
        sessions,
        seen.astype(np.int32),
        NOW - DAY_MS + np.arange(len(seen), dtype=np.int64),
        size,
    )
    models = (
        empty_models()
        .replacing(BUY, fit_copurchase(orders, bought.astype(np.int32), None, size))
        .replacing(BROWSE, index)
        .replacing(TRENDING, TrendingModel.from_ranking(np.array(trending, np.int32)))
    )
    rules = RulesView(STORE, UTC, catalog)
    return StoreState(catalog, models, settings or StoreSettings(), rules)


def _card(fields: CardFields) -> bytes:
    return json.dumps({"title": fields.title}).encode()[:-1]


def obey(shop: StoreState, *contents: RuleContent) -> list[Rule]:
    """Let a shop obey these rules; their items are item numbers written as texts."""
    rules = [Rule(number, content, 0, 0) for number, content in enumerate(contents, 1)]
    assert shop.rules is not None
    selected = {
        rule.rule_id: np.array([int(one) for one in rule.content.target.items], np.int64)
        for rule in rules
    }
    shop.rules.in_force = RulesInForce(
        tuple(by_priority(rules)), selected, len(shop.catalog)
    )
    return rules


def obey_nothing(shop: StoreState) -> None:
    """Let a shop have no rules."""
    assert shop.rules is not None
    shop.rules.in_force = None


def shopper(
    name: str, recent: Sequence[int] = (), bought: Sequence[int] = (), at: int = 1
) -> ShopperHistory:
    """Return somebody who saw and bought these, the newest last."""
    history = ShopperHistory(name, 1, array("q", recent), array("q", bought))
    history.bought_at = array("q", [at] * len(bought))
    return history


def _columns(groups: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    codes = [code for code, group in enumerate(groups) for _ in group]
    return np.array(codes, np.int64), np.array([i for one in groups for i in one], np.int64)
