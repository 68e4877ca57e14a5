"""CSV export: no cell is a formula, and each is read back unchanged."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.core.csv_writer import CsvWriter, escape_formula, unescape_formula
from tests.support.project import ROOT

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
FORMULAS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\t=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("'=1", "''=1"),  # so that reading it again gives it back
        ("A1\r=1+1", "A1\r'=1+1"),
        ("a\r\n=1", "a\r'\n'=1"),
        ("a\u2028+1", "a\u2028'+1"),
        ("a\x85@b", "a\x85'@b"),
        ("a\nb - c", "a\nb - c"),
        ("A-1", "A-1"),
        ("it's", "it's"),
        ("-5", "-5"),
        ("+49.50", "+49.50"),
        (-5, -5),
        (0.5, 0.5),
        (None, None),
        ("", ""),
    ],
)
def test_text_like_a_formula_is_guarded_and_numbers_are_left(
    value: object, written: object
) -> None:
    assert escape_formula(value) == written


@given(st.text(alphabet=f"'a1{FORMULAS}\x0b\u2028", max_size=8))
def test_what_is_guarded_is_read_again_as_it_was(text: str) -> None:
    written = escape_formula(text)
    assert isinstance(written, str)
    assert unescape_formula(written) == text
    assert written[:1] not in FORMULAS or written == "" or float(written.replace(",", "."))
    assert not any(line[:1] in SIGNS for line in written.splitlines()[1:] if line)


def test_rows_are_guarded_cell_by_cell() -> None:
    out = io.StringIO()
    CsvWriter(out, ("id", "=price")).write(("=1+1", -2.5))
    assert out.getvalue() == """"id","'=price"\n"'=1+1",-2.5\n"""


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\x85", "\u2028"])
def test_no_character_in_a_text_starts_a_row_with_a_formula(end: str) -> None:
    """A bare CR ended a row, since Python quotes only the ends of its own lines."""
    out = io.StringIO(newline="")
    CsvWriter(out, ("order_id", "note")).write((f"A1{end}=cmd|' /C calc'!A0", "b"))
    written = out.getvalue()
    rows = [*csv.reader(io.StringIO(written, newline=""))]
    assert len(rows) == 2, "one header and one row"
    assert [unescape_formula(cell) for cell in rows[1]] == [
        f"A1{end}=cmd|' /C calc'!A0",
        "b",
    ]
    assert not [line for line in written.splitlines() if line.startswith(("=", '"='))]


def test_nothing_else_writes_csv() -> None:
    writers = [
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if "csv.writer(" in (text := path.read_text("utf-8")) or "csv.DictWriter(" in text
    ]
    assert writers == ["productrecs/core/csv_writer.py"]
