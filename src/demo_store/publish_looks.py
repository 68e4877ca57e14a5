"""Demo publishing: publishes the demo's looks."""

from typing import Final

from demo_store.looks import LOOKS, DemoLook, expected_look_id, hotspot_box
from demo_store.storefront.picture_files import PictureFileCache
from productrecs.features.looks.look import Hotspot, LookContent
from productrecs.features.looks.look_editor import LookEditor
from productrecs.features.widgets.repository import WidgetRepository
from productrecs.features.widgets.widget_config import WidgetConfigChange
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

_WORDS: Final = {
    "upload": "Find it from your photo",
}


def publish_looks_and_set_title(
    services: Services, store: Store, pictures: PictureFileCache
) -> None:
    """Publish each look on the page of each of its products, the first product last.

    Also set a widget title that suits a shop with more than clothes.
    """
    editor = LookEditor(services.database, store, services.clock)
    contents = []
    with SandboxedDecoder(BATCH_CPU_SECONDS) as decoder:
        for look in LOOKS:
            picture_bytes = pictures.read_or_draw(("looks", f"{look.id}.webp")) or b""
            picture_id = editor.store_picture_and_delete_unused(
                picture_bytes, decoder
            ).picture_id
            contents += [
                _look_content(look, index, picture_id)
                for index in range(len(look.products))
            ]
    published_looks = editor.add(contents, publish=True)
    expected_ids = [
        expected_look_id(look, piece.item_id) for look in LOOKS for piece in look.products
    ]
    if [published.look_id for published in published_looks] != expected_ids:
        message = "the events of the demo name other looks than those that were published"
        raise RuntimeError(message)
    with services.database.transaction() as transaction:
        widgets = WidgetRepository(transaction, store.store_id)
        widgets.merge_change(
            "look", WidgetConfigChange({"strings": _WORDS}), services.clock()
        )


def _look_content(look: DemoLook, anchor: int, picture_id: str) -> LookContent:
    return LookContent(
        look.products[anchor].item_id,
        "",
        look.title,
        tuple(
            Hotspot(piece.label, hotspot_box(piece), piece.item_id)
            for piece in look.products
        ),
        picture_id,
    )
