"""Photo search: `source=similar` and POST /v1/search/image, by the contract."""

import base64
import json
import re
from typing import Any

import pytest
from PIL import Image

from productrecs.features.search.insights.search_insights import search_insights
from productrecs.tenancy.accounts.store_management import find_store
from tests.support.pictures import COLOURS, SHAPES, drawn, encoded, see, with_barcode
from tests.support.service import Merchant, Reply, Service, eventually

KINDS = {f"{colour}-{shape}": (colour, shape) for colour in COLOURS for shape in SHAPES}


@pytest.fixture(scope="module")
def shop(service: Service) -> Merchant:
    """Give a store whose pictures are known, all but one's."""
    merchant = service.register()
    items = [
        {"id": name, "title": name, "categories": [name.split("-")[1]], "price": 10}
        for name in KINDS
    ]
    items += [{"id": "no-picture", "title": "none", "categories": ["ball"]}]
    assert merchant.push(*items).status == 200
    with service.database() as database:
        root = service.folder / "pictures"
        shown = {name: drawn(*kind) for name, kind in KINDS.items()}
        see(database, root, merchant.account.store_id, shown)

    def all_know() -> bool:
        return all(
            "similar" in one.recommend(item_id="red-ball", source="similar").sources
            for one in service.everywhere(merchant)
        )

    eventually(all_know)
    return merchant


def photo(data: bytes, prefix: str = "") -> str:
    return prefix + base64.b64encode(data).decode()


def ask(merchant: Merchant, body: Any, kind: str = "text/plain") -> Reply:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    target = merchant.target("/v1/search/image")
    return merchant.client.ask("POST", target, sent, {"content-type": kind})


RED = encoded(drawn("red", "ball", seed=7))


def test_similar_shows_what_looks_like_it_and_needs_no_behaviour(shop: Merchant) -> None:
    reply = shop.recommend(item_id="red-ball", source="similar", num=4)

    assert reply.sources[0] == "similar"
    assert "red-ball" not in reply.ids
    assert any(one.split("-")[1] == "ball" for one in reply.ids[:2])
    scores = [one["score"] for one in reply.json["recommendations"]]
    assert scores == sorted(scores, reverse=True)
    assert shop.recommend(source="similar").status == 422


def test_similar_is_filled_like_mix_and_an_item_without_a_picture_is_answered_as_mix(
    shop: Merchant,
) -> None:
    unseen = shop.recommend(item_id="no-picture", source="similar", num=20)
    mix = shop.recommend(item_id="no-picture", source="mix", num=20)
    seen = shop.recommend(item_id="red-ball", source="similar", num=20)

    assert len(seen.ids) == 20
    assert unseen.ids == mix.ids
    assert "similar" not in unseen.sources


def test_short_lists_are_completed_by_looks_before_the_category(shop: Merchant) -> None:
    for source in ("mix", "browse"):
        reply = shop.recommend(item_id="blue-cross", source=source, num=12)
        sources = list(dict.fromkeys(reply.sources))
        assert sources[0] == "similar"
        assert len(reply.ids) == 12
    assert shop.recommend(item_id="blue-cross", source="buy").ids == []


def test_the_setting_turns_both_off(shop: Merchant, service: Service) -> None:
    service.run("settings", shop.account.domain, "visual_recommendations=false")
    try:
        eventually(
            lambda: (
                not {
                    *shop.recommend(item_id="red-ball", source="similar").sources,
                    *shop.recommend(item_id="red-ball", source="mix").sources,
                }
                & {"similar"}
            )
        )
    finally:
        service.run("settings", shop.account.domain, "visual_recommendations=true")
    eventually(
        lambda: "similar" in shop.recommend(item_id="red-ball", source="similar").sources
    )


def test_widgets_offer_photos_only_where_a_photo_can_find_products(
    shop: Merchant, service: Service
) -> None:
    def answers(merchant: Merchant) -> str:
        target = f"/widget/v1/search-{merchant.account.domain}.js"
        found = re.search(
            r'"answers":(\[[^]]*\])', merchant.client.ask("GET", target).body.decode()
        )
        assert found is not None
        return found[1]

    pictureless = service.register()
    assert pictureless.push({"id": "salt", "title": "Salt"}).status == 200

    assert answers(shop) == '["image","looks","analyze"]'
    assert answers(pictureless) == '["looks"]'


def test_a_photo_finds_what_looks_like_it(shop: Merchant) -> None:
    reply = ask(shop, {"image": photo(RED), "num": 5})

    assert reply.ids[0] == "red-ball"
    assert len(reply.ids) == 5
    first = reply.json["results"][0]
    assert {"id", "title", "price", "image_url", "product_url", "score"} <= set(first)
    scores = [one["score"] for one in reply.json["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize(
    "image",
    [
        photo(RED, "data:image/jpeg;base64,"),
        photo(RED, "data:;base64,"),
        photo(RED, "data:image/png;charset=x;base64,"),
        photo(RED).rstrip("="),
        photo(RED).replace("+", "-").replace("/", "_"),
        "\r\n".join(photo(RED)[i : i + 76] for i in range(0, len(photo(RED)), 76)),
        f"  {photo(RED)}\n",
    ],
    ids=range(7),
)
def test_base64_is_read_however_it_is_written(shop: Merchant, image: str) -> None:
    assert ask(shop, {"image": image, "num": 1}).ids == ["red-ball"]


@pytest.mark.parametrize("kind", ["text/plain;charset=UTF-8", "application/json", ""])
def test_the_type_of_the_body_does_not_matter(shop: Merchant, kind: str) -> None:
    assert ask(shop, {"image": photo(RED), "num": 1}, kind).ids == ["red-ball"]


@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_a_photo_is_turned_upright(shop: Merchant, orientation: int) -> None:
    held = {3: 3, 6: 2, 8: 4}[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = drawn("green", "stripes", 3).transpose(Image.Transpose(held))

    reply = ask(shop, {"image": photo(encoded(picture, exif=exif)), "num": 1})

    assert reply.ids == ["green-stripes"]


@pytest.mark.parametrize(
    ("said", "as_if"),
    [
        ({"num": None}, {}),
        ({"num": "5"}, {"num": 5}),
        ({"num": 5.0}, {"num": 5}),
        ({"in_stock": None}, {}),
        ({"in_stock": 1}, {"in_stock": True}),
        ({"in_stock": "1"}, {"in_stock": True}),
        ({"in_stock": 0}, {"in_stock": False}),
    ],
)
def test_null_is_absence_and_numbers_are_read_as_in_every_body(
    shop: Merchant, said: dict[str, object], as_if: dict[str, object]
) -> None:
    image = {"image": photo(RED)}
    assert ask(shop, image | said).ids == ask(shop, image | as_if).ids != []


@pytest.mark.parametrize(
    ("body", "status", "loc"),
    [
        ({}, 422, "image"),
        ({"image": None}, 422, "image"),
        ({"image": ""}, 422, "image"),
        ({"image": 7}, 422, "image"),
        ({"image": "%%%%" * 9}, 422, "image"),
        ({"image": "A" * 21}, 422, "image"),
        ({"image": photo(b"no picture at all, just words")}, 422, "image"),
        ({"image": photo(b"<svg xmlns='http://www.w3.org/2000/svg'/>")}, 422, "image"),
        ({"image": photo(RED[:500])}, 422, "image"),
        ({"image": "data:image/png," + photo(RED)}, 422, "image"),
        ({"image": photo(RED), "num": 0}, 422, "num"),
        ({"image": photo(RED), "num": 51}, 422, "num"),
        ({"image": photo(RED), "in_stock": "perhaps"}, 422, "in_stock"),
        ([], 422, "body"),
        (b"{", 422, "body"),
        ({"image": photo(bytes(10 << 20) + b"x")}, 413, ""),
        (b" " * (15 << 20), 413, ""),
    ],
    ids=range(17),
)
def test_what_is_no_photo_is_refused_in_words(
    shop: Merchant, body: Any, status: int, loc: str
) -> None:
    reply = ask(shop, body)

    assert reply.status == status
    if status == 422:
        assert loc in reply.json["detail"][0]["loc"]
    else:
        assert reply.json["code"] in {"body_too_large", "image_too_large"}
    assert len(reply.body) < 2_000  # nothing of the photo comes back


def test_a_barcode_in_the_photo_finds_its_product_before_all_that_looks_like_it(
    shop: Merchant, other: Merchant
) -> None:
    picture = with_barcode(drawn("red", "ball", side=1_024), "4006381333931")
    image = {"image": photo(encoded(picture)), "num": 3}
    assert ask(shop, image).ids[0] == "red-ball"

    for merchant in (shop, other):  # with pictures of its own, and without any
        merchant.push({"id": "tea", "title": "Tea", "gtin": "04006381333931"})
    try:
        eventually(lambda: ask(shop, image).ids[0] == "tea")
        eventually(lambda: ask(other, image).ids == ["tea"])
        scores = [product["score"] for product in ask(shop, image).json["results"]]
        assert scores[0] == 1.0
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 3
        shop.push({"id": "tea", "stock_qty": 0})
        eventually(lambda: "tea" not in ask(shop, image | {"in_stock": True}).ids)
    finally:
        for merchant in (shop, other):
            merchant.delete("tea")


def test_regions_are_what_the_analysis_of_the_photo_returns(shop: Merchant) -> None:
    picture = Image.new("RGB", (640, 320), "white")
    picture.paste(drawn("red", "ball", side=300), (10, 10))
    picture.paste(drawn("blue", "box", side=300), (330, 10))
    image = photo(encoded(picture))
    target = shop.target("/v1/shop-the-look/analyze")
    body = json.dumps({"image": image}).encode()
    analysis = shop.client.ask("POST", target, body, {"content-type": "text/plain"})

    reply = ask(shop, {"image": image, "num": 3, "regions": True})

    assert reply.json["regions"] == analysis.json["hotspots"]
    assert len(reply.json["regions"]) >= 2
    assert reply.ids == ask(shop, {"image": image, "num": 3}).ids
    for switch in (None, False):
        assert set(ask(shop, {"image": image, "regions": switch}).json) == {"results"}
    assert ask(shop, {"image": image, "regions": "perhaps"}).status == 422


def test_photos_obey_stock_rules_and_stores(
    shop: Merchant, service: Service, other: Merchant
) -> None:
    assert ask(other, {"image": photo(RED)}).json == {"results": []}
    shop.push({"id": "red-ball", "stock_qty": 0})
    try:
        eventually(
            lambda: (
                "red-ball"
                not in ask(shop, {"image": photo(RED), "in_stock": True, "num": 50}).ids
            )
        )
        assert ask(shop, {"image": photo(RED), "num": 1}).ids == ["red-ball"]
    finally:
        shop.push({"id": "red-ball", "stock_qty": None})
    domain = shop.account.domain
    service.run("rules", "add", domain, "exclude", "--item", "red-ball")
    eventually(lambda: "red-ball" not in ask(shop, {"image": photo(RED), "num": 50}).ids)
    assert "red-ball" not in shop.recommend(item_id="red-box", source="similar", num=20).ids


def test_a_search_by_photo_is_counted(shop: Merchant, service: Service) -> None:
    assert ask(shop, {"image": photo(RED)}).status == 200

    def count() -> int:
        with service.database() as database:
            store = find_store(database, shop.account.domain)
            days = ("2000-01-01", "2100-01-01")
            return search_insights(database, store, days).image_searches

    eventually(lambda: count() > 0)
