"""Variant grouping: rows of one product merge, whatever their distance and file size."""

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from productrecs.features.imports.feeds import product_grouping
from productrecs.features.imports.feeds.product_grouping import (
    FeedOffer,
    FeedProduct,
    OfferedVariant,
    RejectedRow,
    merge_offers_by_product,
)
from productrecs.records.catalog.availability import Availability


def offers(count: int, variants: int) -> list[FeedOffer]:
    """Return the rows of `count` products, their variants strewn over the file."""
    rows = [
        FeedOffer(
            0,
            f"p{number}",
            f"p{number}",
            is_main=variant == 0,
            fields={"title": f"Product {number}" if variant == 0 else ""},
            variant=OfferedVariant(price=10.0 + variant, stock=variant),
        )
        for number in range(count)
        for variant in range(variants)
    ]
    random.Random(1).shuffle(rows)  # noqa: S311 - the same order every time
    return [msgspec.structs.replace(one, row=row) for row, one in enumerate(rows, start=2)]


def fields_by_id(
    found: Iterator[FeedProduct | RejectedRow],
) -> dict[str | None, dict[str, object]]:
    return {one.item_id: one.item_fields() for one in found if isinstance(one, FeedProduct)}


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_rows_meet_whether_the_file_is_small_or_large(tmp_path: Path, size: int) -> None:
    found = fields_by_id(merge_offers_by_product(offers(50, 4), size, tmp_path))

    assert found == {
        f"p{number}": {"title": f"Product {number}", "price": 10.0, "stock_qty": 6}
        for number in range(50)
    }
    assert list(tmp_path.iterdir()) == []


def test_what_was_refused_passes_through(tmp_path: Path) -> None:
    bad = RejectedRow(3, "no")

    for size in (1, 1 << 30):
        found = list(merge_offers_by_product([bad, *offers(1, 1)], size, tmp_path))

        assert bad in found
        assert len(found) == 2


def test_a_large_file_is_held_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product_grouping, "PARTITION_BYTES", 64 << 10)
    count, text = 10_000, "x" * 500

    def rows() -> Iterator[FeedOffer]:
        for number in range(count):
            yield FeedOffer(
                number, f"p{number}", f"p{number}", fields={"description": text}
            )

    tracemalloc.start()
    found = sum(1 for _ in merge_offers_by_product(rows(), count * len(text), tmp_path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == count
    assert peak < count * len(text) / 4


def test_a_product_of_many_variants_costs_no_more_than_one(tmp_path: Path) -> None:
    rows = (
        FeedOffer(
            row, "p", "p", fields={"title": f"Shirt {row}"}, variant=OfferedVariant(stock=1)
        )
        for row in range(30_000)
    )

    tracemalloc.start()
    found = fields_by_id(merge_offers_by_product(rows, 1, tmp_path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == {"p": {"title": "Shirt", "stock_qty": 30_000}}
    assert peak < 1 << 20


OUT, IN = Availability.OUT_OF_STOCK, Availability.IN_STOCK


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        # the cheapest that can be had, not the cheapest of all
        (
            [OfferedVariant(5.0, 1.0, 0, OUT), OfferedVariant(9.0, 4.0, 2, IN)],
            (9.0, 4.0, 2, IN),
        ),
        # all sold out: the cheapest, and none
        (
            [OfferedVariant(9.0, None, 0, OUT), OfferedVariant(5.0, None, 0, OUT)],
            (5.0, None, 0, OUT),
        ),
        # one that is not counted can be bought: nobody knows how many there are
        (
            [OfferedVariant(9.0, None, 3, IN), OfferedVariant(9.0, None, None, IN)],
            (9.0, None, None, IN),
        ),
        # one oversold by three takes nothing from the others
        (
            [OfferedVariant(9.0, None, -3, OUT), OfferedVariant(9.0, None, 4, IN)],
            (9.0, None, 4, IN),
        ),
        # a price that is not known is not a price of 0
        (
            [OfferedVariant(None, None, 1, IN), OfferedVariant(9.0, None, 1, IN)],
            (9.0, None, 2, IN),
        ),
        ([], (None, None, None, None)),
    ],
)
def test_a_card_shows_what_can_be_had(
    parts: list[OfferedVariant], expected: tuple[object, ...]
) -> None:
    product = FeedProduct("p", 2)
    for row, part in enumerate(parts):
        product.merge_offer(FeedOffer(row, "p", "p", variant=part))

    fields = product.item_fields()

    names = ("price", "cost", "stock_qty", "availability")
    assert tuple(fields.get(name) for name in names) == expected


@pytest.mark.parametrize(
    ("titles", "title"),
    [
        (["Shirt - Red, M", "Shirt - Red, L"], "Shirt - Red"),
        (["Shirt (M)", "Shirt (L)"], "Shirt"),
        (["Red shirt", "Blue shirt"], "Red shirt"),
        (["A B", "A C"], "A B"),
        (["Shirt", "Shirt"], "Shirt"),
    ],
)
def test_variants_share_what_their_titles_begin_with(titles: list[str], title: str) -> None:
    product = FeedProduct("p", 2)
    for row, one in enumerate(titles):
        product.merge_offer(FeedOffer(row, "p", "p", fields={"title": one}))

    assert product.item_fields()["title"] == title
