"""Hyperparameter repository: the last tuned values of a store."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from productrecs.engines.copurchase import CopurchaseOptions
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.stored_insights import (
    StoredInsight,
    read_insight,
    store_insight,
)

TUNED_INSIGHT: Final = "constants"
_ENGINE: Final = "companions"
Changes = Mapping[str, float]


class TunedParameters(NamedTuple):
    """Tuned values, the time of the tuning, and the extent of its log."""

    options: CopurchaseOptions | None  # None: not enough orders
    chosen_at: int
    applied_seq: int


class HyperparameterRepository(StoreScopedRepository):
    """One store's tuned values, inside one transaction; never commits."""

    def options(self) -> CopurchaseOptions:
        """Return the store's hyperparameters; the defaults if none were tuned."""
        parameters = self.last_tuned()
        return (parameters and parameters.options) or CopurchaseOptions()

    def last_tuned(self) -> TunedParameters | None:
        """Return the last tuned values; None before the first tuning."""
        insight = read_insight(self._connection, self._store_id, TUNED_INSIGHT)
        if insight is None:
            return None
        stored = insight.result
        options = None
        if _ENGINE in stored["engines"]:  # an earlier release tuned other engines too
            options = with_changes(CopurchaseOptions(), stored["changes"][_ENGINE])
        return TunedParameters(options, insight.computed_at, insight.applied_seq)

    def store(self, parameters: TunedParameters) -> None:
        """Store the tuned values; replaces the last ones and omits defaults."""
        options = parameters.options
        stored: dict[str, Any] = {
            "changes": {} if options is None else {_ENGINE: changes_from_defaults(options)},
            "engines": [] if options is None else [_ENGINE],
        }
        insight = StoredInsight(parameters.chosen_at, parameters.applied_seq, stored)
        store_insight(self._connection, self._store_id, TUNED_INSIGHT, insight)


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


def changes_from_defaults(options: CopurchaseOptions) -> dict[str, float]:
    """Return the differences from the defaults, by name."""
    defaults = asdict(CopurchaseOptions())
    return {
        name: value for name, value in asdict(options).items() if value != defaults[name]
    }
