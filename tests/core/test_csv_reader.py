"""CSV formats: any separator, encoding and quoting gives the same rows."""

import contextlib
import csv
import io
import itertools
import tracemalloc
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from productrecs.core.csv_reader import (
    MAX_LINE_LENGTH,
    BrokenRow,
    CsvFormat,
    CsvLayout,
    MissingColumnsError,
    Row,
    inspect_csv,
    read_header,
    read_rows,
)
from productrecs.records.orders.order_history_line import (
    OrderHistoryLine,
    OrderHistoryLineReader,
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
    OrderHistoryLine(
        "B-1", "Zürich mug, blue; big | 5 cm", "c-1", 1_770_112_800_000, 2, 12.5
    ),
    OrderHistoryLine("B-1", "crème brûlée", "c-1", 1_770_112_800_000, -1, 3.25),
    OrderHistoryLine("B-2", 'lamp "Lumière"', None, 1_770_163_200_000, 1, 1234.5),
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


def lines_in(content: bytes) -> list[OrderHistoryLine]:
    file = io.BytesIO(content)
    found = inspect_csv(file)
    reader = OrderHistoryLineReader(found.columns, found.separator, ZoneInfo("UTC"))
    return [
        reader.read_line(cells)
        for _, cells in read_rows(file, found)
        if isinstance(cells, list)
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
    reader = OrderHistoryLineReader(found.columns, found.separator, ZoneInfo("UTC"))
    first, second = (cells for _, cells in read_rows(file, found))

    assert found.encoding == "cp1252"
    assert isinstance(first, list)
    assert isinstance(second, list)
    with pytest.raises(UnreadableRowError, match="not text"):
        reader.read_line(first)
    assert reader.read_line(second).item_id == "thé"


HEADER = "order_id,item_id,quantity\n"


def rows(text: str) -> list[Row]:
    file = io.BytesIO(text.encode())
    return list(read_rows(file, inspect_csv(file)))


def test_rows_are_numbered_as_a_spreadsheet_does() -> None:
    found = rows(f"{HEADER}B,a,1\n\nB,b,2\n , ,\nB,c,3")

    assert found == [(2, ["B", "a", "1"]), (4, ["B", "b", "2"]), (6, ["B", "c", "3"])]


def test_a_quoted_cell_may_hold_lines() -> None:
    found = rows(f'{HEADER}B,"tent\nfor two",1\nB,b,2\n')

    assert found == [(2, ["B", "tent\nfor two", "1"]), (3, ["B", "b", "2"])]


def test_an_inch_is_no_quote() -> None:
    assert rows(f'{HEADER}B,5" pipe,1\n')[0] == (2, ["B", '5" pipe', "1"])


@pytest.mark.parametrize("broken", ['B,"tent,1', '"B,tent,1', 'B,tent,"', 'B,"a""'])
@pytest.mark.parametrize("below", ["B,b,2", 'B,"b",2', '"B","b","2"', "B,b,\nB,c,2"])
def test_a_quote_that_is_never_closed_breaks_its_own_row_only(
    broken: str, below: str
) -> None:
    expected = rows(f"{HEADER}{below}\n")

    found = rows(f"{HEADER}{broken}\n{below}\n")

    assert isinstance(found[0][1], BrokenRow)
    assert [cells for _, cells in found[1:]] == [cells for _, cells in expected]


def test_an_open_quote_in_a_large_file_costs_one_row() -> None:
    lines = [f"B-{number},item-{number % 97},{number % 5 + 1}" for number in range(200_000)]
    lines[10] = 'B-10,"item-10,3'

    found = rows(HEADER + "\n".join(lines))

    broken = [number for number, cells in found if isinstance(cells, BrokenRow)]
    assert broken == [12]
    assert len(found) == 200_000
    with pytest.raises(csv.Error):  # what a plain reader makes of it
        list(csv.reader(lines))


def test_a_line_without_end_is_refused_in_bounded_memory() -> None:
    csv_format = inspect_csv(io.BytesIO(HEADER.encode()))

    tracemalloc.start()
    file = io.BufferedReader(_Endless(50_000_000))  # type: ignore[type-var]  # raw enough
    found = list(read_rows(file, csv_format))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert isinstance(found[0][1], BrokenRow)
    assert found[1:] == [(3, ["B", "b", "2"])]
    assert peak < 16_000_000


class _Endless(io.RawIOBase):
    """A file whose second line is very long, and made while it is read."""

    def __init__(self, length: int) -> None:
        self._head = HEADER.encode()
        self._left = length
        self._tail = b"\nB,b,2\n"

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, _offset: int, _whence: int = 0) -> int:
        return 0

    def tell(self) -> int:
        return 0

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # as RawIOBase is used
        if self._head:
            part, self._head = self._head, b""
        elif self._left:
            part = b"x" * min(self._left, len(buffer))
            self._left -= len(part)
        else:
            part, self._tail = self._tail, b""
        buffer[: len(part)] = part
        return len(part)


@given(
    st.lists(
        st.sampled_from(
            [b'"', b",", b";", b"\n", b"\r", b"\0", b"B", b"\xff", b"\xc3\xa9", b"1", b" "]
        ),
        max_size=60,
    )
)
@settings(max_examples=300)
def test_no_bytes_are_too_strange_to_read(pieces: list[bytes]) -> None:
    file = io.BytesIO(HEADER.encode() + b"".join(pieces))
    found = inspect_csv(file)
    reader = OrderHistoryLineReader(found.columns, found.separator, ZoneInfo("UTC"))

    for number, cells in read_rows(file, found):
        assert number >= 2
        if isinstance(cells, list):
            with contextlib.suppress(UnreadableRowError):
                assert reader.read_line(cells).order_id


def test_long_texts_are_read_where_a_file_may_hold_them() -> None:
    layout = CsvLayout(
        {"id": ("id",), "description": ("description",)}, ("id",), "", prose=True
    )
    text = "\n".join(f"line {number}, with a comma" for number in range(300))
    file = io.BytesIO(f'id,description\na,"{text}"\nb,short\n'.encode())

    found = [cells for _, cells in read_rows(file, inspect_csv(file, layout))]

    assert found == [["a", text], ["b", "short"]]


@pytest.mark.parametrize("length", [MAX_LINE_LENGTH + 1, 3_000_000])
def test_a_row_that_is_too_long_is_a_broken_row(length: int) -> None:
    found = rows(f"{HEADER}B,{'x' * length},1\nB,b,2\n")

    assert isinstance(found[0][1], BrokenRow)
    assert found[1] == (3, ["B", "b", "2"])


def test_the_reader_reports_the_bytes_it_has_read() -> None:
    content = (HEADER + "B,a,1\n" * 300_000).encode()
    file = io.BytesIO(content)
    csv_format: CsvFormat = inspect_csv(file)
    counts: list[int] = []

    sum(1 for _ in read_rows(file, csv_format, counts.append))

    assert sum(counts) == len(content) == csv_format.size


def test_what_is_read_ahead_counts_when_its_rows_come_out() -> None:
    content = (HEADER + "B,a,1\n" * 20_000).encode()  # one block of the file
    file = io.BytesIO(content)
    shares: list[float] = []
    total = 0

    def on_bytes(count: int) -> None:
        nonlocal total
        total += count

    for number, _ in read_rows(file, inspect_csv(file), on_bytes):
        if number in {5_001, 10_001, 19_001}:
            shares.append(total / len(content))

    assert shares == pytest.approx([0.25, 0.5, 0.95], abs=0.03)
