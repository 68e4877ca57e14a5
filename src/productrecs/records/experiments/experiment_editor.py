"""Experiment editor: lists, starts, pauses and ends a store's tests; applies winners."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from productrecs.core.clock import Clock
from productrecs.records.experiments.experiment import (
    CONTROL,
    MAX_EXPERIMENTS,
    Experiment,
    ExperimentContent,
    ExperimentError,
    ExperimentState,
    UnknownExperimentError,
    changed_placement,
    changed_settings,
    validate_experiment,
)
from productrecs.records.experiments.repository import ExperimentRepository
from productrecs.records.merchandising.repository import RuleRepository
from productrecs.records.placements.placement import PlacementContent
from productrecs.records.placements.repository import PlacementRepository
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store

_FROM: Final[Mapping[str, tuple[ExperimentState, ...]]] = MappingProxyType(
    {
        "start": (ExperimentState.DRAFT, ExperimentState.PAUSED),
        "pause": (ExperimentState.RUNNING,),
        "stop": (ExperimentState.RUNNING, ExperimentState.PAUSED),
        "choose": (ExperimentState.RUNNING, ExperimentState.PAUSED, ExperimentState.ENDED),
        "remove": (ExperimentState.DRAFT, ExperimentState.ENDED),
    }
)
"""The states in which each action is allowed."""

ACTIONS: Final = tuple(_FROM)


@dataclass(frozen=True, slots=True)
class ExperimentEditor:
    """Reads and changes one store's tests; `actor` is the author of changed rules.

    A change is one transaction, and every process follows it within a second.
    """

    database: Database
    store: Store
    clock: Clock
    actor: str

    def all(self) -> list[Experiment]:
        """Return every test, the newest first."""
        with self.database.reading() as connection:
            return ExperimentRepository(connection, self.store.store_id).all()

    def find(self, name: str) -> Experiment:
        """Return the test of that name.

        Raises:
            UnknownExperimentError: when there is none.
        """
        return _find_experiment(self.all(), name)

    def add(self, name: str, content: ExperimentContent) -> Experiment:
        """Store a new test as a draft and return it.

        Raises:
            ExperimentError: when it is invalid, its name is taken, or there are too many.
            UnknownPlacementError: when its placement does not exist.
            StoreDeletedError: when the store was deleted.
        """
        with self.database.transaction() as transaction:
            return self.add_in_transaction(
                WriteTransaction(self.database, transaction), name, content
            )

    def add_in_transaction(
        self, work: WriteTransaction, name: str, content: ExperimentContent
    ) -> Experiment:
        """Store a new test as `add` does, in a transaction of the caller."""
        repository = ExperimentRepository(work.connection, self.store.store_id)
        placements = PlacementRepository(work.connection, self.store.store_id)
        number, stored = placements.lock_and_next_version(), repository.all()
        placement = _tested_placement(placements, content)
        clean = validate_experiment(name, content, placement)
        if any(experiment.name == name for experiment in stored):
            message = f"there is a test {name} already; choose another name"
            raise ExperimentError(message, "name")
        if len(stored) >= MAX_EXPERIMENTS:
            message = f"a store may have {MAX_EXPERIMENTS} tests; remove an ended one"
            raise ExperimentError(message, "name")
        draft = Experiment(name, number, clean, ExperimentState.DRAFT, self.clock())
        repository.add(draft)
        return draft

    def act(self, name: str, action: str, variant: str = "") -> Experiment:
        """Start, pause, stop or remove a test, or choose a `variant`; return the test.

        A chosen variant becomes the placement, or the settings of search, for everybody.

        Raises:
            UnknownExperimentError: when there is no test of that name.
            ExperimentError: when its state does not allow the action.
            StoreDeletedError: when the store was deleted.
        """
        with self.database.transaction() as transaction:
            work = WriteTransaction(self.database, transaction)
            return self.act_in_transaction(work, name, action, variant)

    def act_in_transaction(
        self, work: WriteTransaction, name: str, action: str, variant: str = ""
    ) -> Experiment:
        """Change a test as `act` does, in a transaction of the caller."""
        if action not in _FROM:
            message = f"an action is one of {', '.join(ACTIONS)}"
            raise ExperimentError(message, "action")
        # In the order of all changes of a store, which prevents deadlocks.
        AccountRepository(work.connection).lock(self.store.store_id)
        repository = ExperimentRepository(work.connection, self.store.store_id)
        placements = PlacementRepository(work.connection, self.store.store_id)
        version, stored = placements.lock_and_next_version(), repository.all()
        old = _find_experiment(stored, name)
        _check_action(old, action, variant)
        if action == "remove":
            repository.remove_and_purge_old_exposures(old)
            return old
        new = self._after_action(repository, old, action)
        if action == "start":
            _check_start(stored, old, _tested_placement(placements, old.content))
        if action == "choose":
            new = replace(new, winner=variant)
            if not new.content.placement:
                changes = changed_settings(new.content.variant(variant))
                AccountRepository(work.connection).merge_settings(
                    self.store.store_id, changes
                )
            elif variant != CONTROL:
                self._apply_winner(placements, version, new)
                rules = RuleRepository(work.connection, self.store.store_id)
                self._retarget_rules_of_winner(rules, new)
        repository.replace(new)
        return new

    def _after_action(
        self, repository: ExperimentRepository, old: Experiment, action: str
    ) -> Experiment:
        now_ms = self.clock()
        if action == "pause":
            return replace(old, state=ExperimentState.PAUSED)
        if action != "start":
            return replace(
                old, state=ExperimentState.ENDED, ended_at=old.ended_at or now_ms
            )
        if old.started_at is not None:
            return replace(old, state=ExperimentState.RUNNING)
        head = repository.newest_seq()
        return replace(
            old, state=ExperimentState.RUNNING, started_at=now_ms, started_seq=head
        )

    def _apply_winner(
        self, placements: PlacementRepository, version: int, chosen: Experiment
    ) -> None:
        """Give the placement of a test the content of the winner."""
        placement = placements.find(chosen.content.placement)
        variant = chosen.content.variant(chosen.winner)
        content = changed_placement(placement.content, variant)
        changed = replace(
            placement, content=content, version=version, updated_at=self.clock()
        )
        placements.put(changed, is_new=False)

    def _retarget_rules_of_winner(self, rules: RuleRepository, chosen: Experiment) -> None:
        """Let rules that name the winning variant name the placement."""
        winner = f"{chosen.content.placement}:{chosen.winner}"
        for rule in rules.all():
            places = rule.content.places
            if winner not in places.placements:
                continue
            names = {chosen.content.placement, *places.placements} - {winner}
            moved = replace(places, placements=tuple(sorted(names)))
            content = replace(rule.content, places=moved)
            changed = replace(rule, content=content, updated_at=self.clock())
            seq = rules.lock_and_next_seq()
            rules.replace(changed)
            rules.add_change(
                seq, changed, self.clock(), actor=self.actor, summary="changed"
            )


def _find_experiment(stored: list[Experiment], name: str) -> Experiment:
    for experiment in stored:
        if experiment.name == name:
            return experiment
    raise UnknownExperimentError(name, [experiment.name for experiment in stored])


def _tested_placement(
    placements: PlacementRepository, content: ExperimentContent
) -> PlacementContent | None:
    """Return the content of the tested placement; None for a test of search."""
    if not content.placement:
        return None
    return placements.find(content.placement).content


def _check_action(experiment: Experiment, action: str, variant: str) -> None:
    allowed = _FROM[action]
    if experiment.state not in allowed:
        needed = " or ".join(allowed)
        message = (
            f"the test {experiment.name} is {experiment.state}; {action} needs a test that "
            f"is {needed}"
        )
        raise ExperimentError(message, "action")
    if action == "choose":
        experiment.content.variant(variant)
        if experiment.winner:
            message = (
                f"{experiment.winner} was chosen already; change the placement instead"
            )
            raise ExperimentError(message, "variant")


def _check_start(
    stored: list[Experiment], starting: Experiment, placement: PlacementContent | None
) -> None:
    """Refuse a second test of a subject, and variants that the present one made invalid."""
    validate_experiment(starting.name, starting.content, placement)
    for other in stored:
        is_same = other.content.subject == starting.content.subject
        if other.is_open and is_same and other.name != starting.name:
            message = (
                f"the test {other.name} of the same {_kind(other.content)} is "
                f"{other.state}; stop it first"
            )
            raise ExperimentError(message, "name")


def _kind(content: ExperimentContent) -> str:
    return "placement" if content.placement else "search"
