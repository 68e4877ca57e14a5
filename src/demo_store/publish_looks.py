"""Demo publishing: indexes the demo's pictures and publishes its looks.

A shop's pictures are fetched from their URLs. The demo draws its pictures before the server
listens, and indexes them without a fetch. Everything else is the same as for any shop.
"""

from typing import Final

from demo_store.looks import LOOKS, DemoLook, hotspot_box_of, published_id
from demo_store.storefront.picture_files import PictureFiles
from productrecs.features.looks.look import Hotspot, LookContent
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import ConfigChange
from productrecs.records.pictures.picture_fetch_states import (
    DuePicture,
    FetchOutcome,
    PictureState,
    file_digest,
    pack_descriptor,
)
from productrecs.records.pictures.repository import (
    PictureRepository,
    queue_pictures_of_changed_items,
)
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.training.visual.build_visual_model import build_and_publish_visual_model
from productrecs.training.visual.picture_embedding import choose_embedding

_ALL: Final = 10_000
_WORDS: Final = {
    "upload": "Find it from your photo",
}
_FAR_FUTURE_MS: Final = 2**52
"""When a picture is fetched again: pictures change only with the program."""


def index_pictures(services: Services, store: Store, pictures: PictureFiles) -> None:
    """Index the picture of every product, and build the visual model."""
    database, now_ms = services.database, services.clock()
    while not queue_pictures_of_changed_items(database, store.store_id, now_ms):
        pass
    with database.reading() as connection:
        due = PictureRepository(connection, store.store_id).due_pictures(now_ms, _ALL)
    model = services.picture_model()
    embedding = choose_embedding(model)
    with SandboxedDecoder(embedder=None if model is None else model.path) as decoder:
        outcomes = [
            _index_outcome(due_picture, pictures, decoder, embedding.name)
            for due_picture in due
        ]
    known_outcomes = [outcome for outcome in outcomes if outcome is not None]
    with database.transaction() as transaction:
        PictureRepository(transaction, store.store_id).store_outcomes(
            known_outcomes, now_ms
        )
    build_and_publish_visual_model(
        database, services.pictures, store.store_id, embedding, services.snapshots
    )


def publish_looks_and_set_title(
    services: Services, store: Store, pictures: PictureFiles
) -> None:
    """Publish each look on the page of each of its products, the first product last.

    Also set a widget title that suits a shop with more than clothes.
    """
    editor = LookEditor(services.database, store, services.clock)
    contents = []
    with SandboxedDecoder(BATCH_CPU_SECONDS) as decoder:
        for look in LOOKS:
            picture_bytes = pictures.read_or_draw(("looks", f"{look.id}.webp")) or b""
            picture_id = editor.store_picture(picture_bytes, decoder).picture_id
            contents += [
                _look_content(look, index, picture_id)
                for index in range(len(look.products))
            ]
    published_looks = editor.add(contents, publish=True)
    expected_ids = [
        published_id(look, one.item_id) for look in LOOKS for one in look.products
    ]
    if [one.look_id for one in published_looks] != expected_ids:
        message = "the events of the demo name other looks than those that were published"
        raise RuntimeError(message)
    with services.database.transaction() as transaction:
        widgets = WidgetRepository(transaction, store.store_id)
        widgets.change("look", ConfigChange({"strings": _WORDS}), services.clock())


def _index_outcome(
    due_picture: DuePicture,
    pictures: PictureFiles,
    decoder: SandboxedDecoder,
    embedder: str,
) -> FetchOutcome | None:
    picture_bytes = pictures.read_or_draw((due_picture.url.rpartition("/")[2],))
    if picture_bytes is None:
        return None
    return FetchOutcome(
        due_picture.number,
        due_picture.url,
        PictureState.INDEXED,
        _FAR_FUTURE_MS,
        descriptor=pack_descriptor(decoder.describe(picture_bytes)),
        embedder=embedder,
        digest=file_digest(picture_bytes),
    )


def _look_content(look: DemoLook, anchor: int, picture_id: str) -> LookContent:
    return LookContent(
        look.products[anchor].item_id,
        "",
        look.title,
        tuple(
            Hotspot(one.label, hotspot_box_of(one), one.item_id) for one in look.products
        ),
        picture_id,
    )
