"""Service under test: a complete service, and clients for it.

`Service` is one `productrecs serve` with all its processes, in a process group of its own,
on a free port, over SQLite in a folder or a PostgreSQL. `Client` is one connection to it,
`Merchant` a store's keys and the calls that a shop makes.
"""

import contextlib
import hashlib
import hmac
import http.client
import itertools
import json
import os
import select
import signal
import socket
import tempfile
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, Self
from urllib.parse import quote, urlencode

from productrecs.core.clock import Clock, system_ms
from productrecs.core.ids import StoreId, random_text
from productrecs.features.assistants.ucp_profile import catalog_path
from productrecs.features.looks.look import SanitizedPicture
from productrecs.features.looks.repository import LookRepository
from productrecs.features.mail_slots.mail_slot import MailResource, sign_slot
from productrecs.features.product_feed_export.feed_entries import FeedFormat, feed_path
from productrecs.records.placements.placement import PlacementContent
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_settings,
    find_store,
    register_store,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS
from productrecs.tenancy.users.access_tokens.access_token import create_access_token
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.training.search.indexer import Indexer
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.support.migrated import bring, link_models, migrate_at
from tests.support.nursery import Program, nursery
from tests.support.project import ROOT

HOST: Final = "127.0.0.1"
METRICS_TOKEN: Final = "the-operators-token-of-the-tests"
OPERATOR: Final = {"authorization": f"Bearer {METRICS_TOKEN}"}
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 60.0  # after 45 the supervisor kills, and says whom
# Below the ports that the system gives to outgoing connections; each process of a test run
# looks in a stretch of its own, and runs in other checkouts look elsewhere.
_STRETCH: Final = (
    zlib.crc32(str(ROOT).encode()) + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
) % 25
_PORTS: Final = itertools.cycle(range(20_000 + 500 * _STRETCH, 20_500 + 500 * _STRETCH))


class ServiceError(RuntimeError):
    """The service did not do what a test needs; the message ends with its log."""


@dataclass(frozen=True)
class Reply:
    """What came back: names of headers are in lower case, in the order sent."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the only value of a header, or None when it was not sent."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, f"{name} came {len(values)} times: {values}"
        return values[0] if values else None

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)

    @property
    def ids(self) -> list[str]:
        """The ids of the products of a list, in order."""
        assert self.status == http.HTTPStatus.OK, self.body
        return [product["id"] for product in self._products]

    @property
    def sources(self) -> list[str]:
        """The sources of the products of a list, in order."""
        return [product["source"] for product in self._products]

    @property
    def _products(self) -> list[dict[str, Any]]:
        name = "recommendations" if "recommendations" in self.json else "results"
        products: list[dict[str, Any]] = self.json[name]
        return products


class Requester(Protocol):
    """Whatever answers requests: a connection, or an application in this process."""

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request and return what came back."""


_IDLE_SECONDS = 8.0


class Client:
    """One kept connection, opened again when the service closed it in between."""

    def __init__(self, port: int, seconds: float = 30.0) -> None:
        """Prepare to talk to `port`; wait at most `seconds` for any one answer."""
        self._port = port
        self._seconds = seconds
        self._connection: http.client.HTTPConnection | None = None
        self._answered = 0.0

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request and return what came back.

        Raises:
            OSError: when the connection was refused, reset or too slow.
            http.client.HTTPException: when it broke off in the middle of an answer.
        """
        if self._is_over():
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                HOST, self._port, timeout=self._seconds
            )
        try:
            self._connection.request(method, target, body, dict(headers or {}))
            got = self._connection.getresponse()
            read = got.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        self._answered = time.monotonic()
        if got.will_close:
            self.close()
        return Reply(got.status, [(k.lower(), v) for k, v in got.getheaders()], read)

    def _is_over(self) -> bool:
        """Tell whether the service has ended the connection, or may do so meanwhile.

        It closes a connection that was idle for 15 seconds, perhaps while a call is on its
        way there; such a call breaks off.
        """
        kept = None if self._connection is None else self._connection.sock
        if kept is None:
            return False
        is_old = time.monotonic() - self._answered > _IDLE_SECONDS
        return is_old or bool(select.select([kept], [], [], 0)[0])

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        """Let go with the test that forgets about it."""
        self.close()


@dataclass(frozen=True)
class Account:
    """A registered store, with the secret that is shown once."""

    store_id: str
    domain: str
    publishable: str
    secret: str


@dataclass(frozen=True)
class Merchant:
    """One store and the calls that its shop and its server make."""

    account: Account
    client: Requester

    def through(self, client: Requester) -> "Merchant":
        """Return the same store, calling by another way."""
        return Merchant(self.account, client)

    def push(self, *items: Mapping[str, object]) -> Reply:
        """Push items with the secret key."""
        body = json.dumps({"items": items}).encode()
        return self.client.ask("POST", "/v1/items", body, self.server)

    def delete(self, item_id: str) -> Reply:
        """Delete an item with the secret key."""
        target = f"/v1/items/{quote(item_id, safe='')}"
        return self.client.ask("DELETE", target, None, self.server)

    def track(self, *events: Mapping[str, object]) -> Reply:
        """Send one event as an object, several as an array, as a shop's page does."""
        sent: object = events[0] if len(events) == 1 else events
        return self.client.ask(
            "POST",
            f"/v1/events?key={self.account.publishable}",
            json.dumps(sent).encode(),
            {"content-type": "text/plain"},
        )

    def order(self, order_id: str, *lines: object, **fields: object) -> Reply:
        """Sync an order with the secret key; a line is an item id or a whole line."""
        items = [{"item_id": one} if isinstance(one, str) else one for one in lines]
        body = json.dumps({"order_id": order_id, "items": items, **fields}).encode()
        return self.client.ask("POST", "/v1/orders", body, self.server)

    def recommend(self, **query: object) -> Reply:
        """Ask for recommendations."""
        return self.client.ask("GET", self.target("/v1/recommendations", **query))

    def trending(self, **query: object) -> Reply:
        """Ask for what trends."""
        return self.client.ask("GET", self.target("/v1/trending", **query))

    def search(self, q: str, **query: object) -> Reply:
        """Search for words."""
        return self.client.ask("GET", self.target("/v1/search", q=q, **query))

    def target(self, path: str, **query: object) -> str:
        """Return an address with the publishable key in it."""
        return f"{path}?{urlencode({**query, 'key': self.account.publishable})}"

    def identity(self, customer_id: str, seconds: int = 3_600) -> str:
        """Return a customer's signed identity, as a shop's server computes it."""
        expires = int(time.time()) + seconds
        key = hashlib.sha256(self.account.secret.encode()).hexdigest().encode()
        message = f"identity:{expires}:{customer_id}".encode()
        return f"{expires}.{hmac.new(key, message, 'sha256').hexdigest()}"

    @property
    def server(self) -> dict[str, str]:
        """The headers of the merchant's own server."""
        return {"x-api-key": self.account.secret, "content-type": "application/json"}


REGISTERED_BY: "Final[dict[str, Service]]" = {}
"""The service of each registered store, by the store's id."""


def keep_look_picture(account: Account, data: bytes) -> str:
    """Keep a JPEG for looks of a registered store; return the path that it is found at."""
    picture = SanitizedPicture(hashlib.sha256(data).hexdigest()[:32], data, 160, 160)
    with (
        REGISTERED_BY[account.store_id].database() as database,
        database.transaction() as one,
    ):
        looks = LookRepository(one, StoreId(account.store_id))
        looks.store_picture(picture, system_ms())
    return f"/look-pictures/{account.domain}/{picture.picture_id}.jpg"


def switch_on_feed(account: Account, feed: FeedFormat = FeedFormat.GOOGLE) -> str:
    """Switch the feeds of a registered store on; return the path of one."""
    with REGISTERED_BY[account.store_id].database() as database:
        store = find_store(database, account.domain)
        change_settings(database, store, {"product_feeds": "true"})
    assert store.secrets.secret_hash is not None
    return feed_path(store.secrets.secret_hash, store.domain, feed)


def switch_on_mail_slot(
    account: Account, slot: str = "newsletter", content: PlacementContent | None = None
) -> dict[MailResource, str]:
    """Switch mails on for a registered store, with a placement; return its paths."""
    add_placement(account, slot, content)
    with REGISTERED_BY[account.store_id].database() as database:
        store = find_store(database, account.domain)
        change_settings(database, store, {"mail_slots": "true"})
    assert store.secrets.secret_hash is not None
    signature = sign_slot(store.secrets.secret_hash, slot)
    return {part: f"/v1/mail/{part}/{slot}?signature={signature}" for part in MailResource}


def switch_on_assistants(account: Account) -> str:
    """Let assistants call a registered store; return the path of its catalog."""
    with REGISTERED_BY[account.store_id].database() as database:
        store = find_store(database, account.domain)
        change_settings(database, store, {"shopping_assistants": "true"})
    return catalog_path(account.domain)


def give_access_token(account: Account, role: Role = Role.VIEWER) -> str:
    """Make an access token of a registered store for an assistant; return its text."""
    with REGISTERED_BY[account.store_id].database() as database:
        store_id = StoreId(account.store_id)
        _, text = create_access_token(
            database, store_id, random_text(8), role, "owner", system_ms()
        )
    return text


def add_placement(
    account: Account, name: str, content: PlacementContent | None = None
) -> None:
    """Store a placement of a registered store, with by default without any limits."""
    with REGISTERED_BY[account.store_id].database() as database:
        store = find_store(database, account.domain)
        PlacementEditor(database, store, system_ms).put(name, content or PlacementContent())


@dataclass
class Service:
    """One service: `start` it, `kill` or `stop` it, and `start` it again.

    `broken` names a folder whose `sitecustomize.py` every process of it loads first: that
    is how a control breaks the real service.
    """

    folder: Path
    database_url: str | None = None
    workers: int = 1
    now: str | None = None
    broken: Path | None = None
    command: str = "serve"
    port: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)  # of its environment
    _process: Program | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Choose a port, which stays over restarts."""
        self.port = self.port or free_port()

    def start(self) -> float:
        """Start it and wait until it is ready; return how many seconds that took.

        Raises:
            ServiceError: when it ends or is not ready in time.
        """
        began = time.monotonic()
        self.launch()
        self.wait_ready(began + START_SECONDS)
        return time.monotonic() - began

    @property
    def is_running(self) -> bool:
        """Whether it was started, and neither stopped nor killed since."""
        return self._process is not None

    def launch(self) -> None:
        """Start it and do not wait."""
        assert self._process is None, "it runs already"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._process = nursery().start(
            [self.command, *self._options()],
            self._environment(),
            self.log_path,
            broken=self.broken,
        )

    def wait_ready(self, until: float) -> None:
        """Return as soon as it says that it is ready; `until` is a monotonic time.

        Raises:
            ServiceError: when it has ended, or `until` has passed.
        """
        assert self._process is not None
        probe = Client(self.port, seconds=2)
        said = b"nobody answered"
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                reply = probe.ask("GET", "/health/ready")
                if reply.status == http.HTTPStatus.OK:
                    probe.close()
                    return
                said = reply.body
            if self._process.poll() is not None:
                message = f"the service ended with {self._process.returncode}:\n"
                raise ServiceError(message + self.log)
            if time.monotonic() > until:
                message = f"the service did not become ready: {said!r}\n"
                raise ServiceError(message + self._notable_log)
            time.sleep(0.02)

    def kill(self) -> None:
        """End every process of the group at once, as a power cut would: SIGKILL."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_SECONDS)
            self._process = None

    def processes(self) -> dict[int, str]:
        """Return name and command line of each process of the service, by its id."""
        assert self._process is not None
        command_lines = {}
        for folder in Path("/proc").glob("[0-9]*"):
            pid = int(folder.name)
            with contextlib.suppress(OSError):
                if os.getpgid(pid) == self._process.pid:
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    said = [(folder / "comm").read_bytes().strip(), *words]
                    command_lines[pid] = b" ".join(said).decode("utf-8", "replace").strip()
        return command_lines

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the first process, as an operator or an init system does."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> int:
        """Ask it to end in order, wait, and return its exit status."""
        assert self._process is not None
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end and return its exit status."""
        assert self._process is not None
        status = self._process.wait(STOP_SECONDS)
        self.kill()  # nothing may stay behind
        return status

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind."""
        self.kill()

    @property
    def log_path(self) -> Path:
        """Where everything that it writes goes."""
        return self.folder / "service.log"

    @property
    def log(self) -> str:
        """The end of what it wrote."""
        return self._whole_log()[-4_000:]

    @property
    def _notable_log(self) -> str:
        """The end of what it wrote, without the refusals of who asks again and again."""
        lines = self._whole_log().splitlines()
        return "\n".join([one for one in lines if "request rejected" not in one][-40:])

    def _whole_log(self) -> str:
        """Everything that it wrote; without a log, that there is none.

        An error message ends with the log: a missing file must not replace its reason.
        """
        try:
            return self.log_path.read_text("utf-8", "replace")
        except FileNotFoundError:
            return f"(no log at {self.log_path})"

    def client(self, seconds: float = 30.0) -> Client:
        """Return a new connection to it."""
        return Client(self.port, seconds)

    def clients_of_every_worker(self) -> list[Client]:
        """Return a kept connection to each API process, once all are ready.

        A process is known by its request ids, which all begin with the same letters.
        """
        by_process: dict[str, Client] = {}
        others: list[Client] = []

        def look() -> bool:
            client = self.client()
            reply = client.ask("GET", "/health/ready")
            others.append(client)
            if reply.status == http.HTTPStatus.OK:
                by_process.setdefault((reply.header("x-request-id") or "")[:-8], client)
            return len(by_process) == self.workers

        eventually(look, START_SECONDS)
        for client in others:
            if client not in by_process.values():
                client.close()
        return list(by_process.values())

    def everywhere(self, merchant: Merchant) -> list[Merchant]:
        """Return the store once for each API process, calling just that one."""
        return [merchant.through(client) for client in self.clients_of_every_worker()]

    @contextlib.contextmanager
    def database(self) -> Iterator[Database]:
        """Give its database, as another process of the same machine has it."""
        opened = Database.open(self.database_url, self.folder)
        try:
            yield opened
        finally:
            opened.close()

    def prepare(self) -> Self:
        """Make the database, so that stores can be registered before the first start."""
        self.folder.mkdir(parents=True, exist_ok=True)
        bring(self.folder, self.database_url)
        link_models(self.folder)
        migrate_at(self.database_url, self.folder)  # a server's; else it is done
        return self

    def register(
        self, domain: str | None = None, plan: str = "unlimited", **settings: str
    ) -> Merchant:
        """Register a store, while it runs or before; return it with a connection."""
        wanted = Registration(
            domain=domain or f"{uuid.uuid4().hex[:12]}.example",
            plan=DEFAULT_PLANS[plan],
            settings=settings,
        )
        with self.database() as database:
            store, secret = register_store(database, wanted, system_ms)
        REGISTERED_BY[store.store_id] = self
        account = Account(store.store_id, store.domain, store.publishable_key, secret)
        return Merchant(account, self.client())

    def train(self, merchant: Merchant, clock: Clock = system_ms) -> None:
        """Learn now what a store's log says; the running service swaps it in by itself."""
        with self.database() as database:
            workshop = TrainingDeps(database, self.folder / "models", clock)
            store = find_store(database, merchant.account.domain)
            train_store(workshop, store, TrainingInputs(), lambda _share: None)

    def index(self) -> None:
        """Write the search indexes now; for a service that nobody writes them for."""
        with self.database() as database:
            reader = database.raw_reader()
            indexer = Indexer(self.folder / "search", AccountDirectory(database))
            while indexer.run_next_batches(reader):
                pass
            indexer.close()
            reader.close()

    def run(self, *arguments: str) -> str:
        """Run one verb of the command line on its data; return what it printed.

        Raises:
            ServiceError: when the verb fails.
        """
        words = [*arguments, "--data", str(self.folder)]
        with tempfile.TemporaryDirectory() as folder:
            said, failed = Path(folder) / "out", Path(folder) / "errors"
            program = nursery().start(words, self._environment(), said, failed, self.broken)
            if program.wait(120) != 0:
                raise ServiceError(
                    f"{words} failed: {said.read_text()}{failed.read_text()}"
                )
            return said.read_text("utf-8")

    def _options(self) -> list[str]:
        options = ["--data", str(self.folder)]
        if self.command != "worker":
            options += ["--host", HOST, "--port", str(self.port)]
            options += ["--workers", str(self.workers)]
        return options

    def _environment(self) -> dict[str, str]:
        ours = ("PRODUCTRECS_", "DATABASE_URL")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        environment["PRODUCTRECS_LOG_FORMAT"] = "json"
        environment["PRODUCTRECS_METRICS_TOKEN"] = METRICS_TOKEN
        environment["PRODUCTRECS_IMAGE_HOSTS"] = HOST  # where tests keep their pictures
        for name in ("IMAGE", "SEARCH"):  # the same, whatever is installed
            environment[f"PRODUCTRECS_{name}_MODEL"] = "none"
        if self.database_url is not None:
            environment["DATABASE_URL"] = self.database_url
        if self.now is not None:
            environment["PRODUCTRECS_NOW"] = self.now
        environment |= self.variables
        if self.broken is not None:
            paths = [str(self.broken), *environment.get("PYTHONPATH", "").split(os.pathsep)]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        return environment


def free_port() -> int:
    """Return a port that nothing listens on.

    Raises:
        ServiceError: when all are taken.
    """
    for port in itertools.islice(_PORTS, 500):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise ServiceError("no port is free")


def eventually(
    condition: Callable[[], object], seconds: float = 30.0, pause: float = 0.02
) -> float:
    """Wait until `condition()` is true; return how many seconds that took.

    The first pause is `pause`; later ones are longer by a twentieth of the wait, since each
    question takes processor time from the service that answers it.

    Raises:
        AssertionError: when it is not true in time.
    """
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds} s"
        time.sleep(pause + waited / 20)
    return time.monotonic() - began


def kept_once(attempt: Callable[[], float], seconds: float, attempts: int = 3) -> bool:
    """Tell whether a promise of so many seconds is kept, by one of some attempts.

    `attempt()` returns how many it took. Who shares a busy machine may be late for no fault
    of the service; a service that is late by itself is late each time.
    """
    return any(attempt() <= seconds for _ in range(attempts))


def raw_request(
    port: int, sent: Iterable[bytes], until: bytes = b"", seconds: float = 10.0
) -> bytes:
    """Send bytes as they are on a connection of their own; return what came back.

    That is all until the service closes, or until `until` has come.
    """
    received = b""
    with socket.create_connection((HOST, port), timeout=seconds) as connection:
        for part in sent:
            connection.sendall(part)
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            while got := connection.recv(65_536):
                received += got
                if until and until in received:
                    break
    return received
