"""Does a picture that takes too long or too much cost its child alone?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.engines.visual import describe
from productrecs.engines.visual.descriptor import LENGTH
from productrecs.records.pictures import viewer as module
from productrecs.records.pictures.decoding import NotAPictureError, PictureTooLargeError
from productrecs.records.pictures.viewer import Viewer
from tests.records.pictures.test_decoding import header_of_png
from tests.support.pictures import drawn, encoded, pixels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = encoded(drawn("red", "ball"), "PNG")


@pytest.fixture(scope="module")
def viewer() -> Iterator[Viewer]:
    with Viewer() as found:
        yield found


def test_a_child_sees_what_we_would_see(viewer: Viewer) -> None:
    found = viewer.describe(GOOD)

    assert np.array_equal(found, describe(pixels(drawn("red", "ball"))))
    views = viewer.look(GOOD)
    assert views.shape == (2, LENGTH)
    assert not np.array_equal(views[0], views[1])


def test_what_is_no_picture_is_refused_and_the_child_lives_on(viewer: Viewer) -> None:
    viewer.describe(GOOD)
    child = viewer.pid

    with pytest.raises(NotAPictureError, match="no JPEG"):
        viewer.describe(b"nothing")
    with pytest.raises(PictureTooLargeError, match="25 megapixels"):
        viewer.look(header_of_png(20_000, 20_000))

    assert viewer.pid == child
    assert len(viewer.describe(GOOD)) == LENGTH


@pytest.mark.parametrize(
    "does",
    ["import time; time.sleep(60)", "b'x' * (900 << 20)", "import os; os.abort()"],
    ids=["hangs", "takes memory", "crashes"],
)
def test_a_picture_that_breaks_its_child_is_refused_and_the_next_is_seen(
    does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decoder does it when the file says so; the child is the real one."""
    (tmp_path / "broken_child.py").write_text(
        "from productrecs.records.pictures import child\n"
        "whole = child.decode\n"
        "def decode(data, side):\n"
        "    if data == b'break':\n"
        f"        {does}\n"
        "    return whole(data, side)\n"
        "child.decode = decode\n"
        "child.main()\n"
    )
    monkeypatch.setattr(module, "child_module", lambda: "broken_child")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Viewer(seconds=0.5) as viewer:
        began = time.monotonic()
        viewer.describe(GOOD)
        began = time.monotonic()

        with pytest.raises(NotAPictureError, match="too much memory"):
            viewer.describe(b"break")

        assert time.monotonic() - began < 1.5
        assert len(viewer.describe(GOOD)) == LENGTH


def test_the_child_knows_nothing_of_the_services_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    with Viewer() as viewer:
        viewer.describe(GOOD)
        with open(f"/proc/{viewer.pid}/environ", "rb") as file:  # noqa: PTH123 - of the kernel
            environment = file.read()

    assert b"secret" not in environment
    assert b"OPENBLAS_NUM_THREADS=1" in environment
