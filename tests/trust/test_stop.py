"""Graceful stop: no request fails, however busy the service is."""

import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.service import Service, ServiceError, eventually
from tests.trust.history import Outcome, Verdict
from tests.trust.load import Crowd, stored

BROKEN: Final = Path(__file__).parent / "broken"


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    """Give a service that is not started, with two workers, on each database."""
    service = Service(data_folder, database_url, workers=2).prepare()
    yield service
    service.kill()


def stop_under_load(service: Service, seed: int) -> tuple[Verdict, list[str], int]:
    """Stop a busy service; return what it kept, what it never answered, its exit status."""
    merchant = service.register()
    service.start()
    crowd = Crowd(service, merchant, size=8, seed=seed)
    with crowd.busy():
        eventually(lambda: crowd.count > 100, 30)
        status = service.stop()
    history = crowd.history
    assert len(history.having(Outcome.OK)) > 80
    with service.database() as database:
        verdict = history.judge(stored(database, merchant.account.store_id))
    return verdict, history.having(Outcome.INFO), status


@pytest.mark.parametrize("seed", [1])
def test_a_stop_under_load_answers_every_request_it_accepted(
    service: Service, seed: int
) -> None:
    verdict, unanswered, status = stop_under_load(service, seed)

    assert unanswered == []
    assert verdict.is_clean, verdict
    assert status == 0


@pytest.mark.trust
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_stops_under_load_answer_every_request(
    service: Service, seed: int
) -> None:
    test_a_stop_under_load_answers_every_request_it_accepted(service, seed)


def test_a_stop_is_over_within_seconds_though_connections_are_kept(
    service: Service,
) -> None:
    merchant = service.register()
    service.start()
    for _ in range(20):
        assert merchant.through(service.client()).trending().status == 200
    began = time.monotonic()

    service.signal(signal.SIGTERM)

    assert service.wait() == 0
    assert time.monotonic() - began < 20


def test_nothing_stays_in_the_temporary_folder(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop removes what was there; the next start removes what kills left behind."""
    service = Service(data_folder).prepare()
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # a socket's path is short
        temporary = Path(short)
        monkeypatch.setenv("TMPDIR", short)

        for _ in range(2):
            service.start()
            assert len(list(temporary.iterdir())) == 1
            service.kill()
        service.start()
        assert len(list(temporary.iterdir())) == 1  # its own
        service.stop()

        assert list(temporary.iterdir()) == []


def test_a_temporary_folder_that_is_too_deep_is_refused_with_the_remedy(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = data_folder / ("x" * 100)
    deep.mkdir(parents=True)
    service = Service(data_folder).prepare()
    monkeypatch.setenv("TMPDIR", str(deep))

    with pytest.raises(ServiceError, match="Set TMPDIR to a folder"):
        service.start()


def test_control_processes_that_end_at_once_fail_somebody(data_folder: Path) -> None:
    service = Service(data_folder, workers=2, broken=BROKEN / "abrupt_stop").prepare()

    try:
        _, unanswered, _ = stop_under_load(service, seed=1)
    finally:
        service.kill()

    assert unanswered
