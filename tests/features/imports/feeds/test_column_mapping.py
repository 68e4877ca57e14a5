"""Column mapping files: columns and values are mapped, errors are explained."""

from pathlib import Path

import pytest

from productrecs.features.imports.feeds.column_mapping import (
    ColumnMappingError,
    read_mapping_file,
)
from tests.features.imports.feeds.reads import SAMPLES

MAPPING = SAMPLES / "table.toml"


def test_the_first_name_that_the_table_has_counts() -> None:
    mapping = read_mapping_file(MAPPING, "items")

    assert mapping.layout.columns["title"] == ("Langtext", "Bezeichnung")
    with (SAMPLES / "table.csv").open("rb") as file:
        mapping.require_mapped_columns(file)


def test_words_are_translated_whatever_their_case() -> None:
    mapping = read_mapping_file(MAPPING, "items")

    translated = mapping.translate_values_in_place(
        {"id": "1", "availability": " LIEFERBAR "}
    )
    other = mapping.translate_values_in_place({"id": "1", "availability": "in stock"})

    assert translated["availability"] == "in_stock"
    assert other["availability"] == "in stock"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[items\n", "cannot be read"),
        ("[orders]\norder_id = 'a'\nitem_id = 'b'\n", r"no table \[items\]"),
        ("[items]\ntitle = 'Name'\n", "which column is id"),
        (
            "[items]\nid = 'No.'\nweight = 'kg'\n",
            "weight is not a field of ours; the fields are id, sku",
        ),
        ("[items]\nid = 3\n", "must be the name of a column"),
        ("[items]\nid = []\n", "must be the name of a column"),
        ("[items]\nid = 'No.'\ntimestamp_format = '%Y'\n", "timestamp"),
        ("[items]\nid = 'No.'\nvalues = 'x'\n", "is not a field of ours"),
        ("[items]\nid = 'No.'\n[items.values.price]\nfree = 0\n", '"theirs" = "ours"'),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "mapping.toml"
    path.write_text(text, "utf-8")

    with pytest.raises(ColumnMappingError, match=reason):
        read_mapping_file(path, "items")


def test_a_missing_mapping_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ColumnMappingError, match="cannot be read"):
        read_mapping_file(tmp_path / "none.toml", "items")


def test_a_missing_column_is_an_error_that_lists_the_tables_columns(tmp_path: Path) -> None:
    path = tmp_path / "mapping.toml"
    path.write_text("[items]\nid = 'Artikelnr.'\nprice = 'EK netto'\n", "utf-8")
    mapping = read_mapping_file(path, "items")

    with (
        (SAMPLES / "table.csv").open("rb") as file,
        pytest.raises(
            ColumnMappingError, match=r"'EK netto'.*it has Artikelnr\., Bezeichnung"
        ),
    ):
        mapping.require_mapped_columns(file)
