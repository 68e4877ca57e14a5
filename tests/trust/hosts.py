"""Hosts: network namespaces of this machine that stand for machines in one network.

Each has an address of its own on a bridge. The network between two of them can be cut: the
packets then vanish, as behind a switch that lost its power. Everything ends with the block.
"""

import contextlib
import ipaddress
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support import network

NETWORK: Final = ipaddress.ip_network("10.213.0.0/24")
_NOBODY: Final = "02:00:00:00:00:01"  # an interface that does not exist
STOP_SECONDS: Final = 60
_MADE: Final = itertools.count()


class HostsError(RuntimeError):
    """A command that prepares the network failed."""


def missing() -> str | None:
    """Return what this machine lacks for hosts of its own; None if nothing."""
    if shutil.which("ip") is None:
        return "ip is not installed: apt-get install iproute2"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    name = f"pr-probe-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], check=False).returncode:  # noqa: S607
        return "no network namespace can be made here"
    _ip("netns", "del", name)
    return None


@dataclass
class Host:
    """One namespace; its processes can be killed together."""

    name: str
    address: str
    namespace: str
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, words: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program on this host, in a process group of its own."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *words],  # noqa: S607
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def run(self, *words: str) -> str:
        """Run a program on this host to its end; return what it printed.

        Raises:
            HostsError: when it fails.
        """
        done = subprocess.run(
            ["ip", "netns", "exec", self.namespace, *words],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            message = f"{words} failed: {done.stdout}{done.stderr}"
            raise HostsError(message)
        return done.stdout

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal every process of this host's programs; after SIGKILL wait for the end."""
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        if number is signal.SIGKILL:
            for process in self.running:
                process.wait(STOP_SECONDS)
            self.running.clear()

    def stop(self) -> None:
        """Let the programs end in order, and wait for them."""
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.wait(STOP_SECONDS)
        self.kill()


@dataclass
class Hosts:
    """The hosts of one bridge."""

    bridge: str
    by_name: dict[str, Host]

    def __getitem__(self, name: str) -> Host:
        """Return a host."""
        return self.by_name[name]

    @contextlib.contextmanager
    def cut(self, one: str, other: str) -> Iterator[None]:
        """Let the packets between two hosts vanish while the block runs."""
        pairs = ((self[one], self[other]), (self[other], self[one]))
        for here, there in pairs:
            here.run(
                *("ip", "neigh", "replace", there.address, "lladdr", _NOBODY),
                *("dev", "eth0", "nud", "permanent"),
            )
        try:
            yield
        finally:
            for here, there in pairs:
                here.run("ip", "neigh", "del", there.address, "dev", "eth0")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        message = f"ip {' '.join(words)}: {done.stderr}"
        raise HostsError(message)


@contextlib.contextmanager
def hosts(names: Sequence[str]) -> Iterator[Hosts]:
    """Make a namespace for each name, joined by a bridge; remove all of it in the end."""
    prefix = f"pr{os.getpid() % 100_000}{next(_MADE)}"  # an old one may take a while to go
    addresses = map(str, NETWORK.hosts())
    own_address = next(addresses)
    made = Hosts(f"{prefix}b", {})
    try:
        _ip("link", "add", made.bridge, "type", "bridge")
        _ip("addr", "add", f"{own_address}/{NETWORK.prefixlen}", "dev", made.bridge)
        _ip("link", "set", made.bridge, "up")
        for number, (name, address) in enumerate(zip(names, addresses, strict=False)):
            host = made.by_name[name] = Host(name, address, f"{prefix}-{name}")
            _connect(host, made.bridge, f"{prefix}v{number}")
        with network.allowed(NETWORK):
            yield made
    finally:
        for host in made.by_name.values():
            host.kill()
            subprocess.run(["ip", "netns", "del", host.namespace], check=False)  # noqa: S607
        subprocess.run(["ip", "link", "del", made.bridge], check=False)  # noqa: S607


def _connect(host: Host, bridge: str, outside: str) -> None:
    _ip("netns", "add", host.namespace)
    _ip(
        "link",
        "add",
        outside,
        "type",
        "veth",
        "peer",
        "name",
        "eth0",
        "netns",
        host.namespace,
    )
    _ip("link", "set", outside, "master", bridge)
    _ip("link", "set", outside, "up")
    host.run("ip", "addr", "add", f"{host.address}/{NETWORK.prefixlen}", "dev", "eth0")
    host.run("ip", "link", "set", "eth0", "up")
    host.run("ip", "link", "set", "lo", "up")
