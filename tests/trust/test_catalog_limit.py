"""Catalog limit: never exceeded, and no partial push, under concurrent pushes."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.tenancy.accounts.store_management import change_subscription, find_store
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from tests.support.service import Merchant, Service
from tests.trust.crowds import Answer, Request, ask_at_once

LIMIT: Final = DEFAULT_PLANS["trial"].catalog_items or 0
PROCESSES: Final = 16
BROKEN: Final = Path(__file__).parent / "broken"


@dataclass(frozen=True)
class Push:
    """One push: ids that are new, and items known before, whose titles it changes."""

    name: str
    new: tuple[str, ...]
    known: tuple[str, ...]

    def request(self, headers: Mapping[str, str]) -> Request:
        """Return the call; all its items have its name for a title."""
        items = [{"id": one, "title": self.name} for one in (*self.known, *self.new)]
        return Request("POST", "/v1/items", json.dumps({"items": items}), headers)


@dataclass(frozen=True)
class PushOutcome:
    """What was pushed, what was answered, and what the catalog then holds by id."""

    pushes: list[tuple[Push, Answer]]
    titles: Mapping[str, str]
    size: int

    def wrong(self) -> list[str]:
        """Return what must not be."""
        found = [] if self.size <= LIMIT else [f"{self.size} items"]
        found += [] if self.size == len(self.titles) else ["the size is not the count"]
        changed = set(self.titles.values())
        for push, answer in self.pushes:
            kept = sum(one in self.titles for one in push.new)
            if answer.status not in {200, 402}:
                found.append(f"{push.name}: {answer}")
            elif answer.status == 402 and (kept or push.name in changed):
                found.append(f"{push.name} was refused and {kept} of it stored")
            elif answer.status == 200 and kept != len(push.new):
                found.append(f"{push.name} was accepted and {kept} of it stored")
            elif answer.status == 200 and answer.body["total"] > LIMIT:
                found.append(f"{push.name} got a total of {answer.body['total']} items")
            elif answer.status == 402 and answer.body["code"] != "plan_limit_catalog":
                found.append(f"{push.name}: {answer}")
        return found

    @property
    def refused(self) -> list[Push]:
        """The pushes that were refused."""
        return [push for push, answer in self.pushes if answer.status == 402]


def pushes_of(
    process: int, rounds: int, chance: random.Random, most: int
) -> Iterator[Push]:
    """Yield what one process pushes: new ids beside a known one, or that one alone."""
    for number in range(rounds):
        name = f"{process}-{number}"
        size = 0 if number % 5 == 4 else chance.randint(1, most)
        new = tuple(f"new-{name}-{n}" for n in range(size))
        yield Push(name, new, (f"known-{process}",))


def race(service: Service, merchant: Merchant, rounds: int, most: int) -> PushOutcome:
    """Return what became of the pushes of sixteen processes into a half full catalog."""
    known = [{"id": f"known-{n}", "title": "known"} for n in range(LIMIT // 2)]
    assert merchant.push(*known).status == 200
    chance = random.Random(7)  # noqa: S311 - how much to push, not a key
    pushes = [list(pushes_of(n, rounds, chance, most)) for n in range(PROCESSES)]

    answers = ask_at_once(
        service.folder,
        service.port,
        [[push.request(merchant.server) for push in its] for its in pushes],
    )

    pairs = [
        pair
        for its, theirs in zip(pushes, answers, strict=True)
        for pair in zip(its, theirs, strict=True)
    ]
    return PushOutcome(pairs, *catalog(service, merchant))


def catalog(service: Service, merchant: Merchant) -> tuple[dict[str, str], int]:
    """Return the titles of the catalog by id, and the size that it says it has."""
    with service.database() as database, database.reading() as connection:
        repository = CatalogRepository(connection, StoreId(merchant.account.store_id))
        held = repository.page(-1, 100_000)
        return {one.item.item_id: one.item.title for one in held}, repository.size()


def check(service: Service, rounds: int, most: int) -> None:
    """Race, and check what holds of every race."""
    merchant = service.register(plan="trial")

    outcome = race(service, merchant, rounds, most)

    assert outcome.wrong() == []
    assert len(outcome.refused) > len(outcome.pushes) // 3
    smallest = min(len(push.new) for push in outcome.refused)
    assert LIMIT - smallest < outcome.size <= LIMIT  # none was refused that would have fit
    updates = {push.name: answer.status for push, answer in outcome.pushes if not push.new}
    assert set(updates.values()) == {200}  # an update always passes


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a running service with two API processes, on each database."""
    service = Service(data_folder, database_url, workers=2).prepare()
    yield service
    service.kill()


def test_sixteen_processes_never_pass_the_limit_nor_store_half_a_push(
    service: Service,
) -> None:
    service.start()

    check(service, rounds=5, most=60)


def _outcome_of_a_broken(data_folder: Path, broken: str) -> Sequence[str]:
    with Service(data_folder, workers=2, broken=BROKEN / broken).prepare() as service:
        return race(service, service.register(plan="trial"), rounds=5, most=60).wrong()


def test_control_looking_first_and_then_pushing_passes_the_limit(data_folder: Path) -> None:
    wrong = _outcome_of_a_broken(data_folder, "check_first")

    assert any(one.endswith(" items") for one in wrong), wrong


def test_control_storing_what_fits_stores_half_a_push(data_folder: Path) -> None:
    wrong = _outcome_of_a_broken(data_folder, "what_fits")

    assert any("was accepted and" in one for one in wrong), wrong
    assert not any(one.endswith(" items") for one in wrong)


@pytest.mark.trust
def test_a_thousand_pushes_of_sixteen_processes_never_pass_the_limit(
    service: Service,
) -> None:
    service.start()

    check(service, rounds=70, most=40)
    check(service, rounds=70, most=3)


@pytest.mark.trust
def test_a_smaller_plan_holds_for_every_push_that_begins_after_it(service: Service) -> None:
    service.start()
    merchant = service.register(plan="starter")
    known = [{"id": f"known-{n}"} for n in range(LIMIT)]
    assert merchant.push(*known).status == 200
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        trial = DEFAULT_PLANS["trial"]
        change_subscription(
            database, store, lambda held: replace(held, plan=trial.name, ends_at=None)
        )

    one = Request("POST", "/v1/items", '{"items": [{"id": "new"}]}', merchant.server, 20)
    answers = ask_at_once(service.folder, service.port, [[one]] * PROCESSES)

    assert {answer.status for its in answers for answer in its} == {402}
    assert catalog(service, merchant)[1] == LIMIT
