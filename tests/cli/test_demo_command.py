"""`productrecs demo`: a store with a history, created once, quick to answer."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from demo_store import command as demo
from demo_store.generator import DOMAIN, SEED, GeneratedStore, generate_demo_store
from demo_store.simulated_visit import SimulatedSearch
from demo_store.store_history import HoldoutExposure
from demo_store.storefront.picture_files import pictures_folder
from productrecs.cli.main import COMMANDS
from productrecs.cli.open_services import open_services_as_owner
from productrecs.core.clock import system_ms
from productrecs.core.report import parse_report_query
from productrecs.core.timestamps import iso
from productrecs.report_registry import (
    FORECASTS,
    REPORT_TYPES,
    make_report,
    refresh_report_counts,
)
from productrecs.services import Services
from productrecs.storage.sql.tables import events, items, purchase_lines
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store_management import (
    all_stores,
    find_store,
)
from tests.cli.conftest import BOTH, CommandLine
from tests.support.demo import paint
from tests.support.stores import new_store


def small(seed: int, now_ms: int, is_held_out: Callable[[str], bool]) -> GeneratedStore:
    """Return a shop of three products, which is quicker to make than the whole one."""
    view: dict[str, object] = {"event": "detail-page-view", "session_id": "s_1"}
    view["timestamp"] = iso(now_ms)
    bought = view | {"event": "buy", "order_id": "A", "value": seed, "user_id": "c"}
    row = {"order_id": "B", "timestamp": iso(now_ms), "quantity": "-1", "price": str(seed)}
    return GeneratedStore(
        items=[{"id": item} for item in "abc"],
        order_rows=[row | {"item_id": "a", "customer_id": "c"}],
        events=[
            one | {"item_id": item}
            for one, items in ((view, "abc"), (bought, "ab"))
            for item in items
        ],
        searches=[SimulatedSearch(now_ms, "tent", is_empty=False, shopper="s_1")],
        exposures=[HoldoutExposure("s_1", "s_1", is_held_out("s_1"), now_ms)],
    )


def make_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a demo be made of next to nothing, and no picture be drawn ahead."""
    monkeypatch.setattr(demo, "generate_demo_store", small)
    monkeypatch.setattr(demo, "draw_in_background", lambda *_: contextlib.nullcontext())


def counts(services: Services) -> list[int]:
    with services.database.reading() as connection:
        return [
            connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in (items, purchase_lines, events)
        ]


def test_a_taken_port_is_said_before_anything_is_made(
    data_folder: Path, shell: CommandLine
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = shell.refused("demo", "--port", str(port))

    assert f"port {port} of 127.0.0.1 is in use" in said
    assert f"make run ARGS='--port {port + 1}'" in said
    assert shell.json("store", "list") == []
    assert not (data_folder / "demo").exists()


def test_hotspots_are_proposed_for_a_look_of_the_demo(
    services: Services, shell: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_little(monkeypatch)
    paint(pictures_folder(services.settings.data))
    demo.prepare_store_and_reset_access(services)
    look = shell.json("looks", "list", DOMAIN)[0]

    proposed = shell.run("looks", "propose", DOMAIN, str(look["id"]))

    assert proposed.exit_code == 0, proposed.output


@BOTH
def test_the_demo_store_is_made_once_says_so_and_has_a_new_secret_each_time(
    services: Services, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_little(monkeypatch)

    first, again = (
        demo.prepare_store_and_reset_access(services),
        demo.prepare_store_and_reset_access(services),
    )

    # The first run was silent for 76 seconds when its output was no terminal.
    lines = capsys.readouterr().err.splitlines()
    steps = [line for line in lines if line.startswith("Making the demo store: ")]
    assert len(steps) == 7
    assert "visits" in steps[2]
    accounts = AccountDirectory(services.database)
    (store,) = all_stores(services.database)
    assert (store.domain, store.subscription.plan) == ("demo.localhost", "unlimited")
    assert (store.settings.currency, store.settings.timezone) == ("EUR", "Europe/Berlin")
    assert first.store.store_id == again.store.store_id == store.store_id
    assert counts(services) == [3, 3, 3]
    assert accounts.by_secret_key(again.secret) == store
    assert accounts.by_secret_key(first.secret) is None


def test_a_demo_store_that_was_not_made_whole_is_made_anew(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_little(monkeypatch)
    half = new_store(services.database, DOMAIN)

    whole = demo.prepare_store_and_reset_access(services)

    assert [store.store_id for store in all_stores(services.database)] == [
        whole.store.store_id
    ]
    assert whole.store.store_id != half.store_id


def test_the_product_of_the_sample_line_can_be_bought() -> None:
    shop = generate_demo_store(SEED, system_ms(), lambda _unit: False)

    (sample,) = (item for item in shop.items if item["id"] == demo.SAMPLE)
    assert sample["stock_qty"]
    assert "availability" not in sample
    assert sum(row["item_id"] == demo.SAMPLE for row in shop.order_rows) > 20


def test_every_report_of_the_demo_has_something_true_to_show(
    data_folder: Path, demo_folder: Path
) -> None:
    shutil.copytree(demo_folder, data_folder, dirs_exist_ok=True)
    with open_services_as_owner(data_folder) as services:
        check_reports(services)


def check_reports(services: Services) -> None:
    store = find_store(services.database, DOMAIN)
    figures: dict[str, Any] = {}
    rows: dict[str, int] = {}
    for name in REPORT_TYPES.keys() - FORECASTS:  # those of the nightly run: test_forecast
        period = parse_report_query(services.clock(), store.settings.zone)
        refresh_report_counts(services, store, name, period)
        made = make_report(services, store, name, period)
        figures |= {f"{name} {one.definition.name}": one.value for one in made.figures}
        rows[name] = len(made.rows)

    assert [name for name, count in rows.items() if not count] == []
    assert figures["widgets shoppers"] > figures["widgets shoppers_clicked"] > 50
    assert 0.015 < figures["attribution click_rate"] < 0.06
    clicked, seen, both = (
        figures[f"attribution revenue_share{part}"] for part in ("_clicked", "_seen", "")
    )
    assert 0.06 < both < 0.25  # the held out shoppers depend on the store's random id
    assert clicked > 0.015
    assert seen > 0.015
    assert figures["search searches"] > 100
    assert 0.4 < figures["search click_through"] < 0.8
    assert 0.01 < figures["search no_result_rate"] < 0.15
    assert figures["experiment mismatch_p"] > 0.0001
    assert figures["experiment conversions_held_out"] > 50
    assert figures["health unknown_items"] == 0


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "is_made", [True, pytest.param(False, marks=pytest.mark.trust)], ids=["made", "new"]
)
def test_the_demo_answers_the_line_that_it_prints(
    shell: CommandLine, tmp_path: Path, request: pytest.FixtureRequest, *, is_made: bool
) -> None:
    given = {name: text for name, text in shell.environment.items() if text is not None}
    folder = Path(given["PRODUCTRECS_DATA"])
    if is_made:
        shutil.rmtree(folder)
        shutil.copytree(request.getfixturevalue("demo_folder"), folder)
    else:
        paint(pictures_folder(folder))
    output = tmp_path / "output"
    command = [sys.executable, "-m", "productrecs", "demo", "--port", "0"]
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, **given}
        )
    try:
        address = printed(output, process)
        with urllib.request.urlopen(address) as reply:  # noqa: S310 - our own address
            answer = json.load(reply)
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(60)

    assert len(answer["recommendations"]) == 4
    assert answer["recommendations"][0]["source"] in {"buy", "browse", "complementary"}
    assert status == 0
    log, _, banner = output.read_text().partition("ProductRecs listens on ")
    assert log.count('"event":"process ready"') == log.count('"event":"process started"')
    assert "ProductRecs listens on " not in banner
    assert "/dashboard/register?token=new." in banner


def printed(output: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait for the line to try; return its address."""
    while process.poll() is None:
        found = re.search(r"^curl '(.+)'$", output.read_text(), re.MULTILINE)
        if found:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(output.read_text())


def test_without_the_demos_package_its_command_is_missing_and_says_why(
    shell: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "demo", "no_such_package.command:demo")

    assert "the package no_such_package is not installed" in shell.refused("demo")
    assert re.search(r"^  demo ", shell("--help"), re.MULTILINE) is None
    assert re.search(r"^  doctor ", shell("--help"), re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there(shell: CommandLine, name: str) -> None:
    assert f"Usage: productrecs {name} " in shell(name, "--help")
