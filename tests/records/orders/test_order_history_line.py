"""Order history rows: parsing and validation."""

from zoneinfo import ZoneInfo

import pytest

from productrecs.core.csv_reader import HISTORY_LAYOUT
from productrecs.records.orders.order_history_line import (
    OrderHistoryLine,
    OrderHistoryLineReader,
    UnreadableRowError,
)

COLUMNS = {name: place for place, name in enumerate(HISTORY_LAYOUT.columns)}


def read(separator: str = ";", zone: str = "UTC", **cells: str) -> OrderHistoryLine:
    row = {"order_id": "B-1", "item_id": "tent"} | cells
    reader = OrderHistoryLineReader(COLUMNS, separator, ZoneInfo(zone))
    return reader.read_line([row.get(name, "") for name in COLUMNS])


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("", None),
        (" ", None),
        ("2", 2.0),
        ("2.55", 2.55),
        ("2,55", 2.55),
        (",5", 0.5),
        (".5", 0.5),
        ("-11062.06", -11062.06),
        ("1e3", 1000.0),
        ("1.234,56", 1234.56),
        ("1,234.56", 1234.56),
        ("1.234.567", 1234567.0),
        ("1,234,567", 1234567.0),
        ("1'234.50", 1234.5),
        ("1 234,50", 1234.5),
        ("1\u202f234,50 €", 1234.5),
        ("$12.50", 12.5),
        ("\u22125", -5.0),
        ("1,234", 1.234),
    ],
)
def test_a_price_is_read_as_people_write_it(text: str, price: float | None) -> None:
    assert read(price=text).price == price


def test_commas_in_numbers_are_read_by_the_delimiter_of_the_file() -> None:
    assert read(",", price="1,234").price == 1234.0
    assert read(",", price="12,34").price == 12.34


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "nan",
        "inf",
        "-Infinity",
        "1_000",
        "0x10",
        "1e400",
        "1e13",
        "--2",
        "1.2.3",
        "٣",
    ],
)
def test_a_price_that_is_none_spoils_its_row(text: str) -> None:
    with pytest.raises(UnreadableRowError, match="price"):
        read(price=text)


@pytest.mark.parametrize(
    ("text", "quantity"),
    [("", None), ("3", 3), ("3.0", 3), ("3,0", 3), ("-2", -2), ("9007199254740992", 2**53)],
)
def test_a_quantity_is_a_whole_number_and_negative_for_a_return(
    text: str, quantity: int | None
) -> None:
    assert read(quantity=text).quantity == quantity


@pytest.mark.parametrize("text", ["1.5", "two", "1e17", "9007199254740994"])
def test_a_quantity_that_is_none_spoils_its_row(text: str) -> None:
    with pytest.raises(UnreadableRowError, match="quantity"):
        read(quantity=text)


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("2026-03-01T12:00:00Z", "Europe/Berlin", 1_772_366_400_000),
        ("2026-03-01T12:00:00+02:00", "UTC", 1_772_359_200_000),
        ("2026-03-01 12:00:00", "UTC", 1_772_366_400_000),
        ("2026-03-01 12:00:00", "Europe/Berlin", 1_772_362_800_000),
        ("2026-03-01 12:00", "UTC", 1_772_366_400_000),
        ("2026-03-01", "Europe/Berlin", 1_772_319_600_000),
        ("20260301", "UTC", 1_772_323_200_000),
        ("", "UTC", None),
        ("03/01/2026", "UTC", None),
        ("0000-00-00 00:00:00", "UTC", None),
        ("yesterday", "UTC", None),
        ("1304121600", "UTC", None),
        ("1304121600000", "UTC", None),
        ("0001-01-01T00:00:00", "UTC", None),
        ("99999-01-01", "UTC", None),
    ],
)
def test_a_time_without_an_offset_is_in_the_stores_zone(
    text: str, zone: str, moment: int | None
) -> None:
    assert read(zone=zone, timestamp=text).ts_ms == moment


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"order_id": ""}, "order_id is empty"),
        ({"item_id": "  "}, "item_id is empty"),
        ({"item_id": "x" * 256}, "256 characters"),
        ({"customer_id": "x" * 256}, "256 characters"),
        ({"order_id": "a\0b"}, r"holds U\+0000; remove"),
        ({"order_id": "A1\r=1+1"}, r"holds U\+000D; remove"),
        ({"customer_id": "a\tb"}, r"holds U\+0009; remove"),
        ({"item_id": "\udc81"}, "not text"),
    ],
)
def test_an_id_that_cannot_be_one_spoils_its_row(
    cells: dict[str, str], reason: str
) -> None:
    with pytest.raises(UnreadableRowError, match=reason):
        read(**cells)


def test_blanks_around_an_id_are_not_part_of_it() -> None:
    line = read(order_id=" B-1 ", item_id="tent\t", customer_id=" ")

    assert (line.order_id, line.item_id, line.customer_id) == ("B-1", "tent", None)


def test_what_was_read_before_is_remembered_right() -> None:
    reader = OrderHistoryLineReader(COLUMNS, ";", ZoneInfo("UTC"))

    lines = [
        reader.read_line([f"B-{number}", "tent", "", "", "2", str(number)])
        for number in (*range(60_000), *range(60_000))
    ]

    assert [line.price for line in lines] == [float(n) for n in (*range(60_000),) * 2]
    assert lines[60_007].order_id == "B-7"
