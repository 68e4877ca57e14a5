"""Search indexer: with a text model, unknown words find products of similar meaning."""

import asyncio
import errno
import logging
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from productrecs.core.clock import system_ms
from productrecs.engines.text.search_index import IndexQuery
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.services import Services, build_services
from productrecs.serving.open_stores import OpenStores
from productrecs.settings import from_environment
from productrecs.storage.files.search_index_files import try_lock_for_writing
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.worker import search_indexer
from productrecs.worker.search_indexer import SearchIndexerLoop
from tests.support.service import Service, eventually
from tests.support.stores import new_store
from tests.support.text_models import ALIKE, model


@pytest.fixture
def services(data_folder: Path, tmp_path: Path) -> Iterator[Services]:
    Service(data_folder).prepare()
    environment = {"PRODUCTRECS_SEARCH_MODEL": str(model(tmp_path))}
    built = build_services(from_environment(environment, data_folder))
    yield built
    built.close()


def test_the_operators_model_embeds_products_and_queries(services: Services) -> None:
    store = new_store(services.database)
    patches = [
        ItemPatch(f"{kind}-{one}", {"title": title})
        for one, other, _ in ALIKE
        for kind, title in (
            ("a", f"grand {one} {other}"),
            ("b", f"small {other}"),
            ("c", f"plain {one}"),
        )
    ]
    with services.database.transaction() as transaction:
        upsert_items(
            StoreLogTransaction(services.database, transaction, store.store_id), patches, 1
        )
    accounts = AccountDirectory(services.database)
    indexing = SearchIndexerLoop(services)
    working = threading.Thread(target=indexing.run)
    working.start()
    shops = OpenStores(services, accounts)
    try:
        opened = asyncio.run(shops.open(store))

        def found() -> list[int]:
            opened.index.refresh()
            visible = opened.state.catalog.visible(system_ms(), hide_sold_out=False)
            return opened.index.find(
                IndexQuery(opened.index.analyse("fridge"), 10, visible)
            ).items

        eventually(lambda: set(found()) == {0, 1, 2}, 20)
    finally:
        indexing.stop()
        working.join()
        shops.close()


def test_a_model_that_is_not_the_one_described_is_refused_at_start(
    services: Services,
) -> None:
    path = services.settings.search_model
    assert path is not None
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelFileError):
        SearchIndexerLoop(services)
    with pytest.raises(ModelFileError):
        OpenStores(services, AccountDirectory(services.database))


class RecordedPauses(threading.Event):
    """The event that stops a loop; it is set after some pauses, and does not wait."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.pauses = list[float | None]()
        self._count = count

    def wait(self, timeout: float | None = None) -> bool:
        """Note the pause."""
        self.pauses.append(timeout)
        if len(self.pauses) == self._count:
            self.set()
        return self.is_set()


def test_a_read_only_disk_is_tried_less_and_less_often_and_logged_once(
    services: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stopping = RecordedPauses(9)

    def read_only_at_first(folder: Path) -> AbstractContextManager[bool]:
        if len(stopping.pauses) < 8:
            raise OSError(errno.EROFS, "Read-only file system")
        stopping.set()
        return try_lock_for_writing(folder)

    monkeypatch.setattr(search_indexer, "try_lock_for_writing", read_only_at_first)
    caplog.set_level(logging.INFO)

    SearchIndexerLoop(services, stopping).run()

    assert stopping.pauses[:8] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    lines = [one for one in caplog.messages if one.startswith("search index")]
    assert lines == ["search index write failed", "search index written again"]
