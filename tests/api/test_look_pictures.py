"""Look pictures: stored, served and analysed, by command line and HTTP."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from tests.api.test_looks import KINDS, SCENE, look_of
from tests.support.pictures import drawn, encoded, see
from tests.support.service import Merchant, Reply, Service, eventually

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Give a store whose pictures are known."""
    merchant = service.register()
    items = [
        {
            "id": name,
            "categories": [name.split("-")[1]],
            "image_url": f"https://i.example/{name}",
        }
        for name in KINDS
    ]
    assert merchant.push(*items).status == 200
    with service.database() as database:
        shown = {
            name: drawn(*kind, seed) for seed, (name, kind) in enumerate(KINDS.items())
        }
        see(database, service.folder / "pictures", merchant.account.store_id, shown)
    return merchant


def ask(merchant: Merchant, path: str, headers: dict[str, str] | None = None) -> Reply:
    return merchant.client.ask("GET", path, None, headers)


def test_a_look_with_a_picture_of_its_own_is_shown_proposed_for_and_forgotten(
    shop: Merchant, service: Service, tmp_path: Path
) -> None:
    domain = shop.account.domain
    (tmp_path / "scene.jpg").write_bytes(SCENE)
    written = {"item_id": "lamp", "title": "Play", "image": "scene.jpg"}
    (tmp_path / "looks.json").write_text(json.dumps(written))
    service.run("looks", "import", domain, str(tmp_path / "looks.json"), "--publish")
    eventually(lambda: look_of(shop, "lamp"))

    address = look_of(shop, "lamp")["image_url"]
    base, _, path = address.partition("/look-pictures/")
    assert base == f"http://127.0.0.1:{service.port}"
    shown = ask(shop, f"/look-pictures/{path}")
    assert shown.status == 200
    assert Image.open(io.BytesIO(shown.body)).size == Image.open(io.BytesIO(SCENE)).size
    for name, value in {
        "content-type": "image/jpeg",
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "cross-origin",
        "content-security-policy": "default-src 'none'",
    }.items():
        assert shown.header(name) == value
    again = ask(
        shop, f"/look-pictures/{path}", {"if-none-match": str(shown.header("etag"))}
    )
    assert (again.status, again.body) == (304, b"")

    look_id = look_of(shop, "lamp")["id"]
    proposed = propose(service, domain, look_id, "--accept", "1")
    products = [one["products"][0][0] for one in proposed]
    assert {"red-ball", "blue-cross"} <= {*products[:4]}
    assert all(0 < one["confidence"] <= 1 for one in proposed)
    eventually(lambda: look_of(shop, "lamp")["hotspots"])
    spot = look_of(shop, "lamp")["hotspots"][0]
    assert (spot["item_id"], spot["product"]["id"]) == (products[0], products[0])
    assert spot["bbox"] == proposed[0]["box"]
    assert len(propose(service, domain, look_id)) < len(proposed)  # that place is taken

    service.run("looks", "remove", domain, look_id)
    gone = ask(shop, f"/look-pictures/{path}")
    assert (gone.status, gone.json["code"]) == (404, "picture_unknown")


def propose(service: Service, *words: str) -> list[dict[str, Any]]:
    proposals: list[dict[str, Any]] = json.loads(
        service.run("looks", "propose", *words, "--json")
    )
    return proposals


def test_a_picture_is_another_stores_under_no_name(
    shop: Merchant, service: Service, other: Merchant, tmp_path: Path
) -> None:
    (tmp_path / "box.png").write_bytes(encoded(drawn("red", "box"), "PNG"))
    options = ("--item", "rope", "--image", str(tmp_path / "box.png"), "--publish")
    service.run("looks", "add", shop.account.domain, *options)
    eventually(lambda: look_of(shop, "rope"))
    name = look_of(shop, "rope")["image_url"].rpartition("/")[2]

    for domain in (other.account.domain, "nobody.example", "", "a/b", "%00"):
        reply = ask(shop, f"/look-pictures/{domain}/{name}")
        assert reply.status == 404, domain
    assert ask(shop, f"/look-pictures/{shop.account.domain}/{name}").status == 200
