"""Demo pictures: one per product, deterministic, showing the product."""

import io
from itertools import chain

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from demo_store.departments import DEPARTMENTS, DemoProduct
from demo_store.looks import HEIGHT, LOOKS, WIDTH, DemoLook, draw_look, hotspot_box
from demo_store.pictures.colours import COLOURS, lightness, tone_colour
from demo_store.pictures.drawing_files import (
    find_product_drawing,
    read_all_drawings,
    read_drawing,
)
from demo_store.pictures.outlines import path_outline
from demo_store.pictures.product_picture import CARD, draw_product

PRODUCTS = {
    product.id: product
    for department in DEPARTMENTS
    for shelf in department.shelves
    for product in shelf.products
}


def seen(product: DemoProduct, size: int = 64) -> Image.Image:
    return Image.open(io.BytesIO(draw_product(product, 0, size))).convert("RGB")


def inks(product: DemoProduct) -> set[int]:
    return set(np.asarray(seen(product)).sum(axis=2).ravel().tolist())


def test_every_product_has_a_picture_with_more_on_it_than_its_ground() -> None:
    bare = [product.id for product in PRODUCTS.values() if len(inks(product)) < 25]

    assert bare == []


def test_a_picture_is_the_same_each_time_and_small() -> None:
    tent = PRODUCTS["ridge-tent-for-two"]

    first, again = draw_product(tent, 5), draw_product(tent, 5)

    assert first == again
    assert Image.open(io.BytesIO(first)).size == (CARD, CARD)
    assert Image.open(io.BytesIO(first)).format == "WEBP"
    assert len(first) < 20_000


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cardigan-moss", "cardigan-rust"),  # colour
        ("wool-throw-herringbone", "wool-throw-tartan"),  # pattern
        ("smoked-paprika-75-g", "black-peppercorns-100-g"),  # label and colour
        ("fishermans-jumper-ink", "roll-neck-charcoal"),  # form
    ],
)
def test_kind_colour_and_pattern_are_seen(one: str, other: str) -> None:
    difference = np.abs(
        np.asarray(seen(PRODUCTS[one]), dtype=int)
        - np.asarray(seen(PRODUCTS[other]), dtype=int)
    )

    assert difference.mean() > 5


def test_the_same_thing_in_another_colour_looks_more_alike_than_another_thing() -> None:
    def edges(product_id: str) -> npt.NDArray[np.bool_]:
        grey = np.asarray(seen(PRODUCTS[product_id]).convert("L"), dtype=float)
        ground = grey[2, 2]
        return np.asarray(np.abs(grey - ground) > 12, dtype=np.bool_)

    moss, rust, boots = map(edges, ("cardigan-moss", "cardigan-rust", "rubber-boots-moss"))

    assert (moss != rust).mean() < (moss != boots).mean() / 3


def test_every_drawing_is_of_use() -> None:
    used = {find_product_drawing(product).drawing for product in PRODUCTS}
    grounds = {look.ground for look in LOOKS}

    idle = [
        name
        for name in read_all_drawings()
        if read_drawing(name) not in used and name not in grounds and not is_part(name)
    ]

    assert idle == []


def is_part(name: str) -> bool:
    """Tell whether a drawing is only there to be used by others, as a cup of a pair is."""
    count = len(read_drawing(name))
    whole = [read_drawing(other) for other in read_all_drawings() if other != name]
    tones = [shape.tone for shape in read_drawing(name)]
    return any(
        tones == [shape.tone for shape in other[at : at + count]]
        for other in whole
        for at in range(0, len(other), count)
    )


def test_every_colour_of_the_catalog_can_be_mixed() -> None:
    assert {product.colour for product in PRODUCTS.values()} <= set(COLOURS)


@pytest.mark.parametrize("colour", COLOURS.values())
def test_shade_is_darker_and_light_lighter_than_the_colour(
    colour: tuple[int, int, int],
) -> None:
    ordered = [
        lightness(tone_colour(name, colour, colour))
        for name in ("deep", "dark", "base", "light", "pale")
    ]

    assert ordered == sorted(ordered)


def test_an_unknown_step_of_a_path_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there are M, L, Q and Z"):
        path_outline(["M", "0", "0", "C", "1", "1"])


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.id)
def test_a_look_shows_products_of_the_shop_within_its_picture(look: DemoLook) -> None:
    boxes = [hotspot_box(piece) for piece in look.products]
    edges = list(chain.from_iterable((x + w, y + h) for x, y, w, h in boxes))

    assert {piece.item_id for piece in look.products} <= set(PRODUCTS)
    assert all(value >= 0 for box in boxes for value in box)
    assert max(edges) <= 1.0001
    assert all(w * h > 0.008 for _, _, w, h in boxes)


def test_a_look_is_drawn_three_high_to_four_wide() -> None:
    drawn = Image.open(io.BytesIO(draw_look(LOOKS[0], 240)))

    assert drawn.size == (240, 240 * HEIGHT // WIDTH)
