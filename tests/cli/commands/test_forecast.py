"""`productrecs forecast`: forecasts a store, and the report shows it."""

import csv
from datetime import date, timedelta

import pytest

from productrecs.services import Services
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.accounts.store_management import find_store
from tests.cli.conftest import CommandLine

NIGHT = {"PRODUCTRECS_NOW": "2026-03-02T02:30:00+01:00"}


@pytest.fixture
def selling(shell: CommandLine, shop: str) -> str:
    """Return the domain of a store that sells tents and lamps, and has few tents."""
    items = "id,title,price,stock_qty\ntent,Tent,200,5\nlamp,Lamp,10,900\n"
    shell("import-items", shop, "-", stdin=items, **NIGHT)
    rows = [
        f"{item}-{back}-{n},{item},{date(2026, 3, 2) - timedelta(days=back)}T12:00:00,1,9"
        for back in range(1, 91)
        for item in ("tent", "lamp")
        for n in range(3)
    ]
    head = "order_id,item_id,timestamp,quantity,price\n"
    shell("import-orders", shop, "-", stdin=head + "\n".join(rows), **NIGHT)
    shell("store", "enable-demand", shop)
    return shop


def test_a_forecast_and_its_report_are_printed(shell: CommandLine, selling: str) -> None:
    result = shell.json("forecast", selling, **NIGHT)
    days = shell.json("report", selling, "forecast", **NIGHT)

    assert (result["items"], result["target_mode"]) == (2, "units")
    assert [row["date"] for row in days["rows"]][::27] == ["2026-03-03", "2026-03-30"]
    assert days["rows"][0]["mean"] == pytest.approx(6, rel=0.05)
    assert all(figure["meaning"] for figure in days["figures"])
    figures = {figure["name"]: figure["value"] for figure in days["figures"]}
    for score in ("rmsse", "pinball", "wape", "bias", "coverage"):
        scores = [figures[f"items {way}{score}"] for way in ("", "naive_", "moving_")]
        assert all(isinstance(value, float) for value in scores)


def test_the_demand_report_lists_the_most_money_first(
    shell: CommandLine, selling: str
) -> None:
    shell("forecast", selling, **NIGHT)

    report = shell.json("report", selling, "demand", **NIGHT)
    table = shell("report", selling, "demand", "--csv", **NIGHT).splitlines()

    alerts = {row["item_id"]: row["alert"] for row in report["rows"]}
    assert alerts == {"lamp": "overstock", "tent": "runs_out"}
    assert [report["rows"][0][f"sold_{days}_days"] for days in (30, 60, 90)] == [
        90,
        180,
        270,
    ]
    assert [row["money"] for row in report["rows"]] == sorted(
        (row["money"] for row in report["rows"]), reverse=True
    )
    assert [row["item_id"] for row in csv.DictReader(table)] == list(alerts)
    dated = shell.json("report", selling, "demand", "--by", "order_date", **NIGHT)
    assert dated["rows"][0]["item_id"] == "tent"
    assert "order_date" in shell.refused("report", selling, "demand", "--by", "magic")


def test_before_the_first_run_reports_say_so(
    shell: CommandLine, shop: str, services: Services
) -> None:
    for name in ("demand", "forecast"):
        report = shell.json("report", shop, name)
        assert (report["rows"], "enable-demand" in report["notes"][0]) == ([], True)

    store = find_store(services.database, shop)
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "forecast"))
    job = services.queue.claim({"forecast"})
    assert job is not None
    services.queue.extend_lease(job, 0.4)

    assert "40% done" in shell("report", shop, "forecast")


def test_the_doctor_reports_a_forecast_that_is_missing_or_old(
    shell: CommandLine, selling: str
) -> None:
    assert "was not forecast yet" in shell.run("doctor", **NIGHT).output

    shell("forecast", selling, **NIGHT)
    assert "forecast" not in shell.run("doctor", **NIGHT).output
    later = {"PRODUCTRECS_NOW": "2026-03-05T02:30:00+01:00"}
    assert "newest forecast is from 2026-03-02" in shell.run("doctor", **later).output


def test_the_add_on_can_be_taken_away(shell: CommandLine, shop: str) -> None:
    assert "forecasts now" in shell("store", "enable-demand", shop)
    assert "not visible yet" not in shell("forecast", shop)

    assert "is removed" in shell("store", "enable-demand", shop, "--off")
    assert "not visible yet" in shell("forecast", shop)
