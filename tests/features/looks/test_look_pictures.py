"""Look pictures: stored, served re-encoded, and deleted in time."""

import io
from collections.abc import Iterator

import pytest
from PIL import Image

from productrecs.core.clock import DAY_MS
from productrecs.features.looks.look import Hotspot, InvalidLookError, LookContent
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.looks.repository import read_look_picture
from productrecs.records.pictures.decode_picture import (
    MAX_BYTES,
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.tables import look_pictures
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    delete_store,
)
from tests.support.clock import FakeClock
from tests.support.pictures import drawn, encoded

URL = "https://i.example/look.jpg"
MARK = "what the camera said"


@pytest.fixture(scope="module")
def viewer() -> Iterator[SandboxedDecoder]:
    with SandboxedDecoder(BATCH_CPU_SECONDS) as found:
        yield found


@pytest.fixture
def clock() -> FakeClock[int]:
    return FakeClock(10 * DAY_MS)


@pytest.fixture
def looks(database: Database, store: Store, clock: FakeClock[int]) -> LookEditor:
    return LookEditor(database, store, clock)


def test_what_is_kept_is_a_jpeg_of_our_own_and_nothing_else_of_the_file(
    database: Database, store: Store, looks: LookEditor, viewer: SandboxedDecoder
) -> None:
    exif = Image.Exif()
    exif[0x010E], exif[0x0112] = MARK, 6  # lying on its side
    wide = drawn("red", "ball", side=2_400).crop((0, 0, 2_400, 1_200))
    clear = Image.new("RGBA", (50, 40), (0, 0, 0, 0))

    kept = looks.store_picture_and_delete_unused(encoded(wide, exif=exif), viewer)
    (look,) = looks.add([LookContent("tent", picture_id=kept.picture_id)], publish=True)
    empty = looks.store_picture_and_delete_unused(encoded(clear, "PNG"), viewer)

    content = looks.picture(kept.picture_id)
    assert content == kept.content
    shown = Image.open(io.BytesIO(kept.content))
    assert (shown.format, shown.size) == ("JPEG", (800, 1_600))
    assert (kept.width, kept.height) == shown.size
    assert MARK.encode() not in kept.content
    assert not shown.getexif()
    assert Image.open(io.BytesIO(empty.content)).getpixel((20, 20)) == (255, 255, 255)
    assert looks.get(look.look_id) == look
    reader = database.raw_reader()
    try:
        assert read_look_picture(reader, store.store_id, kept.picture_id) == kept.content
        assert read_look_picture(reader, store.store_id, "0" * 32) is None
    finally:
        reader.close()


def test_what_is_no_picture_is_not_kept(
    looks: LookEditor, viewer: SandboxedDecoder
) -> None:
    with pytest.raises(UnreadablePictureError):
        looks.store_picture_and_delete_unused(b"<svg/>", viewer)
    with pytest.raises(PictureTooLargeError, match="10 MiB"):
        looks.store_picture_and_delete_unused(bytes(MAX_BYTES + 1), viewer)
    for content in (
        LookContent("a"),
        LookContent("a", URL, picture_id="0" * 32),
        LookContent("a", picture_id="0" * 32),
    ):
        with pytest.raises(InvalidLookError, match="picture"):
            looks.add([content])
    assert looks.all() == []


def kept_by(database: Database) -> int:
    with database.reading() as connection:
        return len(connection.execute(look_pictures.select()).all())


def test_a_picture_goes_with_the_last_look_that_has_or_had_it(
    database: Database,
    store: Store,
    looks: LookEditor,
    viewer: SandboxedDecoder,
    clock: FakeClock[int],
) -> None:
    kept, other = (
        looks.store_picture_and_delete_unused(encoded(drawn("red", shape)), viewer)
        for shape in ("ball", "box")
    )
    content = LookContent("tent", picture_id=kept.picture_id)
    one, two = looks.add([content, content])
    assert kept_by(database) == 2

    looks.remove(one.look_id)
    assert looks.picture(kept.picture_id)
    spot = Hotspot("Tent", (0.1, 0.1, 0.5, 0.5), "tent")
    changed = looks.edit(two.look_id, LookContent("rope", title="By the lake"))
    assert changed.content.picture_id == kept.picture_id  # it keeps what it has
    assert looks.add_hotspots(two.look_id, [spot]).content.hotspots == (spot,)
    assert looks.set_picture(two.look_id, other).content.hotspots == (spot,)
    assert looks.picture(kept.picture_id)  # an earlier version has it
    looks.edit(two.look_id, LookContent("rope", URL))
    assert kept_by(database) == 2

    looks.store_picture_and_delete_unused(
        encoded(drawn("red", "cross")), viewer
    )  # no look ever has it
    clock.now += DAY_MS + 1
    looks.store_picture_and_delete_unused(encoded(drawn("blue", "cross")), viewer)
    assert kept_by(database) == 3
    looks.remove(two.look_id)
    assert kept_by(database) == 1
    delete_store(database, store)
    assert kept_by(database) == 0
