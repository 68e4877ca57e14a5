"""Log lines: an event of the table, its fields, and no secret."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from productrecs.logs import LOG_EVENTS, configure_logging
from tests.support.service import Service, eventually


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("productrecs").setLevel(logging.NOTSET)


def written(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(capsys.readouterr().err)
    return line


def test_an_event_of_the_table_is_the_event_of_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("json")
    logging.getLogger("productrecs.worker").info("job finished", extra={"kind": "train"})

    line = written(capsys)
    assert (line["event"], line["kind"]) == ("job finished", "train")
    assert "message" not in line


@pytest.mark.parametrize("logger", ["uvicorn.error", "productrecs.x"])
def test_every_other_text_is_a_library_message(
    capsys: pytest.CaptureFixture[str], logger: str
) -> None:
    configure_logging("json")
    logging.getLogger(logger).warning("%d bytes were left over", 7)

    line = written(capsys)
    assert line["event"] == "library message"
    assert line["message"] == "7 bytes were left over"


def test_a_terminal_gets_the_event_and_its_fields_without_secrets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logging("text")
    extra = {"error": "postgresql://me:hush@host/db of anna@shop.example, sk_abc123"}
    logging.getLogger("productrecs.x").warning("job queue unavailable", extra=extra)

    line = capsys.readouterr().err
    assert "warning  job queue unavailable error=postgresql://...@host/db" in line
    assert not any(secret in line for secret in ("hush", "anna", "abc123"))


def test_every_event_is_a_short_phrase_with_a_meaning() -> None:
    assert [name for name in LOG_EVENTS if name != name.lower() or len(name) > 30] == []
    assert [name for name, meaning in LOG_EVENTS.items() if not meaning.endswith(".")] == []


@pytest.mark.parametrize(("level", "events"), [("info", ["b", "c"]), ("warning", ["c"])])
def test_the_level_is_the_operators_choice(
    capsys: pytest.CaptureFixture[str], level: str, events: list[str]
) -> None:
    configure_logging("json", level)
    log = logging.getLogger("productrecs.x")
    for name, number in (("a", logging.DEBUG), ("b", logging.INFO), ("c", logging.ERROR)):
        log.log(number, "job finished", extra={"name_": name})

    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["name_"] for line in lines] == events


@pytest.mark.parametrize(("level", "is_logged"), [("info", False), ("debug", True)])
def test_a_service_logs_requests_and_trainings_where_it_is_told_to(
    tmp_path: Path, level: str, *, is_logged: bool
) -> None:
    variables = {
        "PRODUCTRECS_LOG_LEVEL": level,
        "PRODUCTRECS_ACCESS_LOG": str(is_logged).lower(),
    }
    service = Service(tmp_path / "data", variables=variables).prepare()
    merchant = service.register()

    def log() -> str:
        return service.log_path.read_text("utf-8")

    with service:
        merchant.order("o-1", "a", "b")
        eventually(lambda: any((service.folder / "models").rglob("*")), 60)
        assert merchant.trending().status == 200
        if is_logged:
            eventually(lambda: '"kind": "train"' in log(), 30)
            eventually(lambda: '"path": "/v1/trending"' in log(), 30)
    assert ('"path": "/v1/trending"' in log()) is is_logged
    assert ('"kind": "train"' in log()) is is_logged
    assert merchant.account.publishable not in log()


def test_a_start_and_a_stop_are_no_warnings(tmp_path: Path) -> None:
    service = Service(tmp_path / "data").prepare()
    service.start()
    service.stop()

    lines = service.log_path.read_text("utf-8").splitlines()
    levels = {json.loads(line)["level"] for line in lines if line.startswith("{")}
    assert levels == {"info"}
