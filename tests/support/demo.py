"""Demo store for tests: made once a run, and without drawing four hundred pictures."""

import contextlib
import fcntl
import io
import os
from pathlib import Path
from typing import Final

import pytest
from PIL import Image

from demo_store import command
from demo_store.departments import DEPARTMENTS
from demo_store.generator import DOMAIN
from demo_store.looks import LOOKS
from demo_store.picture_indexing import index_pictures_and_build_model
from demo_store.pictures.colours import COLOURS
from demo_store.storefront.picture_files import PictureFileCache, pictures_folder
from productrecs.features.attribution.attributor import Attributor
from productrecs.features.reports.customer_segments_report import compute_and_store_segments
from productrecs.services import build_services
from productrecs.settings import Settings
from tests.support.service import Service

DRAWN: Final = frozenset(
    ("waxed-jacket", "cardigan-moss", "cardigan-rust", "chore-coat-ink", "enamel-mug")
)
"""Products whose picture the shop draws itself, and the last look is the only one."""


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the demo store, to copy: all processes of a run share it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    _make_demo_once(folder / "demo-store")
    return folder / "demo-store"


def _make_demo_once(folder: Path) -> None:
    """Make the demo store in `folder`, unless another process of this run has made it."""
    folder.mkdir(exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not any(folder.iterdir()):
            _make_demo(folder)


def _make_demo(folder: Path) -> None:
    """Make a year of sales with its forecast, attributed, its pictures plain.

    What a worker would compute from it at each start is computed here once.
    """
    service = Service(folder).prepare()
    paint(pictures_folder(folder))
    services = build_services(Settings(data=folder))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "draw_in_background", lambda *_: contextlib.nullcontext())
        store = command.prepare_store_and_reset_access(services).store
    index_pictures_and_build_model(
        services, store, PictureFileCache(pictures_folder(folder))
    )
    Attributor(services.database, services.touchpoint_folder).catch_up(store)
    compute_and_store_segments(services.database, store, services.clock())
    services.close()
    for verb in ("forecast", "tune"):
        service.run(verb, DOMAIN)


def paint(folder: Path) -> None:
    """Put pictures of one colour where those of the shop would be, but for some."""
    for kind in ("card", "large", "looks"):
        (folder / kind).mkdir(parents=True)
    for department in DEPARTMENTS:
        for shelf in department.shelves:
            for product in shelf.products:
                plain = _plain((48, 48), COLOURS[product.colour])
                (folder / f"large/{product.id}.webp").write_bytes(plain)
                if product.id not in DRAWN:
                    (folder / f"card/{product.id}.webp").write_bytes(plain)
    for look in LOOKS[:-1]:
        (folder / f"looks/{look.id}.webp").write_bytes(_plain((48, 36), (90, 120, 90)))


def _plain(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, "WEBP")
    return written.getvalue()
