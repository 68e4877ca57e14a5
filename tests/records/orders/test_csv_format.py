"""CSV formats: any separator, encoding and quoting gives the same rows."""

import io
import itertools
from zoneinfo import ZoneInfo

import pytest

from productrecs.records.orders.csv_format import (
    MissingColumnsError,
    inspect_csv,
    read_header,
)
from productrecs.records.orders.csv_reader import read_rows
from productrecs.records.orders.history_line import (
    HistoryLine,
    HistoryLineReader,
    UnreadableRowError,
)

MARK = "\ufeff"
ENCODINGS = {
    "utf-8": ("utf-8", ""),
    "utf-8 with mark": ("utf-8", MARK),
    "utf-16 little": ("utf-16-le", MARK),
    "utf-16 big": ("utf-16-be", MARK),
    "windows-1252": ("cp1252", ""),
    "latin-1": ("latin-1", ""),
}
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
STYLES = {"plain": "\n", "quoted": "\r\n", "decimal comma": "\r"}

NAMES = ("order_id", "item_id", "customer_id", "timestamp", "quantity", "price")
ROWS = (
    ("B-1", "Zürich mug, blue; big | 5 cm", "c-1", "2026-02-03T10:00:00Z", "2", "12.50"),
    ("B-1", "crème brûlée", "c-1", "2026-02-03T10:00:00Z", "-1", "3.25"),
    ("B-2", 'lamp "Lumière"', "", "2026-02-04", "1", "1234.50"),
)
LINES = [
    HistoryLine("B-1", "Zürich mug, blue; big | 5 cm", "c-1", 1_770_112_800_000, 2, 12.5),
    HistoryLine("B-1", "crème brûlée", "c-1", 1_770_112_800_000, -1, 3.25),
    HistoryLine("B-2", 'lamp "Lumière"', None, 1_770_163_200_000, 1, 1234.5),
]


def written(separator: str, style: str) -> str:
    """Return the rows as a program of that style writes them."""

    def cell(text: str, place: int) -> str:
        if style == "decimal comma" and place == NAMES.index("price"):
            text = text.replace(".", ",")
        if style == "quoted" or separator in text or '"' in text:
            return '"' + text.replace('"', '""') + '"'
        return text

    return "".join(
        separator.join(cell(text, place) for place, text in enumerate(row)) + STYLES[style]
        for row in (NAMES, *ROWS)
    )


def lines_in(content: bytes) -> list[HistoryLine]:
    file = io.BytesIO(content)
    found = inspect_csv(file)
    reader = HistoryLineReader(found.columns, found.separator, ZoneInfo("UTC"))
    return [
        reader.read(cells) for _, cells in read_rows(file, found) if isinstance(cells, list)
    ]


@pytest.mark.parametrize(
    ("encoding", "separator", "style"),
    list(itertools.product(ENCODINGS, SEPARATORS, STYLES)),
)
def test_every_way_to_write_a_history_says_the_same(
    encoding: str, separator: str, style: str
) -> None:
    name, mark = ENCODINGS[encoding]

    content = (mark + written(SEPARATORS[separator], style)).encode(name)

    assert lines_in(content) == LINES


@pytest.mark.parametrize(
    "header",
    [
        "order_id,item_id",
        "ORDER_ID,Item_Id",
        " order_id , item_id ",
        "Order ID,Item ID",
        "orderId,itemId",
        "order-id,item-id",
        '"order_id","item_id"',
        "\ufefforder_id,item_id",
        '\ufeff"order_id","item_id"',
        "sep=,\norder_id,item_id",
        "\n\norder_id,item_id",
    ],
)
def test_a_header_is_known_however_it_is_written(header: str) -> None:
    assert lines_in(f"{header}\nB-1,tent\n".encode())[0][:2] == ("B-1", "tent")


@pytest.mark.parametrize(
    ("header", "row", "quantity", "price"),
    [
        ("order_id,item_id,qty,unit_price", "B,a,2,3", 2, 3.0),
        ("unit_price,qty,item_id,order_id", "3,2,a,B", 2, 3.0),
        ("order_id,item_id,units,item_price", "B,a,2,3", 2, 3.0),
        ("order_id,item_id,title,Units", "B,a,x,2", 2, None),
        ("order_id,item_id,,quantity,", "B,a,x,2,y", 2, None),
        ("order_id,item_id,qty,quantity", "B,a,5,2", 2, None),  # the own name counts
        ("order_id,item_id,quantity,quantity", "B,a,2,5", 2, None),  # the first counts
        ("order_id,item_id,quantity", "B,a", None, None),
        ("order_id,item_id", "B,a,7,7", None, None),
    ],
)
def test_columns_are_found_by_name(
    header: str, row: str, quantity: int | None, price: float | None
) -> None:
    line = lines_in(f"{header}\n{row}\n".encode())[0]

    assert (line.order_id, line.item_id) == ("B", "a")
    assert (line.quantity, line.price) == (quantity, price)


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (b"", "order_id and no column item_id"),
        (b"\n\n", "order_id and no column item_id"),
        (b"order_id,price\nB,1\n", "item_id"),
        (b"item_id;quantity\na;1\n", "order_id"),
        (b"B-1,tent,2\n", "order_id and no column item_id"),
        (b"\x00\x01\x02", "order_id and no column item_id"),
        (b'"order_id,item_id\n', "order_id and no column item_id"),
    ],
)
def test_a_header_without_its_columns_is_refused_with_their_names(
    content: bytes, missing: str
) -> None:
    with pytest.raises(MissingColumnsError, match=missing):
        read_header(content)


def test_bytes_that_are_no_text_spoil_their_own_row_only() -> None:
    content = b"order_id,item_id\nB-1,caf\xe9 \x81\nB-2,th\xe9\n"

    file = io.BytesIO(content)
    found = inspect_csv(file)
    reader = HistoryLineReader(found.columns, found.separator, ZoneInfo("UTC"))
    first, second = (cells for _, cells in read_rows(file, found))

    assert found.encoding == "cp1252"
    assert isinstance(first, list)
    assert isinstance(second, list)
    with pytest.raises(UnreadableRowError, match="not text"):
        reader.read(first)
    assert reader.read(second).item_id == "thé"
