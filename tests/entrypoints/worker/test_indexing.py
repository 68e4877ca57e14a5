"""Do words that a catalog lacks find what they mean, once an operator gives a model?"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from productrecs.core.clock import system_ms
from productrecs.engines.text.index import Wanted
from productrecs.entrypoints.http.shops import Shops
from productrecs.entrypoints.services import Services, build_services
from productrecs.entrypoints.worker.indexing import Indexing
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.catalog.push import push
from productrecs.records.pictures.weights import ModelFileError
from productrecs.settings import from_environment
from productrecs.storage.store_log import StoreLog
from productrecs.tenancy.accounts.directory import AccountDirectory
from productrecs.tenancy.accounts.registration import Registration, register
from tests.support.service import Service, eventually
from tests.support.text_models import ALIKE, model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def services(data_folder: Path, tmp_path: Path) -> Iterator[Services]:
    Service(data_folder).prepare()
    environment = {
        "PRODUCTRECS_SEARCH_MODEL": str(model(tmp_path)),
    }
    built = build_services(from_environment(environment, data_folder))
    yield built
    built.close()


def test_the_operators_model_is_tried_and_asked(services: Services) -> None:
    store, _ = register(services.database, Registration("shop.example"), system_ms)[:2]
    patches = [
        ItemPatch(f"{kind}-{one}", {"title": title})
        for one, other, _ in ALIKE
        for kind, title in (
            ("a", f"Grand {one} or {other}"),
            ("b", f"Small {other}"),
            ("c", f"Plain {one}"),
        )
    ]
    with services.database.transaction() as transaction:
        push(StoreLog(services.database, transaction, store.store_id), patches, 1)
    accounts = AccountDirectory(services.database)
    indexing = Indexing(services)
    working = threading.Thread(target=indexing.run)
    working.start()
    shops = Shops(services, accounts)
    try:
        opened = asyncio.run(shops.open(store))

        def found() -> list[int]:
            opened.index.refresh()
            visible = opened.shop.catalog.visible(system_ms(), hide_sold_out=False)
            return opened.index.find(
                Wanted(opened.index.analyse("fridge"), 10, visible)
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
        Indexing(services)
    with pytest.raises(ModelFileError):
        Shops(services, AccountDirectory(services.database))
