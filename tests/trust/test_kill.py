"""`kill -9` of every process: nothing acknowledged is lost or stored twice."""

import random
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from productrecs.core.ids import StoreId
from productrecs.storage.files.model_files import open_arrays
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.fit_models import fit_all_models
from productrecs.training.repository import (
    TrainedModelState,
    TrainingLogHead,
    TrainingRepository,
)
from productrecs.training.trained_models import models_folder
from productrecs.training.training_inputs import TrainingInputs
from tests.support.service import Merchant, Service, eventually
from tests.trust.history import Outcome, Verdict
from tests.trust.load import Crowd, receipts, stored

READY_SECONDS: Final = 5.0
AT_LEAST: Final = 60  # requests between two kills
BROKEN: Final = Path(__file__).parent / "broken"


@dataclass
class Ordeal:
    """One service that is killed again and again while a crowd shops."""

    service: Service
    merchant: Merchant
    crowd: Crowd
    chance: random.Random
    restarts: list[float] = field(default_factory=list)  # seconds until ready
    cut_off: int = 0  # requests that nobody answered

    @classmethod
    def begin(cls, service: Service, seed: int, size: int = 6) -> "Ordeal":
        """Start the service with one store and its crowd."""
        merchant = service.prepare().register()
        service.start()
        chance = random.Random(seed)  # noqa: S311 - when to strike, not a key
        return cls(service, merchant, Crowd(service, merchant, size, seed), chance)

    def strike(self) -> Verdict:
        """Kill the service under load, start it again, and compare what it kept."""
        with self.crowd.busy():
            enough = self.crowd.count + AT_LEAST
            eventually(lambda: self.crowd.count >= enough, 30)
            time.sleep(self.chance.uniform(0, 0.2))
            self.service.kill()
        self.restarts.append(self.service.start())
        self.cut_off += sum(len(one.unanswered) for one in self.crowd.shoppers)
        return self.judge()

    def judge(self) -> Verdict:
        """Compare the replies to the clients with what is stored."""
        account = self.merchant.account
        with self.service.database() as database:
            rows = stored(database, account.store_id)
            has_receipt = receipts(database, account.store_id)
        assert has_receipt == {key for key in rows if key.startswith("o-")}
        return self.crowd.history.judge(rows)

    def send_again(self, recovered: frozenset[str]) -> None:
        """Repeat what was cut off: `duplicate` says truly whether it had arrived."""
        for order_id, duplicate in self.crowd.send_again().items():
            assert duplicate == (order_id in recovered), order_id


@pytest.fixture
def sqlite_service(data_folder: Path) -> Iterator[Service]:
    """Give a service on SQLite that is not started."""
    service = Service(data_folder)
    yield service
    service.kill()


@pytest.fixture
def postgres_service(data_folder: Path, migrated_url: str) -> Iterator[Service]:
    """Give a service on PostgreSQL that is not started."""
    service = Service(data_folder, migrated_url, workers=2)
    yield service
    service.kill()


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a service that is not started, on each database."""
    service = Service(data_folder, database_url)
    yield service
    service.kill()


def check_model(ordeal: Ordeal) -> None:
    """The model that serves was made of each stored fact, once, though learners died."""
    service, store_id = ordeal.service, StoreId(ordeal.merchant.account.store_id)
    with service.database() as database:
        rows = stored(database, store_id)
        store = find_store(database, ordeal.merchant.account.domain)

        def standing() -> tuple[TrainingLogHead, TrainedModelState]:
            with database.reading() as connection:
                repository = TrainingRepository(connection, store_id)
                head, model = repository.head(), repository.serving_model()
            assert head is not None
            return head, model or TrainedModelState("", 0, 0, "", 0)

        eventually(lambda: standing()[1].applied_seq == standing()[0].seq, 60, pause=0.2)
        head, model = standing()
        inputs = TrainingInputs()
        with database.reading() as connection:
            inputs.read_log_up_to(TrainingRepository(connection, store_id), head.seq)
    assert len(inputs.behaviour.items) == sum(_counts(rows, "e-"))
    assert len(inputs.purchases.items) == sum(_counts(rows, "o-"))
    expected = fit_all_models(inputs, head.n_items, store.settings, model.trained_at)
    serving, _ = open_arrays(
        models_folder(service.folder / "models", store_id) / model.model_id
    )
    assert set(serving) == set(expected)
    for name, array in expected.items():
        assert np.array_equal(serving[name], array), name


def _counts(rows: Mapping[str, int], kind: str) -> list[int]:
    return [count for key, count in rows.items() if key.startswith(kind)]


def check_kills(service: Service, kills: int, seed: int) -> list[float]:
    """Return how many seconds each restart took, nothing being lost or doubled."""
    ordeal = Ordeal.begin(service, seed)
    for number in range(kills):
        verdict = ordeal.strike()
        assert verdict.is_clean, f"kill {number}: {verdict}"
        ordeal.send_again(verdict.recovered)

    verdict = ordeal.judge()
    assert verdict.is_clean, verdict
    history = ordeal.crowd.history
    print(  # noqa: T201 - the figures of the run
        f"{kills} kills: {len(history.having(Outcome.OK))} acknowledged, "
        f"{ordeal.cut_off} cut off, ready again in {sum(ordeal.restarts) / kills:.2f} s, "
        f"at most {max(ordeal.restarts):.2f} s; sent again and refused: "
        f"{[words for one in ordeal.crowd.shoppers for words in one.refused]}"
    )
    assert len(history.having(Outcome.OK)) >= AT_LEAST // 2 * kills
    assert ordeal.cut_off >= kills  # it was busy when it was struck
    check_model(ordeal)
    return ordeal.restarts


@pytest.mark.timeout(240)
def test_kills_lose_nothing_and_double_nothing(sqlite_service: Service) -> None:
    restarts = check_kills(sqlite_service, kills=5, seed=1)

    # Other tests run beside this one: `make trust` asks it of every restart.
    assert statistics.median(restarts) <= READY_SECONDS


@pytest.mark.postgres
def test_kills_beside_postgresql_lose_nothing_and_double_nothing(
    postgres_service: Service,
) -> None:
    restarts = check_kills(postgres_service, kills=2, seed=2)

    assert statistics.median(restarts) <= READY_SECONDS


@pytest.mark.trust
@pytest.mark.parametrize("seed", range(3, 8))
def test_five_times_a_hundred_kills_lose_nothing_and_double_nothing(
    service: Service, seed: int
) -> None:
    restarts = check_kills(service, kills=100, seed=seed)

    assert max(restarts) <= READY_SECONDS


def test_control_a_service_that_answers_before_it_commits_loses(
    sqlite_service: Service,
) -> None:
    sqlite_service.broken = BROKEN / "early_ack"
    ordeal = Ordeal.begin(sqlite_service, seed=4)

    verdicts: list[Verdict] = []
    while not any(verdict.lost for verdict in verdicts) and len(verdicts) < 10:
        verdicts.append(ordeal.strike())

    assert verdicts[-1].lost
