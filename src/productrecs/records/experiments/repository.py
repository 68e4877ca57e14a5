"""Experiment repository: SQL of tests, and what their arms get while they run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.experiments.arm_assignment import ArmSplit
from productrecs.records.experiments.experiment import (
    SEARCH,
    Experiment,
    ExperimentContent,
    ExperimentError,
    ExperimentState,
    changed_placement,
    changed_settings,
)
from productrecs.records.placements.placement import Placement
from productrecs.records.placements.repository import PlacementsAndBundles
from productrecs.storage.sql.dialects import RawReader
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.storage.sql.store_scoped_repository import StoreScopedRepository
from productrecs.storage.sql.tables import experiment_days, experiments, exposures
from productrecs.tenancy.accounts.store_settings import SettingValue

_COLUMNS: Final = (
    "name",
    "number",
    "subject",
    "content",
    "state",
    "created_at",
    "started_at",
    "started_seq",
    "ended_at",
    "winner",
)
_ALL_SQL: Final = (
    f"SELECT {', '.join(_COLUMNS)} FROM experiments "  # noqa: S608 - own names
    "WHERE store_id = ? ORDER BY number DESC"
)


@dataclass(frozen=True, slots=True)
class RunningExperiment:
    """A running test: its draw, and what each arm gets.

    `placements` are empty for a test of search, `settings` for one of a placement.
    """

    name: str
    split: ArmSplit
    placements: Mapping[str, Placement] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, SettingValue]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunningExperiments:
    """A store's running tests, by placement; that of search is under an empty name."""

    by_placement: Mapping[str, RunningExperiment] = field(default_factory=dict)

    @property
    def search(self) -> RunningExperiment | None:
        """The running test of search."""
        return self.by_placement.get("")

    @classmethod
    def load(
        cls, reader: RawReader, store_id: StoreId, placements: PlacementsAndBundles
    ) -> Self:
        """Return the running tests of the store's placements and of search."""
        rows = reader.all(_ALL_SQL, (store_id,)) if placements.seq else []
        running = [
            one for one in map(_experiment, rows) if one.state is ExperimentState.RUNNING
        ]
        served = (
            (one.content.placement, _resolve_arms(one, placements)) for one in running
        )
        return cls({name: one for name, one in served if one is not None})


def _resolve_arms(
    experiment: Experiment, placements: PlacementsAndBundles
) -> RunningExperiment | None:
    """Return what the arms get; None if that cannot be made any more."""
    content, split = experiment.content, experiment.split
    arms = [content.variant(name) for name in content.shares]
    try:
        if content.subject == SEARCH:
            settings = {arm.name: changed_settings(arm) for arm in arms}
            return RunningExperiment(experiment.name, split, settings=settings)
        placement = placements.by_name[content.placement]
        variants = {
            arm.name: replace(
                placement,
                content=changed_placement(placement.content, arm),
                variant=arm.name,
                test=experiment.name,
            )
            for arm in arms
        }
    except (KeyError, ExperimentError):
        return None
    return RunningExperiment(experiment.name, split, variants)


def stores_with_open_or_recent_tests(
    connection: sa.Connection, ended_after_ms: int
) -> set[StoreId]:
    """Return the stores of tests that run, pause or ended after `ended_after_ms`."""
    is_open = experiments.c.state.in_(
        [ExperimentState.RUNNING.value, ExperimentState.PAUSED.value]
    )
    ended = sa.and_(
        experiments.c.state == ExperimentState.ENDED.value,
        experiments.c.ended_at > ended_after_ms,
    )
    query = sa.select(experiments.c.store_id).where(sa.or_(is_open, ended))
    return set(connection.execute(query).scalars())


class ExperimentRepository(StoreScopedRepository):
    """One store's tests, inside one transaction; never commits."""

    def all(self) -> list[Experiment]:
        """Return every test, the newest first."""
        query = sa.select(*(experiments.c[name] for name in _COLUMNS))
        query = query.where(experiments.c.store_id == self._store_id)
        rows = self._connection.execute(query.order_by(experiments.c.number.desc()))
        return [_experiment(row) for row in rows]

    def newest_seq(self) -> int:
        """Return the sequence number of the store's newest record."""
        return log_seq(self._connection, self._store_id)

    def add(self, experiment: Experiment) -> None:
        """Store a new test."""
        self._insert_row(experiments, **_experiment_columns(experiment))

    def replace(self, experiment: Experiment) -> None:
        """Replace the test of that name."""
        self._update_rows(
            experiments,
            experiments.c.name == experiment.name,
            **_experiment_columns(experiment),
        )

    def remove_and_purge_old_exposures(self, experiment: Experiment) -> None:
        """Delete a test, and what earlier removed tests have left.

        Its own exposures and results stay until another removal: an undo needs them.
        """
        self._delete_rows(experiments, name=experiment.name)
        kept = {one.split.name for one in (*self.all(), experiment)}
        for table in (exposures, experiment_days):
            self._delete_rows(table, table.c.test.like("test:%"), table.c.test.not_in(kept))


def _experiment_columns(experiment: Experiment) -> dict[str, object]:
    row = {name: getattr(experiment, name) for name in _COLUMNS if name != "subject"}
    return row | {
        "subject": experiment.content.subject,
        "content": msgspec.json.encode(experiment.content).decode(),
        "state": experiment.state.value,
    }


def _experiment(row: Sequence[Any]) -> Experiment:
    name, number, _, text, state, *times = row
    content = msgspec.json.decode(text, type=ExperimentContent)
    return Experiment(name, number, content, ExperimentState(state), *times)
