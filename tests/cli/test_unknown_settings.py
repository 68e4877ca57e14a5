"""Unknown settings: a misspelled variable is logged once, by each way to start."""

import json
from pathlib import Path

import pytest

from productrecs.cli.unknown_settings import find_unknown_settings
from tests.support.service import Service, eventually

LISTS = "unset it; `productrecs settings` lists all"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("PRODUCTRECS_PROT", f"use PRODUCTRECS_PORT, or {LISTS}"),
        ("PRODUCTRECS_XYZZY", LISTS),
        ("PRODUCTRECS_PORT", None),
        ("PRODUCTRECS_METRICS_TOKEN_FILE", None),  # the file of a secret
        ("PRODUCTRECS_IMPORT_ORDERS_STORE", None),  # an option of a command
        ("PATH", None),
    ],
)
def test_a_variable_that_is_no_setting_is_named_with_the_one_that_was_meant(
    name: str, remedy: str | None
) -> None:
    found = list(find_unknown_settings({name: "1"}))

    assert found == ([] if remedy is None else [(name, remedy)])


@pytest.mark.parametrize(
    ("command", "workers"), [("serve", 1), ("api", 1), ("api", 2), ("worker", 1)]
)
def test_each_way_to_start_logs_a_misspelled_setting_once(
    command: str, workers: int, tmp_path: Path
) -> None:
    misspelled = {"PRODUCTRECS_PROT": "1"}
    service = Service(
        tmp_path / "data", command=command, workers=workers, variables=misspelled
    )

    def logged() -> list[str]:
        path = service.log_path
        lines = path.read_text().splitlines() if path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [one["setting"] for one in events if one["event"] == "setting unknown"]

    if command == "worker":
        service.launch()
        eventually(logged, 20)
    else:
        service.start()
    service.stop()

    assert logged() == ["PRODUCTRECS_PROT"]
