"""Mail picture pool: a picture is fetched once, and silent hosts are left alone."""

import asyncio
from collections.abc import Iterator

import pytest

from productrecs.core.ids import StoreId
from productrecs.http.pipeline.mail_picture_pool import MailPicturePool
from productrecs.records.pictures.draw_product_card import ProductCard, draw_product_card
from tests.support.pictures import drawn, encoded
from tests.support.service import HOST, free_port
from tests.support.web import PictureHost

STORE = StoreId("store")
PICTURE = encoded(drawn("red", "ball"))
CARD = ProductCard("Tent", "20 €", 200)


@pytest.fixture
def pool() -> Iterator[MailPicturePool]:
    made = MailPicturePool(frozenset({HOST}))
    yield made
    made.close()


def draw(pool: MailPicturePool, *calls: tuple[str, ProductCard]) -> list[bytes]:
    async def draw_at_once() -> list[bytes]:
        return await asyncio.gather(
            *(pool.draw_card_as_jpeg(STORE, url, card) for url, card in calls)
        )

    return asyncio.run(draw_at_once())


def test_one_picture_is_fetched_once_however_many_ask(pool: MailPicturePool) -> None:
    with PictureHost(PICTURE) as host:
        url = f"http://{HOST}:{host.port}/tent.jpg"
        pictures = [*draw(pool, *[(url, CARD)] * 8), *draw(pool, (url, CARD))]

    assert set(pictures) == {draw_product_card(CARD, PICTURE)}
    assert host.asked == 1


def test_another_price_is_another_picture(pool: MailPicturePool) -> None:
    reduced = ProductCard("Tent", "15 €", 200)
    with PictureHost(PICTURE) as host:
        url = f"http://{HOST}:{host.port}/tent.jpg"
        pictures = draw(pool, (url, CARD), (url, reduced))

    assert pictures == [draw_product_card(one, PICTURE) for one in (CARD, reduced)]


def test_a_host_that_does_not_answer_is_asked_once_a_minute(pool: MailPicturePool) -> None:
    port = free_port()
    silent = f"http://{HOST}:{port}"
    without = draw(pool, (f"{silent}/tent.jpg", CARD))
    again = [(f"{silent}/{number}.jpg", CARD) for number in range(5)]

    with PictureHost(PICTURE, port) as host:
        pictures = draw(pool, *again)

    assert {*without, *pictures} == {draw_product_card(CARD, b"")}
    assert host.asked == 0


@pytest.mark.parametrize(
    "url", ["", "http://10.0.0.7/a.jpg", "file:///etc/passwd", "nonsense", "http://[::1"]
)
def test_what_must_not_be_fetched_is_drawn_without_picture(
    pool: MailPicturePool, url: str
) -> None:
    assert draw(pool, (url, CARD)) == [draw_product_card(CARD, b"")]


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("", "This product has no picture in the catalog."),
        (
            "http://10.0.0.7/a.jpg",
            (
                "No photo could be loaded: the picture's address is rejected: 10.0.0.7 is "
                "not a public address; the service's operator can allow it: "
                "PRODUCTRECS_IMAGE_HOSTS=10.0.0.7."
            ),
        ),
    ],
)
def test_a_preview_says_why_it_has_no_picture(
    pool: MailPicturePool, url: str, note: str
) -> None:
    preview = ProductCard(
        "Tent", "20 €", 400, "This product has no picture in the catalog."
    )
    drawn_card = draw_product_card(ProductCard("Tent", "20 €", 400, note), b"")
    assert draw(pool, (url, preview)) == [drawn_card]
    assert drawn_card != draw_product_card(ProductCard("Tent", "20 €", 400), b"")


def test_the_demos_own_pictures_are_fetched_from_its_own_server() -> None:
    pool = MailPicturePool()
    try:
        with PictureHost(PICTURE) as host:
            own_host = f"{HOST}:{host.port}"
            drawn_card = asyncio.run(
                pool.draw_card_as_jpeg(
                    STORE, f"http://{own_host}/tent.webp", CARD, own_host
                )
            )
    finally:
        pool.close()
    assert drawn_card == draw_product_card(CARD, PICTURE)
