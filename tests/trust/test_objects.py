"""Objects: machines without a common folder share models and indexes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.support.object_server import ObjectServer
from tests.support.service import Service, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.trust, pytest.mark.postgres]

FRESH_SECONDS = 10.0


@pytest.fixture(scope="module")
def objects() -> Iterator[ObjectServer]:
    server = ObjectServer()
    yield server
    server.close()


@contextlib.contextmanager
def machines(
    folder: Path, url: str, objects: ObjectServer
) -> Iterator[tuple[Service, ...]]:
    """Give an API and a worker, each with a folder of its own."""
    variables = {**objects.environment, "PRODUCTRECS_OBJECTS": objects.address()}
    api = Service(folder / "api", url, command="api", workers=2, variables=variables)
    worker = Service(folder / "worker", url, command="worker", variables=variables)
    api.prepare()
    with contextlib.ExitStack() as stack:
        worker.launch()
        stack.callback(worker.kill)
        stack.enter_context(api)
        yield api, worker


def test_lists_and_searches_of_a_machine_that_trains_nothing(
    tmp_path: Path, postgres_url: str, objects: ObjectServer
) -> None:
    with machines(tmp_path, postgres_url, objects) as (api, worker):
        shop = api.register()
        items = [{"id": f"t{n}", "title": f"green tent {n}", "price": 9} for n in range(8)]
        assert shop.push(*items).status == 200
        for n in range(6):
            assert shop.order(f"o{n}", "t1", "t2", f"t{n}").status == 200

        eventually(lambda: shop.search("tent").ids, 60)
        eventually(lambda: "buy" in shop.recommend(item_id="t1").sources, 60)
        shop.push({"id": "t9", "title": "purple kayak", "price": 9})
        assert eventually(lambda: shop.search("kayak").ids, 60) < FRESH_SECONDS

        # A second worker, on a machine without files, goes on after the first is gone.
        worker.kill()
        second = Service(
            tmp_path / "second", postgres_url, command="worker", variables=api.variables
        )
        second.launch()
        try:
            shop.push({"id": "t10", "title": "yellow lantern", "price": 9})
            eventually(lambda: shop.search("lantern").ids, 60)
            assert shop.search("kayak").ids == ["t9"]
        finally:
            second.kill()
