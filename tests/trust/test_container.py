"""Container image: it is built as a user builds it, and runs read-only and without rights.

No registry is needed: the base image is Debian as `debootstrap` installs it, and pip takes
the locked packages from a folder. The containers run with the options of the compose files.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.object_server import ObjectServer
from tests.support.project import ROOT
from tests.support.service import Account, Client, Merchant, eventually, free_port

yaml = pytest.importorskip("yaml", reason="make trust installs it")

pytestmark = pytest.mark.trust

DOCKER: Final = ROOT / "deploy" / "docker"
BASE, IMAGE = "localhost/productrecs-base", "localhost/productrecs-test"
REVISION = "020de6668a61"
USER: Final = "10001"
TMP: Final = "/tmp"  # noqa: S108 - the containers' own
READY_SECONDS: Final = 60.0
DEMO_SECONDS: Final = 300.0  # it makes a year of history first
OWN_CGROUPS: Final = (
    *("unshare", "--mount", "sh", "-c"),
    'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; exec "$@"',
    "sh",
)
"""Podman's runtime refuses a mix of both versions of cgroups: then it sees the second."""


@dataclass
class Engine:
    """Debian's buildah and podman, with a storage of their own."""

    folder: Path
    started: list[str] = field(default_factory=list)

    def run(self, *words: str, seconds: float = 900) -> subprocess.CompletedProcess[str]:
        """Run a command of either; the caller looks at its status."""
        program, *others = words
        mixed = Path("/sys/fs/cgroup/unified").exists() and program == "podman"
        places = ("--root", f"{self.folder}/root", "--runroot", f"{self.folder}/run")
        return subprocess.run(
            [*(OWN_CGROUPS if mixed else ()), program, *places, *others],
            env={**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"},
            check=False,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def must(self, *words: str) -> str:
        """Run a command that has to succeed, and return what it printed."""
        done = self.run(*words)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"[
            -3000:
        ]
        return done.stdout

    def start(self, name: str, *words: str) -> None:
        """Start a container in the background."""
        self.started.append(name)
        # No systemd, so nothing could time the health check; the tests run it themselves.
        self.must("podman", "run", "--detach", "--name", name, *LIMITS, *words)

    def execute(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a container."""
        return self.run("podman", "exec", name, *words)

    def state(self, name: str) -> dict[str, Any]:
        """Return what podman knows of a container."""
        found: list[dict[str, Any]] = json.loads(self.must("podman", "inspect", name))
        return found[0]

    def log(self, name: str) -> str:
        """Return the end of a container's log."""
        done = self.run("podman", "logs", name)
        return (done.stdout + done.stderr)[-3000:]

    def close(self) -> None:
        """Remove the containers and everything stored."""
        for name in self.started:
            self.run("podman", "rm", "--force", "--volumes", name)
        shutil.rmtree(self.folder, ignore_errors=True)


LIMITS: Final = (
    *("--network", "host", "--cgroups", "disabled", "--health-interval", "disable"),
    *("--ulimit", "nofile=8192:8192", "--ulimit", "nproc=4096:4096"),
)
"""What a shared test machine allows; the compose files leave the defaults."""


def hardening(service: dict[str, Any]) -> list[str]:
    """Return a compose service's options as podman's command takes them."""
    words = ["--read-only", "--read-only-tmpfs=false"] if service["read_only"] else []
    words += [f"--cap-drop={one}" for one in service["cap_drop"]]
    words += [
        f"--security-opt={one.removesuffix(':true')}" for one in service["security_opt"]
    ]
    return words + [f"--tmpfs={one}:rw,noexec,nosuid" for one in service["tmpfs"]]


def services(file: str) -> dict[str, dict[str, Any]]:
    """Return the services of a compose file."""
    text = (DOCKER / file).read_text().replace("!override ", "")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)["services"]
    return found


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Give an engine that holds the image, built as the guide says."""
    lacking = [
        name
        for name in ("buildah", "podman", "debootstrap")
        if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") is None
    ]
    if lacking or os.geteuid() != 0:
        pytest.skip(f"no image was built: needs root and {', '.join(lacking) or 'nothing'}")
    folder = tmp_path_factory.mktemp("image")
    engine = Engine(folder / "storage")
    try:
        _make_base(engine, folder)
        probe = engine.run("podman", "run", "--rm", *LIMITS, BASE, "true")
        if probe.returncode:
            pytest.skip(f"podman could not run a container here: {probe.stderr[-500:]}")
        _build(engine, folder)
        yield engine
    finally:
        engine.close()
        shutil.rmtree(folder, ignore_errors=True)


def _make_base(engine: Engine, folder: Path) -> None:
    """Make the base image of Debian's own packages, with the same Python as the tests'."""
    system = folder / "debian"
    packages = "--include=python3,python3-venv,ca-certificates,libgomp1"
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", packages, "bookworm", str(system)],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"debootstrap could not install Debian: {done.stdout[-500:]}")
    (folder / "Containerfile").write_text("FROM scratch\nADD debian /\n")
    engine.must("buildah", "bud", "--tag", BASE, str(folder))
    shutil.rmtree(system)


def _build(engine: Engine, folder: Path) -> None:
    wheels, settings = folder / "wheels", folder / "pip.conf"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes"]
    fetch += ["--requirement", "requirements/run.txt", "--dest", str(wheels)]
    subprocess.run(fetch, cwd=ROOT, check=True, capture_output=True)
    settings.write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    engine.must(
        *("buildah", "bud", "--format", "docker", "--pull-never"),
        *(
            "--build-arg",
            f"BASE={BASE}",
            "--build-arg",
            f"SOURCE_REVISION={REVISION}",
            "--tag",
            IMAGE,
            "--file",
            str(DOCKER / "Dockerfile"),
        ),
        *("--volume", f"{wheels}:/wheels:ro", "--volume", f"{settings}:/etc/pip.conf:ro"),
        str(ROOT),
    )


def ready(engine: Engine, name: str, port: int, seconds: float = READY_SECONDS) -> Client:
    """Return a client of a container, once it is ready."""
    client = Client(port)

    def answers() -> bool:
        try:
            return client.ask("GET", "/health/ready").status == 200
        except OSError:
            assert engine.state(name)["State"]["Running"], engine.log(name)
            return False

    eventually(answers, seconds)
    return client


def create_store(engine: Engine, name: str, port: int) -> Merchant:
    """Create a store by the command in the container."""
    result = engine.execute(
        name, *("productrecs", "store", "create", "--domain", "shop.example.com", "--json")
    )
    assert result.returncode == 0, result.stderr
    store = json.loads(result.stdout)
    keys = (store["publishable_key"], store["secret_key"])
    return Merchant(Account(store["store_id"], store["domain"], *keys), Client(port))


def test_the_image_serves_read_only_and_without_rights(engine: Engine) -> None:
    name, port = "pr-one", free_port()
    service = services("compose.yaml")["productrecs"]
    options = hardening(service) + [f"--volume=pr-{one}" for one in service["volumes"]]

    engine.start(
        *(name, *options),
        *(
            "--env",
            f"PRODUCTRECS_PORT={port}",
            "--env",
            "PRODUCTRECS_HOST=127.0.0.1",
            IMAGE,
        ),
    )
    client = ready(engine, name, port)
    answer = engine.execute(name, "productrecs", "--version")
    assert f"({REVISION})" in answer.stdout

    merchant = create_store(engine, name, port)
    assert merchant.push({"id": "A", "title": "Green tent"}).status == 200
    eventually(lambda: merchant.search("tent").ids == ["A"])
    assert engine.execute(name, "id", "--user").stdout.strip() == USER
    status = engine.execute(name, "cat", "/proc/1/status").stdout
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    touched = engine.execute(name, "touch", "/opt/productrecs/x", "/x")
    assert touched.stderr.count("Read-only file system") == 2
    assert engine.execute(name, "touch", "/data/x", f"{TMP}/x").returncode == 0
    backup = engine.execute(name, "productrecs", "backup", "/backups/now.tar.gz")
    assert backup.returncode == 0, backup.stderr
    assert engine.run("podman", "healthcheck", "run", name).returncode == 0

    engine.must("podman", "stop", "--time", "45", name)
    assert engine.state(name)["State"]["ExitCode"] == 0
    engine.must("podman", "start", name)
    client = ready(engine, name, port)
    assert merchant.through(client).recommend().ids == ["A"]


def test_control_without_the_options_the_root_can_be_written(engine: Engine) -> None:
    name = "pr-open"

    engine.start(name, "--user", "0:0", "--entrypoint", "sleep", IMAGE, "600")

    assert engine.execute(name, "touch", "/x").returncode == 0
    assert (
        "CapEff:\t0000000000000000"
        not in engine.execute(name, "cat", "/proc/1/status").stdout
    )


def test_the_health_check_fails_while_the_service_does_not_answer(engine: Engine) -> None:
    name = "pr-mute"

    engine.start(name, "--entrypoint", "sleep", IMAGE, "600")

    assert engine.run("podman", "healthcheck", "run", name).returncode != 0


def test_the_demo_shop_runs_in_a_container_without_a_volume(engine: Engine) -> None:
    name, port = "pr-demo", free_port()
    options = hardening(services("compose.yaml")["productrecs"])

    engine.start(
        *(name, *options, "--env", f"PRODUCTRECS_PORT={port}", IMAGE),
        *("productrecs", "demo", "--host", "127.0.0.1"),
    )
    client = ready(engine, name, port, DEMO_SECONDS)

    page = client.ask("GET", "/demo")
    assert page.status == 200
    assert b"/widget/v1/" in page.body


@pytest.fixture(params=["volume", "objects"])
def shared(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    s3_servers: Callable[[str], ObjectServer],
) -> Sequence[str]:
    """Return podman's options for replicas that share a volume, or an object store."""
    if request.param == "volume":
        files = tmp_path / "files"
        files.mkdir()
        shutil.chown(files, int(USER), int(USER))
        return ("--volume", f"{files}:/data")
    server, compose = s3_servers("radosgw"), services("compose.objects.yaml")
    values = {**server.environment, "PRODUCTRECS_OBJECTS": server.address()}
    words = [f"--env={name}={values[name]}" for name in compose["api"]["environment"]]
    return words + [f"--volume={one}" for one in compose["api"]["volumes"]]


def test_replicas_share_postgresql_behind_haproxy(
    engine: Engine, postgres_url: str, tmp_path: Path, shared: Sequence[str]
) -> None:
    host = Path(postgres_url.partition("host=")[2])
    host.chmod(0o711)  # the containers' user reaches the server's socket
    replicas, made = services("compose.replicas.yaml"), f"pr-{tmp_path.name}"
    common = ["--env", f"DATABASE_URL={postgres_url}", "--volume", f"{host}:{host}"]
    common += (*shared, "--env", "PRODUCTRECS_HOST=127.0.0.1")
    ports = {f"{made}-{number}": free_port() for number in range(2)}

    options = (*LIMITS, *hardening(replicas["migrate"]), *common, IMAGE)
    engine.must("podman", "run", "--rm", *options, *replicas["migrate"]["command"])
    for name, port in ports.items():
        where = ("--env", f"PRODUCTRECS_PORT={port}")
        words = (*hardening(replicas["api"]), *common, *where, IMAGE)
        engine.start(name, *words, *replicas["api"]["command"])
    engine.start(
        *(f"{made}-worker", *hardening(replicas["worker"]), *common, IMAGE),
        *replicas["worker"]["command"],
    )
    for name, port in ports.items():
        ready(engine, name, port)
    front, [first, _] = free_port(), ports
    with _haproxy(front, [*ports.values()], tmp_path):
        merchant = create_store(engine, first, front)
        eventually(lambda: merchant.push({"id": "A", "title": "Tent"}).status == 200)
        for port in (*ports.values(), front):
            eventually(partial(_finds, merchant.through(Client(port)), "A"))
        engine.must("podman", "kill", first)
        after = merchant.through(Client(front))
        eventually(lambda: after.search("tent").status == 200)
        assert [after.search("tent").status for _ in range(50)] == [200] * 50


def _finds(merchant: Merchant, item_id: str) -> bool:
    return merchant.search("tent").ids == [item_id]


@contextlib.contextmanager
def _haproxy(front: int, ports: Sequence[int], folder: Path) -> Iterator[None]:
    """Start HAProxy with the settings that ship, on this machine's ports."""
    program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        pytest.skip("haproxy is missing: apt-get install haproxy")
    text = (ROOT / "deploy" / "haproxy" / "haproxy.cfg").read_text()
    servers = "".join(f"    server api{one} 127.0.0.1:{one}\n" for one in ports)
    text, count = re.subn(r"    server-template .*\n", servers, text)
    assert count == 2
    file = folder / "haproxy.cfg"
    file.write_text(text)
    environment = {**os.environ, "API_NAME": "api", "BIND": f"127.0.0.1:{front}"}
    process = subprocess.Popen([program, "-db", "-f", str(file)], env=environment)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)
