"""Demo looks: pictures indexed and looks published before the first request."""

from collections.abc import Iterator

import pytest

from demo_store.looks import LOOKS
from demo_store.picture_indexing import (
    index_pictures_and_build_model,
    list_unindexed_pictures,
    queue_pictures_without_fetch,
)
from demo_store.publish_looks import publish_looks_and_set_title
from demo_store.storefront.picture_files import PictureFileCache
from productrecs.features.looks.look import LookState
from productrecs.features.looks.look_editor import LookEditor
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.pictures.repository import PictureRepository
from productrecs.records.pictures.stored_pictures import DuePicture, PictureCounts
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import Registration, register_store
from tests.support.migrated import bring

SHOWN = ("cardigan-moss", "cardigan-rust", "enamel-mug")


@pytest.fixture
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("shop")
    bring(folder)
    services = build_services(Settings(data=folder))
    yield services
    services.close()


@pytest.fixture
def store(services: Services) -> Store:
    wanted = Registration("demo.localhost")
    store, _ = register_store(services.database, wanted, services.clock)
    items = [
        ItemPatch(one, {"title": one, "image_url": f"/demo/pictures/{one}.webp"})
        for one in SHOWN
    ]
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(
            services.database, transaction, store.store_id, services.numbers
        )
        upsert_items(log, items, services.clock())
    return store


def test_every_picture_is_seen_and_none_is_ever_fetched(
    services: Services, store: Store
) -> None:
    queue_pictures_without_fetch(services, store)
    assert len(list_unindexed_pictures(services, store)) == len(SHOWN)
    assert _due(services, store) == []

    index_pictures_and_build_model(
        services, store, PictureFileCache(services.settings.data / "drawn")
    )

    with services.database.reading() as connection:
        repository = PictureRepository(connection, store.store_id)
        counts, standing = repository.counts(), repository.progress()
    assert counts == PictureCounts(indexed=len(SHOWN), pending=0, failed=0)
    assert standing.visual_id is not None
    assert standing.visual_seq == standing.picture_seq
    assert _due(services, store) == list_unindexed_pictures(services, store) == []


def _due(services: Services, store: Store) -> list[DuePicture]:
    """Return what the service would fetch within three years."""
    with services.database.reading() as connection:
        repository = PictureRepository(connection, store.store_id)
        return repository.due_pictures(services.clock() + 10**11, 10)


def test_every_look_is_on_the_page_of_each_of_its_products(
    services: Services, store: Store
) -> None:
    publish_looks_and_set_title(
        services, store, PictureFileCache(services.settings.data / "drawn")
    )

    editor = LookEditor(services.database, store, services.clock)
    made = editor.all()
    anchors = [one.content.item_id for one in made]
    assert sorted(anchors) == sorted(
        piece.item_id for look in LOOKS for piece in look.products
    )
    assert {one.state for one in made} == {LookState.PUBLISHED}
    kept = {one.content.picture_id for one in made}
    assert len(kept) == len(LOOKS)
    assert all(editor.picture(picture_id) for picture_id in kept)
