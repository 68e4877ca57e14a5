"""Readiness: each check that fails it, and what is only reported."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from productrecs import application
from productrecs.application import create_application
from productrecs.core.clock import HOUR_MS, system_ms
from productrecs.http.pipeline import readiness_checks
from productrecs.http.pipeline.readiness_checks import CHECKS, DependencyMonitor, Readiness
from productrecs.http.routes.public.health import determine_readiness
from productrecs.services import Services, build_services
from productrecs.storage.sql.migrations.schema_upgrade import KNOWN
from productrecs.storage.sql.tables import jobs
from tests.api.inside import Inside
from tests.support.service import eventually


class FakeWriteClient:
    """A writer with so many writes waiting."""

    def __init__(self, *, is_staffed: bool = True, depth: int = 0) -> None:
        self.is_writer_available, self.depth = is_staffed, depth


class FakeOpenStores:
    """The open stores, as far as readiness asks."""

    def __init__(
        self,
        *,
        is_current: bool = True,
        refused_models_count: int = 0,
        lacking_models_count: int = 0,
    ) -> None:
        self.is_current, self.refused_models_count = is_current, refused_models_count
        self.lacking_models_count = lacking_models_count


class FakeContext:
    """What a process has; all is well unless a test says otherwise."""

    def __init__(self, **parts: object) -> None:
        self.dependencies: Any = self
        self.write_client: Any = parts.get("write_client", FakeWriteClient())
        self.stores: Any = parts.get("stores", FakeOpenStores())

    def current_readiness(self) -> Readiness:
        """Return that all is well around it."""
        return Readiness()


def found(*, draining: bool = False, preloaded: bool = True, **parts: object) -> Readiness:
    context: Any = FakeContext(**parts)
    return determine_readiness(context, draining=draining, preloaded=preloaded)


def test_a_process_that_lacks_nothing_is_fit() -> None:
    assert found() == Readiness({}, {})
    assert found().results_by_check() == dict.fromkeys(CHECKS, "ok")


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("process", {"draining": True}),
        ("process", {"write_client": FakeWriteClient(is_staffed=False)}),
        ("models", {"preloaded": False}),
        ("models", {"stores": FakeOpenStores(lacking_models_count=2)}),
        ("database", {"stores": FakeOpenStores(is_current=False)}),
        ("writes", {"write_client": FakeWriteClient(depth=5_001)}),
    ],
)
def test_what_keeps_requests_away_is_named(name: str, state: dict[str, Any]) -> None:
    assert list(found(**state).reasons) == [name]


def test_a_damaged_model_is_mentioned_since_the_last_good_one_serves() -> None:
    readiness = found(stores=FakeOpenStores(refused_models_count=2))

    assert not readiness.reasons
    assert "damaged models of 2 stores" in readiness.results_by_check()["models"]


@contextmanager
def schema(services: Services, revision: str) -> Iterator[None]:
    """Let the database say that it is of another schema."""
    set_revision(services, revision)
    yield
    set_revision(services, KNOWN[-1])


def set_revision(services: Services, revision: str) -> None:
    with services.database.transaction() as transaction:
        transaction.execute(
            sa.text("UPDATE alembic_version SET version_num = :revision"),
            {"revision": revision},
        )


def add_job(services: Services, run_at: int) -> None:
    row = {
        "store_id": "*",
        "job_id": f"job-{run_at}",
        "kind": "train",
        "key": f"train-{run_at}",
        "state": "queued",
        "payload": "{}",
        "attempts": 0,
        "run_at": run_at,
        "created_at": run_at,
    }
    with services.database.transaction() as transaction:
        transaction.execute(sa.insert(jobs).values(row))


def test_a_schema_that_is_behind_keeps_requests_away_and_a_newer_one_does_not(
    services: Services,
) -> None:
    around = DependencyMonitor(services.database, services.settings.data)
    around.run_checks()
    assert around.current_readiness() == Readiness()

    with schema(services, KNOWN[0]):
        around.run_checks()
        assert "productrecs migrate" in around.current_readiness().reasons["migrations"]
    with schema(services, "9999_01_01_0000"):
        around.run_checks()
        assert not around.current_readiness().reasons
        assert "newer" in around.current_readiness().warnings["migrations"]


def test_a_queue_without_a_worker_is_reported(services: Services) -> None:
    around = DependencyMonitor(services.database, services.settings.data)
    add_job(services, system_ms() + HOUR_MS)
    around.run_checks()
    assert around.current_readiness() == Readiness()

    add_job(services, system_ms() - HOUR_MS)
    around.run_checks()

    assert "due for 60 minutes" in around.current_readiness().warnings["jobs"]
    assert not around.current_readiness().reasons


def test_readiness_is_reported_by_check_and_strictly_on_request(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness_checks, "MAX_JOB_WAIT_MS", 0)
    add_job(services, system_ms() - HOUR_MS)
    own = build_services(services.settings)  # closed by the application
    with Inside(create_application(own, draining=False)) as inside:
        gentle = inside.ask("GET", "/health/ready")
        strict = inside.ask("GET", "/health/ready?strict=true")
        unfit = inside.ask("GET", "/health/ready?strict=perhaps")

    assert (gentle.status, strict.status, unfit.status) == (200, 503, 422)
    body = json.loads(gentle.body)
    assert body["ok"] is True
    assert set(body["checks"]) == set(CHECKS)
    assert strict.json["code"] == "not_ready"
    assert strict.json["reasons"] == [strict.json["checks"]["jobs"]]
    assert strict.header("retry-after") is not None


def test_a_process_that_is_not_ready_for_long_says_why_once(
    services: Services,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(application, "_CHECK_SECONDS", 0.01)
    gate = create_application(services, draining=False, write_socket=tmp_path / "nobody")

    def said() -> list[str]:
        records = [
            record for record in caplog.records if record.message == "readiness failing"
        ]
        return [str(vars(record)["reasons"]) for record in records]

    with Inside(gate, ready="/health/live"):
        eventually(said)

    assert len(said()) == 1
    assert "the writer process is not running yet" in said()[0]
