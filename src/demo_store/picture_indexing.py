"""Picture indexing: draws and indexes the demo's pictures, in a process beside the service.

A shop's pictures are fetched from their URLs. The demo's are drawn, and indexed without a
fetch; everything else is the same as for any shop. Drawing takes longer than the rest of
the demo, so the shop opens first: a page draws the pictures that it shows.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from demo_store.generator import DOMAIN
from demo_store.storefront.picture_files import (
    CARDS,
    PictureFileCache,
    draw_in_background,
    pictures_folder,
)
from productrecs.cli.open_services import open_services_as_owner
from productrecs.records.pictures.repository import (
    PictureRepository,
    queue_pictures_of_changed_items,
)
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.records.pictures.stored_pictures import (
    DuePicture,
    PictureFetchOutcome,
    PictureState,
    file_digest,
    pack_descriptor,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.training.visual.build_visual_model import build_and_publish_visual_model
from productrecs.training.visual.picture_embedding import choose_embedding

_NEVER_FETCHED_MS: Final = 2**52
"""When an indexed picture is due again: pictures change only with the program."""
_QUEUED_MS: Final = _NEVER_FETCHED_MS - 1
"""When a picture is due that is not indexed yet: the service never fetches it."""
_ALL: Final = 10_000
_NICE: Final = 10


@contextlib.contextmanager
def draw_and_index_in_own_process(data: Path) -> Iterator[None]:
    """Draw and index the pictures in a process that is stopped at the end of the block."""
    # Stopped early, its pool leaves semaphores: Python removes them, and would warn.
    command = [sys.executable, "-W", "ignore::UserWarning", "-m", __name__, str(data)]
    # A session of its own: Ctrl-C is for the service, which then ends this block.
    with subprocess.Popen(command, start_new_session=True) as process:  # noqa: S603 - ours
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)


def queue_pictures_without_fetch(services: Services, store: Store) -> None:
    """Queue the picture of every product, so that the service fetches none."""
    while not queue_pictures_of_changed_items(
        services.database, store.store_id, _QUEUED_MS
    ):
        pass


def list_unindexed_pictures(services: Services, store: Store) -> list[DuePicture]:
    """Return the pictures that are not indexed yet."""
    with services.database.reading() as connection:
        return PictureRepository(connection, store.store_id).due_pictures(_QUEUED_MS, _ALL)


def index_pictures_and_build_model(
    services: Services, store: Store, pictures: PictureFileCache
) -> None:
    """Index the picture of every product, and build the visual model."""
    database, now_ms = services.database, services.clock()
    queue_pictures_without_fetch(services, store)
    model = services.find_or_convert_picture_model()
    embedding = choose_embedding(model)
    with SandboxedDecoder(embedder=None if model is None else model.path) as decoder:
        outcomes = [
            _index_outcome(due_picture, pictures, decoder, embedding.name)
            for due_picture in list_unindexed_pictures(services, store)
        ]
    known_outcomes = [outcome for outcome in outcomes if outcome is not None]
    with database.transaction() as transaction:
        PictureRepository(transaction, store.store_id).store_outcomes(
            known_outcomes, now_ms
        )
    build_and_publish_visual_model(
        database,
        services.visual_model_folder,
        store.store_id,
        embedding,
        services.snapshots,
    )


def _index_outcome(
    due_picture: DuePicture,
    pictures: PictureFileCache,
    decoder: SandboxedDecoder,
    embedder: str,
) -> PictureFetchOutcome | None:
    picture_bytes = pictures.read_or_draw((due_picture.url.rpartition("/")[2],))
    if picture_bytes is None:
        return None
    return PictureFetchOutcome(
        due_picture.number,
        due_picture.url,
        PictureState.INDEXED,
        _NEVER_FETCHED_MS,
        descriptors={embedder: pack_descriptor(decoder.describe(picture_bytes))},
        digest=file_digest(picture_bytes),
    )


def _draw_and_index(data: Path) -> None:
    os.nice(_NICE)
    folder = pictures_folder(data)
    with draw_in_background(folder, CARDS):
        pass
    with open_services_as_owner(data) as services:
        index_pictures_and_build_model(
            services, find_store(services.database, DOMAIN), PictureFileCache(folder)
        )


if __name__ == "__main__":
    _draw_and_index(Path(sys.argv[1]))
