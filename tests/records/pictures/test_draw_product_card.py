"""Product cards: a picture with title and price, of one size whatever the product."""

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from productrecs.records.pictures.draw_product_card import ProductCard, draw_product_card
from tests.support.pictures import drawn, encoded

PICTURE = encoded(drawn("red", "ball"))
LONG = "Tent for two with a porch that is large enough for all of your wet boots " * 9


def drawn_card(title: str, price: str, width: int, data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(draw_product_card(ProductCard(title, price, width), data)))


def ink_below(picture: Image.Image) -> int:
    """Return how many dark pixels the part for texts has."""
    grey = np.asarray(picture.convert("L"))
    return int((grey[picture.width :] < 128).sum())


@pytest.mark.parametrize("width", [120, 300, 800])
@pytest.mark.parametrize("data", [PICTURE, b"", b"no picture"])
@pytest.mark.parametrize("title", ["Tent", LONG, "日本語", "x" * 5_000, ""])
def test_all_cards_of_a_width_have_one_size(width: int, data: bytes, title: str) -> None:
    card = drawn_card(title, "1.234,00 €", width, data)

    assert card.format == "JPEG"
    assert card.size == drawn_card("Tent", "", width, PICTURE).size
    assert card.width == width


@pytest.mark.parametrize(
    ("asked", "width"), [(0, 120), (-5, 120), (1, 120), (801, 800), (10**9, 800)]
)
def test_a_card_is_neither_tiny_nor_huge(asked: int, width: int) -> None:
    assert drawn_card("Tent", "", asked, b"").width == width


def test_a_card_shows_the_picture_above_title_and_price() -> None:
    card = drawn_card("Tent", "20 €", 300, PICTURE)

    red = np.asarray(card)[:300].reshape(-1, 3).astype(int)
    assert ((red[:, 0] > 180) & (red[:, 1] < 90)).mean() > 0.1
    assert ink_below(card) > ink_below(drawn_card("", "20 €", 300, PICTURE)) > 50
    assert ink_below(drawn_card("", "", 300, PICTURE)) == 0


@pytest.mark.parametrize(
    "title", ["Größe ÅÆØ łódź", "Палатка", "Σκηνή", "אוהל", "خيمة", "Tent ½ “x” – ₺ ₹"]
)
def test_titles_of_many_languages_are_drawn(title: str) -> None:
    without = ink_below(drawn_card("", "", 300, PICTURE))

    assert ink_below(drawn_card(title, "", 300, PICTURE)) > without + 40


def test_a_title_that_the_font_cannot_write_is_left_out_and_its_price_stays() -> None:
    assert ink_below(drawn_card("日本語のテント", "", 300, PICTURE)) == 0
    assert ink_below(drawn_card("日本語のテント", "¥1,234", 300, PICTURE)) > 50


@pytest.mark.parametrize("width", [280, 290, 300, 310, 320])
def test_a_line_that_fits_is_not_cut_although_more_lines_follow(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    texts: list[str] = []
    monkeypatch.setattr(
        ImageDraw.ImageDraw, "text", lambda _, __, text, *___, **____: texts.append(text)
    )
    note = "No product for a shopper who is not known."
    draw_product_card(ProductCard("", "", width, note), b"")

    assert " ".join(texts).strip() == note
