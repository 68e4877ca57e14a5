"""Build what a release consists of, into `dist/`, and try it: `make dist`.

The wheel for this processor and the one for arm64, the source archive and the Helm chart;
the container image where Docker, Podman or Buildah can build it (`--base` names another
base than Docker Hub's: `make dist ARGS="--base debian-python"`). Whether every dependency
has a wheel for arm64 is asked of the package registry. Then, for each Python that is here,
the wheel goes into a clean environment: the program says its version, starts the demo
store, and serves shop, guides and plugin. What could not be built or tried is named at the
end.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
DIST: Final = ROOT / "dist"
CHART: Final = ROOT / "deploy" / "helm" / "productrecs"
PYTHONS: Final = (
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
    "/usr/bin/python3",
)
PAGES: Final = {
    "/demo": b"<html",
    "/docs": b"<html",
    "/plugin/service-recommender.zip": b"PK",
}
ZIG: Final = "ziglang>=0.15,<0.18"
ADDRESS: Final = re.compile(r"listens on (http://\S+)")


def run(*words: str | Path, folder: Path = ROOT) -> str:
    """Return what a command prints; a command that fails ends the release."""
    done = subprocess.run(  # noqa: S603 - our own words
        words, cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"[dist] {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """Print a line at once."""
    print(f"[dist] {text}", flush=True)


@contextmanager
def environment(python: str, *packages: str | Path) -> Iterator[Path]:
    """Give the folder of programs of a new environment that holds the packages."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        programs = Path(folder) / "bin"
        run(programs / "pip", "install", "--quiet", *packages)
        yield programs


def build_packages() -> tuple[Path, Path]:
    """Build the wheels and the source archive; return this processor's, and the archive.

    Zig's compiler builds for both processors, and for systems older than this one.
    """
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = tomllib.load(file)["build-system"]["requires"]
    with environment(sys.executable, *needs, ZIG) as programs:
        run(programs / "hatchling", "build", "-d", DIST)
        (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
        for processor in {"x86_64", "aarch64"} - {platform.machine()}:
            words = ("env", f"KERNELS_FOR={processor}", programs / "hatchling", "build")
            run(*words, "-d", DIST, "-t", "wheel")
    return wheel, archive


def check_arm64(version: str) -> str:
    """Ask the registry for wheels of every locked dependency for arm64; say what lacks."""
    tags = [f"--platform=manylinux_{tag}_aarch64" for tag in ("2_28", "2_24", "2_17")]
    words = ["--dry-run", "--no-deps", "--only-binary=:all:", "--target=unused", *tags]
    words += ["--platform=manylinux2014_aarch64", f"--python-version={version}", "--quiet"]
    pip = [sys.executable, "-m", "pip", "install", *words]
    done = subprocess.run(  # noqa: S603 - our own words
        [*pip, "-r", "requirements/models.txt"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return f"arm64, Python {version}: every dependency has a wheel (never run there)"
    return f"MISSING: arm64, Python {version}: {done.stderr.strip().splitlines()[-1]}"


def build_chart(version: str) -> Path:
    """Pack the Helm chart as `helm package` does; its version has to be the program's."""
    written = (CHART / "Chart.yaml").read_text("utf-8")
    for name in ("version: ", 'appVersion: "'):
        if f"\n{name}{version}" not in written:
            sys.exit(f"[dist] {CHART}/Chart.yaml: {name} is not {version}")
    file = DIST / f"productrecs-{version}.tgz"
    with tarfile.open(file, "w:gz") as packed:
        packed.add(CHART, "productrecs")
    return file


def build_image(version: str, base: str) -> str:
    """Build the container image with the first program that can; say why if none can."""
    revision = run("git", "rev-parse", "HEAD").strip()
    words = ["--build-arg", f"SOURCE_REVISION={revision}", "-t", f"productrecs:{version}"]
    words += ["--build-arg", f"BASE={base}"] if base else []
    where = ("-f", "deploy/docker/Dockerfile", ".")
    for program, options in (
        ("docker", ("build",)),
        ("podman", ("build", "--format", "docker")),
        ("buildah", ("bud", "--format", "docker")),
    ):
        if shutil.which(program) is None:
            continue
        done = subprocess.run(  # noqa: S603 - our own words
            [program, *options, *words, *where],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return f"image productrecs:{version} (by {program})"
        lacking = f"{program}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
        say(f"no image by {lacking}")
    return "MISSING: the container image (no program here could build it)"


def interpreters() -> dict[str, str]:
    """Return one interpreter for each version of Python 3.11 or newer that is here."""
    found: dict[str, str] = {}
    for name in PYTHONS:
        words = [name, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
        if shutil.which(name) is None:
            continue
        done = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603
        version = done.stdout.strip()  # pyenv has commands that only say what is lacking
        if done.returncode == 0 and tuple(map(int, version.split("."))) >= (3, 11):
            found.setdefault(version, name)
    return found


def try_package(python: str, package: Path, version: str) -> str:
    """Install a package with its dependencies, use it, and say what it answered."""
    with environment(python, package) as programs:
        told = run(programs / "productrecs", "--version").strip()
        if version not in told:
            sys.exit(f"[dist] --version says {told}, not {version}")
        if not (programs.parent / "share/productrecs/deploy/docker/compose.yaml").exists():
            sys.exit(f"[dist] {package.name} does not carry deploy/")
        size = sum(f.stat().st_size for f in programs.parent.rglob("*") if f.is_file())
        with tempfile.TemporaryDirectory() as folder:
            program = str(programs / "productrecs")
            command = [program, "demo", "--port", "0", "--data", folder]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:  # noqa: S603
                try:
                    _try_pages(service)
                finally:
                    service.terminate()
    return f"{told}, {size / 1e6:.0f} MB installed, demo answered"


def _try_pages(service: subprocess.Popen[str]) -> None:
    lines = []
    for line in service.stdout or ():
        lines.append(line)
        if found := ADDRESS.search(line):
            break
    else:
        sys.exit("[dist] the demo did not start:\n" + "".join(lines[-20:]))
    for path, start in PAGES.items():
        with urllib.request.urlopen(found[1] + path, timeout=60) as reply:  # noqa: S310 - ours
            if start not in reply.read():
                sys.exit(f"[dist] {path} of the demo is not what it should be")


def main() -> None:
    """Build everything, try it, and list what there is and what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--changed", action="store_true", help="also with uncommitted changes"
    )
    parser.add_argument("--base", default="", help="the image to build ours on")
    chosen = parser.parse_args()
    if run("git", "status", "--porcelain") and not chosen.changed:
        sys.exit("[dist] commit first, or say --changed: the revision names what is built")
    shutil.rmtree(DIST, ignore_errors=True)
    wheel, archive = build_packages()
    version = wheel.name.split("-")[1]
    made = [path.name for path in (*DIST.glob("*.whl"), archive, build_chart(version))]
    made += [build_image(version, chosen.base), check_arm64("3.11"), check_arm64("3.13")]
    for number, (name, python) in enumerate(interpreters().items()):
        for package in (wheel, archive)[: 2 if number == 0 else 1]:
            say(f"trying {package.name} with Python {name}")
            made.append(
                f"{package.name} on Python {name}: {try_package(python, package, version)}"
            )
    if "3.13" not in interpreters():
        made.append("MISSING: Python 3.13 to try it with (tools/fresh.py trixie has it)")
    print("\n".join(made))


if __name__ == "__main__":
    main()
