"""GET /v1/looks and POST /v1/shop-the-look/analyze, and the pictures of looks."""

import base64
import http.client
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from PIL import Image

from productrecs.core.clock import system_ms
from productrecs.core.timestamps import iso
from tests.support.pictures import COLOURS, SHAPES, drawn, encoded, see
from tests.support.service import Merchant, Reply, Service, eventually

KINDS = {f"{colour}-{shape}": (colour, shape) for colour in COLOURS for shape in SHAPES}
LOOK = {
    "item_id": "tent/ü",
    "title": "By the lake",
    "image_url": "https://i.example/lake.jpg",
    "hotspots": [
        {"label": "Ball", "bbox": [0.1, 0.2, 0.3, 0.4], "item_id": "red-ball"},
        {"label": "Gone", "bbox": [0, 0, 1, 1], "item_id": "not-there"},
    ],
}


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Give a store whose pictures are known."""
    merchant = service.register()
    items = [
        {
            "id": name,
            "title": name,
            "categories": [name.split("-")[1]],
            # Without one, the service forgets the picture when the item changes.
            "image_url": f"https://i.example/{name}",
        }
        for name in KINDS
    ]
    assert merchant.push(*items).status == 200
    with service.database() as database:
        shown = {
            f"{name}": drawn(*kind, seed) for seed, (name, kind) in enumerate(KINDS.items())
        }
        see(database, service.folder / "pictures", merchant.account.store_id, shown)
    eventually(lambda: all(len(spots(one, SCENE)) for one in service.everywhere(merchant)))
    return merchant


def look_of(merchant: Merchant, item_id: str) -> Any:
    target = merchant.target("/v1/looks", item_id=item_id)
    try:
        reply = merchant.client.ask("GET", target)
    except http.client.HTTPException:  # closed while the command line was at work
        reply = merchant.client.ask("GET", target)
    assert reply.status == 200, reply
    return reply.json["look"]


def analyze(merchant: Merchant, image: object) -> Reply:
    target = merchant.target("/v1/shop-the-look/analyze")
    sent = json.dumps({"image": image}).encode()
    return merchant.client.ask("POST", target, sent, {"content-type": "text/plain"})


def spots(merchant: Merchant, data: bytes) -> list[dict[str, Any]]:
    reply = analyze(merchant, base64.b64encode(data).decode())
    assert reply.status == 200, reply
    hotspots: list[dict[str, Any]] = reply.json["hotspots"]
    return hotspots


def scene(*kinds: tuple[str, str]) -> bytes:
    """Return a photo of products side by side."""
    picture = Image.new("RGB", (200 * len(kinds), 220), (241, 240, 238))
    for place, kind in enumerate(kinds):
        picture.paste(drawn(*kind, seed=5), (200 * place + 20, 30))
    return encoded(picture, quality=92)


SCENE = scene(("red", "ball"), ("blue", "cross"))


def test_a_look_is_made_published_shown_and_taken_back(
    shop: Merchant, service: Service, tmp_path: Path
) -> None:
    domain, file = shop.account.domain, tmp_path / "looks.json"
    file.write_text(json.dumps([LOOK]))
    assert "Made look 1 on tent/ü (draft)" in service.run(
        "looks", "import", domain, str(file)
    )
    assert look_of(shop, "tent/ü") is None

    service.run("looks", "publish", domain, "1")
    eventually(lambda: look_of(shop, "tent/ü"))

    look = look_of(shop, "tent/ü")
    assert {**look, "hotspots": [], "published_at": ""} == {
        "id": "1",
        "title": LOOK["title"],
        "image_url": LOOK["image_url"],
        "item_id": "tent/ü",
        "hotspots": [],
        "published_at": "",
    }
    first, second = look["hotspots"]
    assert first["bbox"] == [0.1, 0.2, 0.3, 0.4]
    assert first["product"]["id"] == first["item_id"] == "red-ball"
    assert first["product"]["source"] == "look:1"
    assert second == LOOK["hotspots"][1] | {"product": None}  # type: ignore[operator]  # it is a dict
    shop.push({"id": "red-ball", "availability": "out_of_stock"})
    eventually(lambda: look_of(shop, "tent/ü")["hotspots"][0]["product"] is None)
    shop.push({"id": "red-ball", "availability": None})
    eventually(lambda: look_of(shop, "tent/ü")["hotspots"][0]["product"])
    file.write_text(json.dumps(LOOK | {"title": "Anew"}))
    service.run("looks", "edit", domain, "1", str(file))
    eventually(lambda: look_of(shop, "tent/ü")["title"] == "Anew")
    assert '"state": "published"' in service.run("looks", "list", domain, "--json")
    service.run("looks", "unpublish", domain, "1")
    eventually(lambda: look_of(shop, "tent/ü") is None)


def test_a_look_needs_a_product_and_belongs_to_its_store(
    shop: Merchant, service: Service, other: Merchant
) -> None:
    spot = "0.1,0.1,0.5,0.5=red-ball:Ball"
    options = ("--item", "lamp", "--image-url", "https://i.example/a.jpg", "--publish")
    service.run("looks", "add", shop.account.domain, *options, "--hotspot", spot)
    eventually(lambda: look_of(shop, "lamp"))

    assert look_of(other, "lamp") is None
    for target in ("/v1/looks", "/v1/looks?item_id="):
        path, _, query = target.partition("?")
        reply = shop.client.ask("GET", shop.target(path) + (f"&{query}" if query else ""))
        assert reply.status == 422
        assert reply.json["detail"][0]["loc"] == ["query", "item_id"]
    assert shop.client.ask("GET", shop.target("/v1/looks")).json["detail"] == [
        {
            "loc": ["query", "item_id"],
            "msg": "Field required",
            "type": "missing",
            "input": None,
        }
    ]


def listed(merchant: Merchant, **query: object) -> Any:
    target = f"/v1/looks?{urlencode(query)}"
    reply = merchant.client.ask("GET", target, None, merchant.server)
    assert reply.status == 200, reply
    return reply.json


def test_the_secret_key_lists_the_published_looks_as_they_are_stored(
    service: Service, tmp_path: Path
) -> None:
    merchant, file = service.register(), tmp_path / "looks.json"
    domain = merchant.account.domain
    contents = [LOOK | {"item_id": one} for one in ("tent", "draft", "tent", "lamp")]
    file.write_text(json.dumps(contents))
    service.run("looks", "import", domain, str(file), "--publish")
    service.run("looks", "unpublish", domain, "2")

    first = listed(merchant, limit=2)
    second = listed(merchant, limit=2, cursor=first["next"])

    assert [one["id"] for one in first["items"]] == ["1", "3"]
    assert [one["id"] for one in second["items"]] == ["4"]
    assert second["next"] is None
    assert first["items"][0].pop("published_at") == first["items"][0].pop("updated_at")
    assert first["items"][0] == {**LOOK, "id": "1", "item_id": "tent"}
    moment = iso(system_ms())
    assert listed(merchant, updated_after=moment) == {"items": [], "next": None}
    file.write_text(json.dumps(LOOK | {"title": "Anew"}))
    service.run("looks", "edit", domain, "3", str(file))
    changed = listed(merchant, updated_after=moment)["items"]
    assert [(one["id"], one["title"]) for one in changed] == [("3", "Anew")]


@pytest.mark.parametrize(
    "cursor", ["x", "Wy0yXQ", "WzFlMzBd", "WzEwMDAwMDAwMDAwMDAwMDAwMDAwXQ"]
)
def test_a_cursor_that_no_page_had_is_refused(shop: Merchant, cursor: str) -> None:
    for path in ("/v1/looks", "/v1/items"):
        reply = shop.client.ask("GET", f"{path}?cursor={cursor}", None, shop.server)

        assert reply.status == 422, reply
        assert reply.json["detail"][0]["loc"] == ["query", "cursor"]


def test_what_is_in_a_photo_is_found_with_where_it_is(shop: Merchant) -> None:
    # Another process may be a moment behind what the test before this one pushed.
    eventually(lambda: "red-ball" in shown_at(spots(shop, SCENE), 0.25))

    hotspots = spots(shop, SCENE)

    assert 2 <= len(hotspots) <= 8
    sure = [one["confidence"] for one in hotspots]
    assert sure == sorted(sure, reverse=True)
    for one in hotspots:
        x, y, width, height = one["bbox"]
        assert min(x, y) >= 0
        assert max(x + width, y + height) <= 1.001
        assert 0 <= one["confidence"] <= 1
        assert 1 <= len(one["products"]) <= 6
        assert {"id", "title", "price", "image_url", "product_url", "score"} <= set(
            one["products"][0]
        )
    assert "blue-cross" in shown_at(hotspots, 0.75)


def shown_at(hotspots: list[dict[str, Any]], place: float) -> list[str]:
    """Return the first two products of the spots whose middle is near a place."""
    return [
        product["id"]
        for one in hotspots
        if abs(one["bbox"][0] + one["bbox"][2] / 2 - place) < 0.2
        for product in one["products"][:2]
    ]


def test_where_nothing_can_be_said_the_list_is_empty(
    shop: Merchant, other: Merchant
) -> None:
    assert spots(other, SCENE) == []  # it has no pictures
    assert analyze(shop, "nothing").status == 422
    assert analyze(shop, base64.b64encode(b"no picture but words").decode()).status == 422
    assert analyze(shop, None).status == 422


def test_looks_and_photos_have_the_prices_of_the_named_list(
    shop: Merchant, service: Service, tmp_path: Path
) -> None:
    prices = [{"id": name, "prices": {"USD": 7, "group:t": 3}} for name in KINDS]
    assert shop.push(*prices).status == 200
    file = tmp_path / "looks.json"
    file.write_text(json.dumps([{**LOOK, "item_id": "lake"}]))
    made = service.run("looks", "import", shop.account.domain, str(file))
    look_id = made.split("Made look ")[1].split()[0]
    service.run("looks", "publish", shop.account.domain, look_id)
    photo = json.dumps({"image": base64.b64encode(SCENE).decode()}).encode()

    def shown(price_list: str, **headers: str) -> list[Any]:
        calls = (
            ("GET", "/v1/looks", None),
            ("POST", "/v1/search/image", photo),
            ("POST", "/v1/shop-the-look/analyze", photo),
        )
        replies = []
        for method, path, body in calls:
            target = shop.target(path, item_id="lake", price_list=price_list)
            replies.append(shop.client.ask(method, target, body, headers))
        if replies[0].status != 200:
            return [one.status for one in replies]
        look, search, analysis = (one.json for one in replies)
        products = [
            look["look"]["hotspots"][0]["product"],
            search["results"][0],
            analysis["hotspots"][0]["products"][0],
        ]
        return [(one["price"], one["currency"]) for one in products]

    eventually(lambda: look_of(shop, "lake"))
    eventually(lambda: shown("USD") == [(7, "USD")] * 3)
    assert shown("group:t") == [401] * 3
    assert shown("group:t", **{"x-api-key": shop.account.secret}) == [(3, "EUR")] * 3


def picture(merchant: Merchant, path: str, headers: dict[str, str] | None = None) -> Reply:
    return merchant.client.ask("GET", path, None, headers)


def test_a_look_with_a_picture_of_its_own_is_shown_proposed_for_and_forgotten(
    shop: Merchant, service: Service, tmp_path: Path
) -> None:
    domain = shop.account.domain
    (tmp_path / "scene.jpg").write_bytes(SCENE)
    written = {"item_id": "scene", "title": "Play", "image": "scene.jpg"}
    (tmp_path / "looks.json").write_text(json.dumps(written))
    service.run("looks", "import", domain, str(tmp_path / "looks.json"), "--publish")
    eventually(lambda: look_of(shop, "scene"))

    address = look_of(shop, "scene")["image_url"]
    base, _, path = address.partition("/look-pictures/")
    assert base == f"http://127.0.0.1:{service.port}"
    shown = picture(shop, f"/look-pictures/{path}")
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
    again = picture(
        shop, f"/look-pictures/{path}", {"if-none-match": str(shown.header("etag"))}
    )
    assert (again.status, again.body) == (304, b"")

    look_id = look_of(shop, "scene")["id"]
    proposed = propose(service, domain, look_id, "--accept", "1")
    products = [one["products"][0][0] for one in proposed]
    assert {"red-ball", "blue-cross"} <= {*products[:4]}
    assert all(0 < one["confidence"] <= 1 for one in proposed)
    eventually(lambda: look_of(shop, "scene")["hotspots"])
    spot = look_of(shop, "scene")["hotspots"][0]
    assert (spot["item_id"], spot["product"]["id"]) == (products[0], products[0])
    assert spot["bbox"] == proposed[0]["box"]
    assert len(propose(service, domain, look_id)) < len(proposed)  # that place is taken

    service.run("looks", "remove", domain, look_id)
    gone = picture(shop, f"/look-pictures/{path}")
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
        reply = picture(shop, f"/look-pictures/{domain}/{name}")
        assert reply.status == 404, domain
    assert picture(shop, f"/look-pictures/{shop.account.domain}/{name}").status == 200
