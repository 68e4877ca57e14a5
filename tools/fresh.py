"""Run the README's two commands on machines that have nothing installed: `make fresh`.

For each release of Debian, debootstrap makes a minimal system with Python, make and git,
as the README asks, and a clone of this commit. There `make run` has to serve the demo
store, and `make test` has to pass (--run-only leaves it out). Needs root. What each printed
stands in `dist/fresh-<release>.log`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
RELEASES: Final = ("bookworm", "trixie")
PACKAGES: Final = "python3,make,git,ca-certificates"
CLONE: Final = "/srv/productrecs"
ADDRESS: Final = re.compile(r"listens on (http://\S+)")
RUN_SECONDS: Final = 1800
MACHINE: Final = (
    "etc/resolv.conf",
    "etc/hosts",
    "etc/pip.conf",
    "etc/apt/apt.conf.d",
    "etc/ssl/certs/ca-certificates.crt",
    "root/.npmrc",
    "root/.config/pip",
)
"""How this machine reaches the registries of packages; nothing else comes from it."""
VARIABLES: Final = re.compile(
    r"(https?|no|all)_proxy|PIP_(INDEX_URL|CERT)|SSL_CERT_FILE", re.I
)
MOUNTS: Final = 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && '
INTO: Final = MOUNTS + 'mount --rbind /dev "$0/dev" && exec chroot "$0" sh -c "$1"'


def make_system(release: str, system: Path) -> None:
    """Make a minimal Debian with a clone of this commit."""
    system.chmod(0o755)  # it is the root folder of all users there
    words = ("debootstrap", "--variant=minbase", f"--include={PACKAGES}", release, system)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own words
    for name in MACHINE:
        source, target = Path("/") / name, system / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, target)
    policy = system / "usr/sbin/policy-rc.d"  # packages start no services in a chroot
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    subprocess.run(  # noqa: S603 - our own words
        ("git", "clone", "--quiet", "--no-hardlinks", ROOT, f"{system}{CLONE}"),  # noqa: S607
        check=True,
    )


def start(system: Path, command: str, log: Path) -> subprocess.Popen[bytes]:
    """Start a command of the clone in the system, as its first process."""
    kept = {name: value for name, value in os.environ.items() if VARIABLES.fullmatch(name)}
    kept |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    unshared = ("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGTERM")
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own words
            [*unshared, "sh", "-c", INTO, str(system), f"cd {CLONE} && {command}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=kept,
            start_new_session=True,
        )


def try_run(system: Path, log: Path) -> str:
    """Start `make run` and ask its storefront and dashboard; say how long that took."""
    began = time.monotonic()
    service = start(system, 'make run ARGS="--port 0"', log)
    try:
        while (found := ADDRESS.search(log.read_text("utf-8", "replace"))) is None:
            if service.poll() is not None or time.monotonic() - began > RUN_SECONDS:
                sys.exit(f"[fresh] make run did not serve; see {log}")
            time.sleep(1)
        seconds = time.monotonic() - began
        for path in ("/demo", "/dashboard/login"):
            with urllib.request.urlopen(found[1] + path, timeout=60) as reply:  # noqa: S310
                if b"<html" not in reply.read():
                    sys.exit(f"[fresh] {path} is no page")
    finally:
        os.killpg(service.pid, signal.SIGTERM)
        service.wait()
    return f"make run served the demo store after {seconds:.0f} s"


def try_tests(system: Path, log: Path) -> str:
    """Run `make test` and return its last line."""
    status = start(system, "make test", log).wait()
    last = log.read_text("utf-8", "replace").strip().splitlines()[-1]
    if status:
        sys.exit(f"[fresh] make test failed; see {log}\n{last}")
    return f"make test: {last}"


def main() -> None:
    """Try each release, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=RELEASES, help="bookworm, trixie")
    parser.add_argument("--run-only", action="store_true", help="leave out make test")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("[fresh] needs root and debootstrap: apt-get install debootstrap")
    (ROOT / "dist").mkdir(exist_ok=True)
    for release in chosen.releases:
        log = ROOT / "dist" / f"fresh-{release}.log"
        log.write_bytes(b"")
        with tempfile.TemporaryDirectory(prefix=f"fresh-{release}-") as folder:
            make_system(release, Path(folder))
            print(f"[fresh] {release}: {try_run(Path(folder), log)}", flush=True)
            if not chosen.run_only:
                print(f"[fresh] {release}: {try_tests(Path(folder), log)}", flush=True)


if __name__ == "__main__":
    main()
