"""Upload client: sends an order history of any size and measures the cost."""

import contextlib
import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from productrecs.records.uploads.order_uploads.repository import JOB
from productrecs.storage.sql.tables import jobs
from tests.support.service import HOST, Merchant, Reply, Service

BOUNDARY: Final = "----a-boundary-of-ours"
_BLOCK: Final = 1 << 20
_STEP: Final = 2_000
_PATIENCE: Final = 10
_STARTS: Final = re.compile(r'"process started".*"role": "([^"]+)", "pid": (\d+)')


def form(content: bytes, name: str = "file", filename: str | None = "orders.csv") -> bytes:
    """Return a whole form with one part; without `filename` that is a plain field."""
    return part(content, name, filename) + f"--{BOUNDARY}--\r\n".encode()


def part(content: bytes, name: str = "file", filename: str | None = "orders.csv") -> bytes:
    """Return one part of a form."""
    named = "" if filename is None else f'; filename="{filename}"'
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def headers(merchant: Merchant) -> dict[str, str]:
    """Return what a form is sent with."""
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return {"x-api-key": merchant.account.secret, "content-type": kind}


def upload(merchant: Merchant, content: bytes | str) -> Reply:
    """Hand in a history."""
    data = content.encode() if isinstance(content, str) else content
    return merchant.client.ask("POST", "/orders/upload", form(data), headers(merchant))


def upload_file(service: Service, merchant: Merchant, path: Path) -> Reply:
    """Hand in a file of any size, a block at a time."""
    start = part(b"")[:-2]
    end = f"\r\n--{BOUNDARY}--\r\n".encode()
    length = len(start) + path.stat().st_size + len(end)

    def body() -> Iterator[bytes]:
        yield start
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
        yield end

    with contextlib.closing(
        http.client.HTTPConnection(HOST, service.port, timeout=600)
    ) as connection:
        sent = headers(merchant) | {"content-length": str(length)}
        connection.request("POST", "/orders/upload", body(), sent)
        got = connection.getresponse()
        named = [(key.lower(), value) for key, value in got.getheaders()]
        return Reply(got.status, named, got.read())


def state(merchant: Merchant, upload_id: str) -> dict[str, Any]:
    """Return what the service says of an upload, asked again after an honest 503."""
    key = {"x-api-key": merchant.account.secret}
    for _ in range(_PATIENCE):
        reply = merchant.client.ask("GET", f"/orders/upload/{upload_id}", None, key)
        if reply.status != 503:
            break
        print(reply)  # noqa: T201 - shown when it fails: the detail names the cause
        time.sleep(1)
    assert reply.status == 200, reply
    body: dict[str, Any] = reply.json
    return body


def ended(merchant: Merchant, upload_id: str, seconds: float = 60) -> dict[str, Any]:
    """Wait for the end of an upload; return what the service says of it then."""
    until = time.monotonic() + seconds
    while (status := state(merchant, upload_id))["status"] in {"queued", "running"}:
        assert time.monotonic() < until, status
        time.sleep(0.05)
    return status


def files(service: Service) -> list[Path]:
    """Return the files that wait in the data folder."""
    return sorted((service.folder / "uploads").glob("up_*"))


def process(service: Service, role: str) -> int:
    """Return the number of the process that was last started in a role."""
    log = service.log_path.read_text("utf-8", "replace")
    return [int(pid) for name, pid in _STARTS.findall(log) if name == role][-1]


def end_leases(service: Service) -> None:
    """Let an import whose process was killed be taken over now, not in ten seconds."""
    killed = jobs.update().where(jobs.c.kind == JOB, jobs.c.state == "running")
    with service.database() as database, database.transaction() as transaction:
        transaction.execute(killed.values(leased_until=0))


def peak_mib(pid: int | str) -> float:
    """Return the most memory that a process (or `self`) ever held, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    match = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert match is not None
    return int(match[1]) / 1024


def write_history(path: Path, size: int, padding: int = 0) -> int:
    """Write a history of about `size` bytes in rows of some 50; return how many rows.

    `padding` makes every row longer by a column that nobody reads.
    """
    note = "x" * padding
    rows = 0
    with path.open("w") as file:
        file.write("order_id,item_id,customer_id,timestamp,quantity,price,note\n")
        while file.tell() < size:
            lines = []
            for row in range(rows, rows + _STEP):
                order, item = row // 3, row * 7919 % 5_000
                day = f"2026-0{1 + row % 6}-{1 + row % 28:02d}"
                lines.append(
                    f"A-{order},item-{item},c-{order % 90_000},{day},{1 + row % 3},"
                    f"{item % 90}.5,{note}\n"
                )
            file.writelines(lines)
            rows += _STEP
    return rows


@dataclass
class EventSender:
    """Somebody who goes on shopping: how long each event took, in milliseconds."""

    merchant: Merchant
    taken: list[float]

    @contextlib.contextmanager
    def busy(self, rest_seconds: float = 0.02) -> Iterator[None]:
        """Send events for as long as the block runs."""
        over = threading.Event()
        thread = threading.Thread(target=self._shop, args=(over, rest_seconds))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @property
    def p99(self) -> float:
        """The time that one event in a hundred took longer than."""
        return sorted(self.taken)[int(len(self.taken) * 0.99)]

    def _shop(self, over: threading.Event, rest_seconds: float) -> None:
        event = {"event": "detail-page-view", "item_id": "item-1", "session_id": "s_1"}
        while not over.wait(rest_seconds):
            began = time.perf_counter()
            assert self.merchant.track(event).status == 200, json.dumps(event)
            self.taken.append((time.perf_counter() - began) * 1000)
