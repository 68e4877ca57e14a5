"""Sandboxed decoder: a costly picture ends its child process only."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from productrecs.engines.visual import describe
from productrecs.engines.visual.image_descriptor import LENGTH
from productrecs.engines.visual.region_proposals import describe_photo_and_regions
from productrecs.records.pictures import sandboxed_decoder as module
from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from tests.records.pictures.test_decode_picture import header_of_png
from tests.support.pictures import drawn, encoded, pixels

GOOD = encoded(drawn("red", "ball"), "PNG")


@pytest.fixture(scope="module")
def viewer() -> Iterator[SandboxedDecoder]:
    with SandboxedDecoder() as found:
        yield found


def test_a_child_sees_what_we_would_see(viewer: SandboxedDecoder) -> None:
    found = viewer.describe(GOOD)

    assert np.array_equal(found, describe(pixels(drawn("red", "ball"))))
    picture, views, places, is_scene, *_ = viewer.describe_photo(GOOD)
    assert not is_scene
    assert np.array_equal(picture[0], found)  # as a product's picture is described
    assert np.array_equal(
        places, np.stack(describe_photo_and_regions(pixels(drawn("red", "ball")))[1])
    )
    assert views.shape == (2, LENGTH)
    assert not np.array_equal(views[0], views[1])


def test_what_is_no_picture_is_refused_and_the_child_lives_on(
    viewer: SandboxedDecoder,
) -> None:
    viewer.describe(GOOD)
    child = viewer.pid

    with pytest.raises(UnreadablePictureError, match="not a JPEG"):
        viewer.describe(b"nothing")
    with pytest.raises(PictureTooLargeError, match="megapixels are the maximum"):
        viewer.describe_photo(header_of_png(20_000, 20_000))

    assert viewer.pid == child
    assert len(viewer.describe(GOOD)) == LENGTH


def largest(kind: str) -> bytes:
    """Return a picture of 25 megapixels that has to be turned, of a kind and its mode."""
    name, _, mode = kind.partition(" ")
    turned = Image.Exif()
    turned[0x0112] = 6
    how: dict[str, dict[str, object]] = {
        "JPEG": {"progressive": True, "subsampling": 0},
        "PNG": {"compress_level": 1},
        "WEBP": {"lossless": True, "method": 0, "quality": 0},
        "AVIF": {"speed": 10, "subsampling": "4:4:4"},
    }
    picture = Image.new(mode, (5_000, 5_000), 40_000 if mode == "I;16" else "green")
    if mode == "RGBA":
        picture.paste((0, 0, 0, 0), (0, 0, 5_000, 2_500))
    return encoded(picture, name, exif=turned, **how[name])


@pytest.mark.parametrize(
    "kind", ["JPEG RGB", "PNG RGBA", "PNG I;16", "WEBP RGBA", "AVIF RGBA"]
)
def test_25_megapixels_of_every_kind_are_read_within_the_childs_memory(
    kind: str, viewer: SandboxedDecoder
) -> None:
    photo = largest(kind)
    viewer.describe(GOOD)
    child = viewer.pid

    assert viewer.describe_photo(photo).views.shape[1] == LENGTH
    _, width, height = viewer.reencode_as_jpeg(photo)

    assert (width, height) == (1_600, 1_600)
    assert viewer.pid == child


def test_control_without_bands_a_large_picture_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whole_child.py").write_text(
        "from productrecs.records.pictures import decode_picture, decoder_process\n"
        "decode_picture._LARGE = 10**9\n"
        "decoder_process.main()\n"
    )
    monkeypatch.setattr(module, "decoder_module", lambda: "whole_child")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with SandboxedDecoder(60) as viewer, pytest.raises(UnreadablePictureError):
        viewer.reencode_as_jpeg(largest("PNG I;16"))


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the decoder do something when a file says so; the child is the real one."""

    def does(what: str) -> None:
        (tmp_path / "broken_child.py").write_text(
            "from productrecs.records.pictures import decoder_process\n"
            "whole = decoder_process.decode_to_pixels\n"
            "def decode(data, side):\n"
            "    if data.startswith(b'break'):\n"
            f"        {what}\n"
            "    return whole(data.removeprefix(b'break'), side)\n"
            "decoder_process.decode_to_pixels = decode\n"
            "decoder_process.main()\n"
        )
        monkeypatch.setattr(module, "decoder_module", lambda: "broken_child")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return does


@pytest.mark.parametrize(
    ("does", "seconds", "wait_seconds"),
    [
        ("import time; time.sleep(60)", 60.0, 0.5),
        ("while True: pass", 0.3, 60.0),
        ("b'x' * (900 << 20)", 60.0, 60.0),
        ("import os; os.abort()", 60.0, 60.0),
    ],
    ids=["hangs", "computes", "takes memory", "crashes"],
)
def test_a_picture_that_breaks_its_child_is_refused_and_the_next_is_seen(
    does: str, seconds: float, wait_seconds: float, broken: Callable[[str], None]
) -> None:
    broken(does)
    with SandboxedDecoder(seconds, wait_seconds=wait_seconds) as viewer:
        viewer.describe(GOOD)
        began = time.monotonic()

        with pytest.raises(UnreadablePictureError, match="too much memory"):
            viewer.describe(b"break")

        assert time.monotonic() - began < 20
        assert len(viewer.describe(GOOD)) == LENGTH


def test_a_good_picture_may_wait_longer_for_a_busy_machine_than_it_may_compute(
    broken: Callable[[str], None],
) -> None:
    broken("import time; time.sleep(0.6)")
    with SandboxedDecoder(seconds=0.3) as viewer:
        assert np.array_equal(viewer.describe(b"break" + GOOD), viewer.describe(GOOD))


def test_the_child_knows_nothing_of_the_services_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    with SandboxedDecoder() as viewer:
        viewer.describe(GOOD)
        with open(f"/proc/{viewer.pid}/environ", "rb") as file:  # noqa: PTH123 - of the kernel
            environment = file.read()

    assert b"secret" not in environment
    assert b"OPENBLAS_NUM_THREADS=1" in environment
