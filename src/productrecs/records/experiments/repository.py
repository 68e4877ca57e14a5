"""Experiment repository: SQL of tests, identities and exposures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

import msgspec
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.records.erasures.repository import ErasedNameRepository
from productrecs.records.experiments.arm_assignment import ArmSplit, Exposure
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
from productrecs.storage.sql.dialects import RawReader, upsert
from productrecs.storage.sql.store_counters_and_versions import log_seq
from productrecs.storage.sql.store_repository import StoreRepository
from productrecs.storage.sql.tables import experiment_days, experiments, exposures
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store_settings import SettingValue

_PERSON_SQL: Final = (
    "COALESCE((SELECT customer FROM shopper_links WHERE store_id = ? AND session = ?), ?)"
)
_KNOWN_SQL: Final = (
    f"SELECT {_PERSON_SQL}, (SELECT unit FROM exposures "  # noqa: S608 - own constants
    f"WHERE store_id = ? AND identity = {_PERSON_SQL} ORDER BY first_at, arm LIMIT 1)"
)
_SESSION_UNIT_SQL: Final = (
    "SELECT unit FROM exposures WHERE store_id = ? AND identity IN "
    "(SELECT session FROM shopper_links WHERE store_id = ? AND customer = ?) "
    "ORDER BY first_at, unit LIMIT 1"
)
_FIRST_SESSION_SQL: Final = (
    "SELECT session FROM shopper_links WHERE store_id = ? AND customer = ? "
    "ORDER BY since_seq, session LIMIT 1"
)


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


def stores_with_started_tests(
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


class ExperimentRepository(StoreRepository):
    """One store's tests, inside one transaction; never commits."""

    def all(self) -> list[Experiment]:
        """Return every test, the newest first."""
        query = sa.select(*(experiments.c[name] for name in _COLUMNS))
        query = query.where(experiments.c.store_id == self._store_id)
        rows = self._connection.execute(query.order_by(experiments.c.number.desc()))
        return [_experiment(row) for row in rows]

    def log_head(self) -> int:
        """Return the sequence number of the store's newest record."""
        return log_seq(self._connection, self._store_id)

    def add(self, experiment: Experiment) -> None:
        """Store a new test."""
        self._insert_row(experiments, **_experiment_columns(experiment))

    def put(self, experiment: Experiment) -> None:
        """Replace the test of that name."""
        self._update_rows(
            experiments,
            experiments.c.name == experiment.name,
            **_experiment_columns(experiment),
        )

    def remove_with_exposures(self, experiment: Experiment) -> None:
        """Delete a test.

        Its exposures and results stay until another test is removed: an undo needs them.
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


class StoredIdentity(NamedTuple):
    """The stored data about the identities in a call.

    `names` are the customers linked to the identities. `unit` is the name by which they
    were assigned; without one, `session` is the first session linked to them.
    """

    names: tuple[str, ...]
    unit: str | None
    session: str | None

    @property
    def name(self) -> str | None:
        """The name that determines the arm, if the database has one."""
        return self.unit or self.session


NOBODY: Final = StoredIdentity((), None, None)
"""Without any stored data."""


def read_stored_identity(
    reader: RawReader, store_id: StoreId, identities: Sequence[str]
) -> StoredIdentity:
    """Return the shopper of a call; of two identities the first known one counts.

    A session leads to its customer, and a customer to all linked sessions. A shopper with
    a stored unit costs one indexed read.
    """
    names: list[str] = []
    session: str | None = None
    for identity in identities:
        parameters = (store_id, identity, identity)
        name, unit = reader.all(_KNOWN_SQL, (*parameters, store_id, *parameters))[0]
        names.append(name)
        if unit is None:
            sessions = reader.all(_SESSION_UNIT_SQL, (store_id, store_id, name))
            unit = sessions[0][0] if sessions else None
        if unit is not None:
            return StoredIdentity(tuple(names), unit, session)
        if session is None:
            sessions = reader.all(_FIRST_SESSION_SQL, (store_id, name))
            session = sessions[0][0] if sessions else None
    return StoredIdentity(tuple(names), None, session)


def store_exposures(transaction: sa.Connection, batch: Sequence[Exposure]) -> None:
    """Store exposures of any stores; the first of each counts."""
    for store_id, rows in AccountRepository(transaction).lock_each_store(batch):
        ExposureRepository(transaction, store_id).add(rows)


class ExposureRepository(StoreRepository):
    """One store's exposures, inside one transaction; never commits."""

    def add(self, batch: Sequence[Exposure]) -> None:
        """Store exposures; existing ones are not changed.

        Erased shoppers get none; if only the unit was erased, the current name replaces it.
        """
        erased = ErasedNameRepository(self._connection, self._store_id).find(
            name for exposure in batch for name in (exposure.identity, exposure.unit)
        )
        rows = [
            {
                "store_id": self._store_id,
                "identity": exposure.identity,
                "test": exposure.test,
                "arm": str(exposure.arm),
                "unit": exposure.identity
                if erased.covers(exposure.unit, exposure.first_at)
                else exposure.unit,
                "first_at": exposure.first_at,
            }
            for exposure in batch
            if not erased.covers(exposure.identity, exposure.first_at)
        ]
        if not rows:
            return
        # Write rows in the same order, too.
        rows.sort(key=lambda row: (str(row["identity"]), str(row["test"])))
        query = upsert(self._connection, exposures).on_conflict_do_nothing()
        self._connection.execute(query, rows)
