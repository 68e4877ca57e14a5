"""Hyperparameter repository: SQL of the last tuned values, and of due stores."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.storage.sql.dialects import upsert
from productrecs.storage.sql.store_heads import heads_of_all_stores
from productrecs.storage.sql.tables import insights

TUNED_INSIGHT: Final = "constants"
_ENGINE: Final = "companions"
Changes = Mapping[str, float]


class TunedParameters(NamedTuple):
    """Tuned values, the time of the tuning, and the extent of its log."""

    options: CopurchaseOptions | None  # None: not enough orders
    chosen_at: int
    applied_seq: int


class TuningStatus(NamedTuple):
    """The extent of a store's log, and the time and extent of its last tuning."""

    store_id: StoreId
    seq: int
    chosen_at: int | None
    applied_seq: int | None


def tuning_statuses(connection: sa.Connection) -> list[TuningStatus]:
    """Return the tuning status of every store."""
    heads = heads_of_all_stores("seq")
    own_insight = (insights.c.store_id == heads.c.store_id) & (
        insights.c.name == TUNED_INSIGHT
    )
    query = sa.select(
        heads.c.store_id,
        heads.c.seq,
        insights.c.computed_at,
        insights.c.applied_seq,
    ).select_from(heads.outerjoin(insights, own_insight))
    rows = connection.execute(query.order_by(heads.c.store_id))
    return [TuningStatus(*row) for row in rows]


class HyperparameterRepository:
    """One store's tuned values, inside one transaction; never commits."""

    def __init__(self, transaction: sa.Connection, store_id: StoreId) -> None:
        """Access `store_id`'s rows only."""
        self._transaction = transaction
        self._store_id = store_id

    def options(self) -> CopurchaseOptions:
        """Return the store's hyperparameters; the defaults if none were tuned."""
        parameters = self.last()
        return (parameters and parameters.options) or CopurchaseOptions()

    def last(self) -> TunedParameters | None:
        """Return the last tuned values; None before the first tuning."""
        query = sa.select(
            insights.c.computed_at, insights.c.applied_seq, insights.c.result
        ).where(insights.c.store_id == self._store_id, insights.c.name == TUNED_INSIGHT)
        row = self._transaction.execute(query).first()
        if row is None:
            return None
        stored: dict[str, Any] = json.loads(row[2])
        options = None
        if _ENGINE in stored["engines"]:  # an earlier release tuned other engines too
            options = with_changes(CopurchaseOptions(), stored["changes"][_ENGINE])
        return TunedParameters(options, int(row[0]), int(row[1]))

    def store(self, parameters: TunedParameters) -> None:
        """Store the tuned values; replaces the last ones and omits defaults."""
        options = parameters.options
        stored: dict[str, Any] = {
            "changes": {} if options is None else {_ENGINE: changes_of(options)},
            "engines": [] if options is None else [_ENGINE],
        }
        values = {
            "computed_at": parameters.chosen_at,
            "applied_seq": parameters.applied_seq,
            "result": json.dumps(stored, allow_nan=False),
        }
        added = upsert(self._transaction, insights).values(
            store_id=self._store_id, name=TUNED_INSIGHT, **values
        )
        query = added.on_conflict_do_update(
            index_elements=["store_id", "name"], set_=values
        )
        self._transaction.execute(query)


def with_changes(options: CopurchaseOptions, changes: Changes) -> CopurchaseOptions:
    """Return the options with some values changed, each converted to its field's type.

    Names that this release does not know are ignored.
    """
    values: dict[str, Any] = {
        name: type(getattr(options, name))(value)
        for name, value in changes.items()
        if name in options.__dataclass_fields__
    }
    return replace(options, **values)


def changes_of(options: CopurchaseOptions) -> dict[str, float]:
    """Return the differences from the defaults, by name."""
    defaults = asdict(CopurchaseOptions())
    return {
        name: value for name, value in asdict(options).items() if value != defaults[name]
    }
