"""Model swap under load: no failure, no mixture, nothing deleted shown.

Two models of one store take turns behind its pointer while shoppers ask. Each list must be
wholly the one's or the other's; a damaged model must never serve; and what the merchant
deletes stays away, whatever is learned meanwhile.
"""

import contextlib
import itertools
import random
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from productrecs.core.clock import fixed_clock
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import iso
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import jobs, store_heads
from productrecs.training.repository import TrainingRepository
from productrecs.training.trained_models import models_folder
from tests.support.service import Merchant, Reply, Service, eventually
from tests.trust.load import at_once

BROKEN: Final = Path(__file__).parent / "broken"
NOON: Final = 1_772_366_400_000
ITEMS: Final = 24
ASKED: Final = [f"item-{n}" for n in range(0, ITEMS, 5)]
SESSIONS: Final = itertools.count()
WITHIN: Final = 1.0  # seconds in which a deletion reaches every list
DAMAGES: Final = ("flipped", "cut off", "missing", "another store's")


def lists_about(merchant: Merchant, item: str) -> Reply:
    """Ask as somebody whom nobody met before: no kept reply will do."""
    return merchant.recommend(item_id=item, num=20, session_id=f"s_new{next(SESSIONS)}")


def lists(merchant: Merchant) -> dict[str, list[str]]:
    return {item: lists_about(merchant, item).ids for item in ASKED}


@dataclass
class Shoppers:
    """Some who ask without pause; `seen` is what they were shown, and when they asked."""

    merchants: list[Merchant]
    seen: list[tuple[float, str, list[str]]] = field(default_factory=list)
    failed: list[Reply] = field(default_factory=list)

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Let all of them ask while the block runs."""
        with at_once(*(partial(self._ask, merchant) for merchant in self.merchants)):
            yield

    def longest_pause(self) -> float:
        """Return for how many seconds nobody came to ask: the machine stood still."""
        moments = sorted(began for began, _, _ in self.seen)
        return max(after - before for before, after in itertools.pairwise(moments))

    def _ask(self, merchant: Merchant, until: threading.Event) -> None:
        for item in itertools.cycle(ASKED):
            if until.is_set():
                return
            began, reply = time.monotonic(), lists_about(merchant, item)
            if reply.status == 200:
                self.seen.append((began, item, reply.ids))
            else:
                self.failed.append(reply)


@dataclass
class Stage:
    """A running service without a worker, one store, and two models that know it."""

    service: Service
    merchant: Merchant
    models: list[str]
    known: list[dict[str, list[str]]]  # the lists of each model

    @classmethod
    def build(cls, service: Service) -> "Stage":
        """Let two models be trained, of what was bought first and of all."""
        merchant = service.register()
        merchant.push(*({"id": f"item-{n}", "price": n} for n in range(ITEMS)))
        models, known = [], list[dict[str, list[str]]]()
        for step in (1, 5):
            for n in range(40):
                bought = (f"item-{(n * k * step) % ITEMS}" for k in (1, 2, 3))
                merchant.order(f"o-{step}-{n}", *dict.fromkeys(bought))
            service.train(merchant, fixed_clock(NOON))
            before = known[-1] if known else {item: [] for item in ASKED}
            eventually(lambda before=before: _all_differ(lists(merchant), before), 20)  # type: ignore[misc]  # a lambda's default
            with service.database() as database, database.reading() as connection:
                found = TrainingRepository(connection, _store_id(merchant)).serving_model()
            assert found is not None
            models.append(found.model_id)
            known.append(lists(merchant))
        return cls(service, merchant, models, known)

    @property
    def folder(self) -> Path:
        """Where the store's models are."""
        return models_folder(self.service.folder / "models", _store_id(self.merchant))

    def point_to(self, database: Database, model_id: str) -> None:
        """Let a model serve: what the end of a training does."""
        with database.transaction() as transaction:
            head = store_heads.update().where(
                store_heads.c.store_id == self.merchant.account.store_id
            )
            transaction.execute(head.values(model_id=model_id))

    def serves(self, number: int) -> bool:
        """Return whether a model is what shoppers see by now."""
        item = ASKED[0]
        return lists_about(self.merchant, item).ids == self.known[number][item]

    def mixed(self, shoppers: Shoppers) -> list[list[str]]:
        """Return the lists that are neither model's."""
        return [
            ids
            for _, item, ids in shoppers.seen
            if ids not in (known[item] for known in self.known)
        ]

    def damaged(self, database: Database, damage: str, chance: random.Random) -> None:
        """Let a copy of the first model serve that was damaged on the disk."""
        copy = self.folder / f"99999999-{chance.randrange(16**8):08x}"
        shutil.copytree(self.folder / self.models[0], copy)
        file = chance.choice(sorted(copy.iterdir()))
        content = bytearray(file.read_bytes())
        if damage == "flipped":
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            file.write_bytes(content)
        elif damage == "cut off":
            file.write_bytes(content[: chance.randrange(len(content))])
        elif damage == "missing":
            file.unlink()
        else:
            shutil.rmtree(copy)
            shutil.copytree(_model_of_another_store(self.service), copy)
        self.point_to(database, copy.name)
        eventually(
            lambda: copy.name in self.service.log_path.read_text(), 10
        )  # it was looked at
        shutil.rmtree(copy)


def _all_differ(some: dict[str, list[str]], others: dict[str, list[str]]) -> bool:
    return all(some[item] and some[item] != others[item] for item in ASKED)


def _store_id(merchant: Merchant) -> StoreId:
    return StoreId(merchant.account.store_id)


def _model_of_another_store(service: Service) -> Path:
    other = service.register()
    other.push(*({"id": f"item-{n}"} for n in range(ITEMS)))
    other.order("o", "item-1", "item-2")
    service.train(other)
    [model] = models_folder(service.folder / "models", _store_id(other)).iterdir()
    return model


def resident(service: Service) -> int:
    """Return how much memory the API processes hold, in bytes."""
    pages = [
        int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        for pid, line in service.processes().items()
        if "api" in line
    ]
    return 4_096 * sum(pages)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("swaps")
    with Service(folder, command="api", now=iso(NOON)).prepare() as service:
        yield Stage.build(service)


@pytest.mark.parametrize("times", [10, pytest.param(1_000, marks=pytest.mark.trust)])
def test_no_reply_fails_and_none_is_made_of_two_models(stage: Stage, times: int) -> None:
    shoppers = Shoppers([stage.merchant.through(stage.service.client()) for _ in range(3)])

    with stage.service.database() as database, shoppers.busy():
        held = 0
        for number in range(times):
            stage.point_to(database, stage.models[number % 2])
            eventually(lambda now=number % 2: stage.serves(now), 20)  # type: ignore[misc]  # a lambda's default
            held = held or (resident(stage.service) if number == times // 10 else 0)

    assert shoppers.failed == []
    assert stage.mixed(shoppers) == []
    assert len(shoppers.seen) > 3 * times
    assert resident(stage.service) <= 1.05 * held + (16 << 20)


def check_damaged(stage: Stage, times: int) -> None:
    """Point to one damaged model after the other: the last good one must serve."""
    shoppers = Shoppers([stage.merchant.through(stage.service.client()) for _ in range(2)])
    chance = random.Random(20)  # noqa: S311 - what to damage, not a key

    with stage.service.database() as database:
        stage.point_to(database, stage.models[1])
        eventually(lambda: stage.serves(1), 20)
        with shoppers.busy():
            for number in range(times):
                stage.damaged(database, DAMAGES[number % len(DAMAGES)], chance)
        with database.reading() as connection:  # it is to be learned anew at once
            asked_for = sa.select(jobs.c.kind).where(
                jobs.c.store_id == stage.merchant.account.store_id
            )
            kinds = set(connection.execute(asked_for).scalars())
        stage.point_to(database, stage.models[0])
        eventually(lambda: stage.serves(0), 20)

    assert shoppers.failed == []
    assert {tuple(ids) for _, item, ids in shoppers.seen if item == ASKED[0]} == {
        tuple(stage.known[1][ASKED[0]])
    }
    assert kinds == {"train"}


@pytest.mark.parametrize("times", [4, pytest.param(120, marks=pytest.mark.trust)])
def test_a_damaged_model_never_serves_and_the_last_good_one_does(
    stage: Stage, times: int
) -> None:
    check_damaged(stage, times)


def test_control_a_service_that_trusts_damaged_files_is_seen(data_folder: Path) -> None:
    broken = BROKEN / "trusts_files"
    with Service(data_folder, command="api", now=iso(NOON), broken=broken).prepare() as one:
        stage = Stage.build(one)
        with pytest.raises(AssertionError):
            check_damaged(stage, 24)


def test_control_a_service_that_swaps_engine_by_engine_is_seen(data_folder: Path) -> None:
    broken = BROKEN / "half_swap"
    with Service(data_folder, command="api", now=iso(NOON), broken=broken).prepare() as one:
        merchant = one.register()
        assert merchant.push({"id": "a"}, {"id": "b"}, {"id": "c"}).status == 200
        merchant.order("o-1", "a", "b")
        one.train(merchant, fixed_clock(NOON))
        eventually(lambda: merchant.recommend(item_id="a", source="buy").ids == ["b"])
        for n in range(9):
            merchant.order(f"p-{n}", "a", "c")
        one.train(merchant, fixed_clock(NOON))
        eventually(lambda: merchant.trending(session_id="s_new").ids[:2] == ["a", "c"])

        # What trends is the new model's, what was bought together the old one's.
        assert lists_about(merchant, "a").ids[0] == "b"


def check_deletions(service: Service, times: int) -> None:
    """Delete items while they are learned; none may show a second later, or return."""
    merchant = service.register()
    goods = [{"id": f"item-{n}", "price": n} for n in range(max(ITEMS, times + 12))]
    for start in range(0, len(goods), 500):
        merchant.push(*goods[start : start + 500])
    for n in range(60):
        bought = {f"item-{(n * k) % len(goods)}" for k in (1, 2, 3)}
        merchant.order(f"o-{n}", *bought)
    service.train(merchant)
    deleted: dict[str, float] = {}
    shoppers = Shoppers([merchant.through(service.client()) for _ in range(2)])
    done = threading.Event()

    def learn() -> None:
        while not done.is_set():
            merchant_again = merchant.through(service.client())
            merchant_again.order(f"p-{time.monotonic_ns()}", "item-1", "item-2")
            service.train(merchant)

    learner = threading.Thread(target=learn)
    learner.start()
    try:
        with shoppers.busy():
            for n in range(times):
                item = goods[(n * 5) % len(goods)]["id"]
                if merchant.delete(str(item)).status == 200:
                    deleted[str(item)] = time.monotonic()
            eventually(lambda: time.monotonic() > max(deleted.values()) + WITHIN + 0.3)
    finally:
        done.set()
        learner.join()
    for _ in range(3):
        service.train(merchant)
    last = lists(merchant) | {"trending": merchant.trending(num=20).ids}

    assert len(deleted) >= times // 2
    assert shoppers.failed == []
    within = WITHIN + shoppers.longest_pause()
    late = [
        (item, began)
        for began, _, ids in shoppers.seen
        for item in ids
        if item in deleted and began > deleted[item] + within
    ]
    assert not late, f"late: {late[:9]}"
    assert not set(deleted) & set(itertools.chain.from_iterable(last.values()))


@pytest.mark.parametrize(
    ("database_kind", "times"),
    [
        ("sqlite", 12),
        pytest.param("sqlite", 1_000, marks=pytest.mark.trust),
        pytest.param("postgres", 1_000, marks=[pytest.mark.trust, pytest.mark.postgres]),
    ],
    indirect=["database_kind"],
)
def test_what_is_deleted_while_it_is_learned_stays_away(
    data_folder: Path, database_url: str | None, times: int
) -> None:
    with Service(data_folder, database_url, command="api").prepare() as service:
        check_deletions(service, times)


def test_control_a_service_that_remembers_deleted_items_is_seen(data_folder: Path) -> None:
    broken = BROKEN / "remembers_deleted"
    with (
        Service(data_folder, command="api", broken=broken).prepare() as service,
        pytest.raises(AssertionError, match="late"),
    ):
        check_deletions(service, 12)
