"""Uploads: what was accepted is imported, also after kills and at any size.

The long forms say what they measured; how fast it went is asserted nowhere, since a busy
machine is no fault.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from productrecs.core.ids import StoreId
from productrecs.records.uploads.order_uploads.repository import files_needed
from productrecs.records.uploads.upload_folder import UploadFolder
from productrecs.storage.sql.tables import purchase_lines
from tests.records.orders.import_support import NOON, import_text, rows_of, standing
from tests.support.project import ROOT
from tests.support.service import Merchant, Service
from tests.support.uploads import (
    EventSender,
    end_leases,
    ended,
    files,
    peak_mib,
    process,
    state,
    upload,
    upload_file,
    write_history,
)

SUBMITTED: Final = "2026-03-01T12:00:00Z"  # past.NOON
MIB: Final = 1 << 20
COUNTS: Final = ("rows", "lines_imported", "rows_skipped")
BROKEN: Final = Path(__file__).parent / "broken"
OF_A_STORE: Final = 15  # uploads that wait: a killed import holds its store's for a while


@pytest.fixture
def service(data_folder: Path, database_url: str | None) -> Iterator[Service]:
    service = Service(data_folder, database_url, now=SUBMITTED).prepare()
    yield service
    service.kill()


def a_history(rows: int) -> str:
    """Return a file with orders over chunks, repeats, returns, bad rows and no dates."""
    lines = ["order_id,item_id,customer_id,quantity,price"]
    for number in range(rows):
        order, item = number // 7 % (rows // 8 + 1), number * 31 % 400
        units = "zero" if number % 997 == 0 else number % 5 - 1 or 3
        lines.append(f"B-{order},item-{item},c-{order % 90},{units},{item / 4}")
    return "\n".join(lines)


def check_kills_after_the_answer(service: Service, kills: int) -> None:
    """Kill the service as soon as it has accepted; in the end all of it is imported."""
    stores: list[Merchant] = []
    accepted: list[tuple[Merchant, str]] = []
    for number in range(kills):
        if number % OF_A_STORE == 0:
            stores.append(service.register())
        service.start()
        reply = upload(
            stores[-1].through(service.client()), f"order_id,item_id\nA-{number},a"
        )
        service.kill()
        assert reply.status == 202, reply
        accepted.append((stores[-1], reply.json["upload_id"]))

    end_leases(service)
    service.start()
    client = service.client()
    states = [ended(one.through(client), upload, 60 + kills) for one, upload in accepted]

    assert {(one["status"], one["lines_imported"]) for one in states} == {("done", 1)}
    with service.database() as database:
        bought = [
            line.order_id
            for store in stores
            for line in standing(database, StoreId(store.account.store_id))
        ]
    assert sorted(map(str, bought)) == sorted(f"A-{n}" for n in range(kills))
    assert swept(service) == []


def swept(service: Service) -> list[Path]:
    """Return the files that stay once what a kill left behind is swept away, hours later.

    A kill between an import's end and the removal of its file leaves that to the sweep.
    """
    for file in files(service):
        os.utime(file, (0, 0))
    with service.database() as database, database.reading() as connection:
        needed = files_needed(connection)
    UploadFolder(service.folder / "uploads").delete_unneeded_files(needed)
    return files(service)


def check_kills_midway(service: Service, kills: int, rows: int) -> None:
    """Kill an import again and again; it ends as one that nobody disturbed."""
    whole, broken = service.register(), service.register()
    with service.database() as database:
        expected = import_text(
            database, StoreId(whole.account.store_id), a_history(rows), at=NOON
        )
    service.start()
    reply = upload(broken.through(service.client()), a_history(rows))
    assert reply.status == 202
    upload_id = reply.json["upload_id"]

    struck = 0
    while struck < kills and moved(service, broken, upload_id):
        if struck % 2:
            os.kill(process(service, "importer"), signal.SIGKILL)
        else:
            service.kill()
            service.now = f"2026-03-0{2 + struck % 7}T12:00:00Z"
            service.start()
        end_leases(service)
        struck += 1
    there = broken.through(service.client())
    state = ended(there, upload_id, 300)

    assert struck == kills
    assert state["status"] == "done"
    assert {name: state[name] for name in COUNTS} == {
        name: getattr(expected, name) for name in COUNTS
    }
    assert [one["row"] for one in state["errors"]] == [one.row for one in expected.errors]
    with service.database() as database:
        lines = [
            rows_of(database, StoreId(store.account.store_id), purchase_lines)
            for store in (whole, broken)
        ]
    assert lines[0] == lines[1]
    assert swept(service) == []


def moved(service: Service, merchant: Merchant, upload_id: str) -> bool:
    """Wait until an import gets further; return False if it ended instead."""
    there = merchant.through(service.client())
    before = state(there, upload_id)["rows"]
    until = time.monotonic() + 60
    while (now := state(there, upload_id))["rows"] == before or now["status"] == "queued":
        if now["status"] in {"done", "failed"}:
            return False
        assert time.monotonic() < until, now
        time.sleep(0.005)
    return bool(now["status"] == "running")


def test_kills_right_after_the_answer_lose_no_upload(service: Service) -> None:
    check_kills_after_the_answer(service, 3)


def test_an_import_killed_midway_ends_as_one_that_ran_through(service: Service) -> None:
    # Where a chunk takes long it is as small as fifty rows, each with a dozen statements.
    rows = 20_000 if service.database_url is None else 8_000
    check_kills_midway(service, kills=2, rows=rows)


@pytest.mark.trust
def test_five_hundred_kills_right_after_the_answer_lose_no_upload(service: Service) -> None:
    check_kills_after_the_answer(service, 500)


@pytest.mark.trust
@pytest.mark.parametrize(("kills", "rows"), [(40, 300_000), (200, 1_500_000)])
def test_many_kills_midway_of_a_long_import_change_nothing(
    service: Service, kills: int, rows: int
) -> None:
    check_kills_midway(service, kills, rows)


def test_control_an_import_that_begins_anew_is_seen(data_folder: Path) -> None:
    broken = BROKEN / "forgets_progress"
    service = Service(data_folder, now=SUBMITTED, broken=broken).prepare()
    try:
        with pytest.raises(AssertionError, match="lines_imported"):
            check_kills_midway(service, kills=2, rows=20_000)
    finally:
        service.kill()


@dataclass
class Figures:
    """What an upload cost: memory in MiB, time in seconds, events in milliseconds."""

    size_mib: float
    rows: int
    sending_seconds: float
    importing_seconds: float
    api_grew_by: float
    importer_peak: float
    event_p99: float


def weigh(service: Service, file: Path, rows: int) -> Figures:
    """Hand in a file while somebody shops; return what it cost."""
    merchant, shopper = service.register(), EventSender(service.register(), [])
    service.start()
    shopper.merchant = shopper.merchant.through(service.client())
    there = merchant.through(service.client())
    api = process(service, "api 1")
    with shopper.busy():
        time.sleep(3)
        before, began = peak_mib(api), time.monotonic()
        reply = upload_file(service, merchant, file)
        accepted = time.monotonic()
        assert reply.status == 202, reply
        grown = peak_mib(api) - before
        state = ended(there, reply.json["upload_id"], 2 * 3600)
    assert (state["status"], state["rows"], state["rows_skipped"]) == ("done", rows, 0)
    return Figures(
        size_mib=file.stat().st_size / MIB,
        rows=rows,
        sending_seconds=accepted - began,
        importing_seconds=time.monotonic() - accepted,
        api_grew_by=grown,
        importer_peak=peak_mib(process(service, "importer")),
        event_p99=shopper.p99,
    )


def check_memory(data_folder: Path, size: int, padding: int) -> None:
    file = data_folder / "history.csv"
    rows = write_history(file, size, padding)
    service = Service(data_folder).prepare()
    try:
        figures = weigh(service, file, rows)
    finally:
        service.kill()

    print(figures)  # noqa: T201 - shown with `-s`, and when it fails
    print(f"{figures.rows / figures.importing_seconds:,.0f} rows a second")  # noqa: T201
    assert figures.api_grew_by <= 64
    assert figures.importer_peak <= 256


def test_a_large_file_takes_little_memory(data_folder: Path) -> None:
    check_memory(data_folder, 96 * MIB, padding=2_000)


@pytest.mark.trust
@pytest.mark.parametrize("padding", [950, 0], ids=["million-rows", "23-million-rows"])
def test_a_gigabyte_takes_little_memory(data_folder: Path, padding: int) -> None:
    check_memory(data_folder, 1024 * MIB, padding)


_WHOLE: Final = """
import sys
from productrecs.http.transport.multipart_parser import MultipartFormParser
from tests.support.uploads import BOUNDARY, part, peak_mib
kind = b"multipart/form-data; boundary=" + BOUNDARY.encode()
form = MultipartFormParser([(b"content-type", kind)], "file")
form.feed(part(b"")[:-2])
before = peak_mib("self")
for _ in range(160):
    form.feed(b"x" * (1 << 20))
    if sys.argv[1] == "taken":
        form.pop_file_bytes()
print(peak_mib("self") - before)
"""


@pytest.mark.parametrize(("how", "fits"), [("taken", True), ("kept", False)])
def test_control_a_form_that_is_kept_takes_too_much(how: str, fits: bool) -> None:  # noqa: FBT001 - a parameter
    done = subprocess.run(
        [sys.executable, "-c", _WHOLE, how], cwd=ROOT, capture_output=True, check=True
    )

    assert (float(done.stdout) <= 64) is fits


def test_a_caller_learns_neither_bucket_nor_endpoint_of_a_failing_store(
    tmp_path: Path,
) -> None:
    variables = {
        "PRODUCTRECS_OBJECTS": "s3://the-bucket/the-prefix",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ACCESS_KEY_ID": "the-access-key",
        "AWS_SECRET_ACCESS_KEY": "the-secret",
        "AWS_REGION": "eu-central-1",
    }
    service = Service(tmp_path / "the-folder", variables=variables).prepare()
    with service:
        reply = upload(service.register(), "order_id,item_id\nA,a\n")

    assert reply.status == 503
    assert b"the object store cannot be used" in reply.body
    for secret in ("the-", "127.0.0.1:1", "AWS_"):
        assert secret not in reply.body.decode()
    logged = service.log_path.read_text("utf-8")
    assert "s3://the-bucket/the-prefix" in logged or "127.0.0.1:1" in logged
