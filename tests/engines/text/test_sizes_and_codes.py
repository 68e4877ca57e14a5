"""Sizes, units and part numbers: what shoppers type meets what titles write."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.measurement_units import equivalent_quantities
from productrecs.engines.text.search_index import IndexQuery, IndexWriter, SearchIndex
from productrecs.engines.text.tokenizer import indexed_words, query_words

INCHES = ("1/2 in", "1/2 in.", '1/2"', "1/2 inch", "1/2-inch", "½ in", "½ inches", "0.5in")
BOARD = ("2x4", "2 x 4", "2X4", "2×4", "2 by 4", "2 \u0445 4")
GALLONS = ("5 gal", "5 gal.", "5gal", "5 gallon", "5-gallon", "5 Gallons")


@pytest.mark.parametrize(
    ("spellings", "word"),
    [
        (INCHES, "0.5in"),
        (("1-1/2 in", "1 1/2 inch", '1½"', "1.5 inches"), "1.5in"),
        (BOARD, "2x4"),
        (("12x24", "12 x 24", "12 X 24", "12 × 24"), "12x24"),
        (("2x4x8", "2 x 4 x 8", "2x4 x 8"), "2x4x8"),
        (("M8x40", "m8 x 40", "M8 × 40"), "m8x40"),
        (("1/2x10", "1/2 x 10", "0.5 x 10"), "0.5x10"),
        (GALLONS, "5gal"),
        (("60 m", "60m", "60 metres", "60 Meter"), "60m"),
        (("0,75 l", "0.75l", "0,75 Liter", "0.75 litre"), "0.75l"),
        (("750ml", "750 ml", "750 millilitres"), "750ml"),
        (("12 fl oz", "12 fl. oz.", "12 fluid ounces", "12oz"), "12oz"),
        (("100 sq ft", "100 sq. ft.", "100 square feet", "100sqft"), "100sqft"),
        (("20 m²", "20m2", "20 m2", "20 qm"), "20m2"),
        (("20 amp", "20 Amps", "20A"), "20a"),
    ],
)
def test_spellings_of_a_size_are_one_word(spellings: tuple[str, ...], word: str) -> None:
    for spelling in spellings:
        assert query_words(spelling) == [word], spelling
        assert indexed_words(spelling)[0] == word, spelling


@pytest.mark.parametrize(
    ("language", "spellings", "word"),
    [
        ("de", ("1/2 Zoll", "0,5 Zoll"), "0.5in"),
        ("de", ("60 mal 90", "60 x 90"), "60x90"),
        ("de", ("10 Stück", "10 pcs"), "10pc"),
        ("fr", ("2 pouces", "2 pouce"), "2in"),
        ("fr", ("80 par 60", "80 sur 60"), "80x60"),
        ("fr", ("3 mètres", "3 m"), "3m"),
        ("es", ("2 pulgadas", "2 pulgada"), "2in"),
        ("es", ("90 por 60",), "90x60"),
        ("es", ("5 litros", "5 l"), "5l"),
        ("it", ("2 pollici", "2 pollice"), "2in"),
        ("it", ("80 per 60",), "80x60"),
        ("pt", ("2 polegadas",), "2in"),
        ("nl", ("2 duim",), "2in"),
        ("sv", ("2 tum",), "2in"),
        ("pl", ("10 szt.", "10 sztuk"), "10pc"),
        ("ru", ("50\u044570", "50 \u0445 70", "50 на 70"), "50x70"),
        ("ru", ("2 дюйма",), "2in"),
        ("ru", ("500 мл", "500мл"), "500ml"),
    ],
)
def test_units_of_a_language_are_read(
    language: str, spellings: tuple[str, ...], word: str
) -> None:
    for spelling in spellings:
        assert query_words(spelling) == [word], (language, spelling)


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("2x4", "2 in. x 4 in. x 8 ft. Stud"),
        ("2x4x8", "2 in. x 4 in. x 8 ft. Stud"),
        ("2 in x 4 in x 8 ft", "2 in. x 4 in. x 8 ft. Stud"),
        ("8 ft stud", "2 in. x 4 in. x 8 ft. Stud"),
        ("1/2 pvc 10 ft", "1/2 in. x 10 ft. PVC Pipe"),
        ("8x10 ft", "8 ft. x 10 ft. Rug"),
        ("60 cm", "Frame 60 x 90 cm"),
        ("60x90", "Frame 60 x 90 cm"),
        ("1/2 in 10 ft", "1/2 in. x 10 ft. PVC Pipe"),
        ("12 in", "12 in 2 pack"),
        ("m8", "Screw M8 x 40 mm"),
        ("40 mm", "Screw M8x40 mm"),
    ],
)
def test_a_size_is_found_by_its_sides(typed: str, written: str) -> None:
    assert set(query_words(typed)) <= set(indexed_words(written))


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("750ml", "Flasche 0,75 l"),
        ("75 cl", "Flasche 0,75 l"),
        ("0,75 l", "bottle 750ml"),
        ("10 mm", "bolt 1 cm"),
        ("120cm", "table 1.2 m"),
        ("1 kg", "flour 1000 g"),
        ("6 ft", "tree 72 in."),
        ("4 quarts", "paint 1 gal"),
    ],
)
def test_a_quantity_is_found_in_another_unit(typed: str, written: str) -> None:
    assert set(query_words(typed)) <= set(indexed_words(written))


def test_only_spellings_that_somebody_writes_are_added() -> None:
    assert equivalent_quantities("15", "in") == ()  # not 1.25 ft
    assert equivalent_quantities("60", "m") == ("6000cm",)  # not 60,000 mm
    assert equivalent_quantities("125", "g") == ()  # not 0.125 kg
    assert equivalent_quantities("12", "oz") == ()  # of weight or of volume


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2x4", "24"),
        ("2x4", "4x2"),
        ("8x10 ft", "8x10 in"),
        ("5 in 1", "5 inch"),
        ("4x4wd", "4x4"),
        ("3 by lamp", "3x"),
        ("wr-44526x2", "44526x2x1"),
    ],
)
def test_sizes_that_differ_stay_apart(one: str, other: str) -> None:
    assert query_words(one) != query_words(other)
    assert not set(query_words(other)) <= set(query_words(one))


CODES = ("dcd771c2", "dcd771 c2", "DCD-771 C2", "dcd 771 c2", "dcd 771c2", "DCD771-C2")


@pytest.mark.parametrize("written", ["DCD771C2", "DCD-771-C2", "DCD-771 C2", "DCD 771 C2"])
def test_a_part_number_is_found_however_it_is_cut(written: str, tmp_path: Path) -> None:
    index = _index(tmp_path, "en", ["Drill DCD999 B1", f"Drill {written}", "Saw DCS771"])

    for typed in CODES:
        assert _whole(index, typed) == [1], typed


@pytest.mark.parametrize(
    ("language", "written", "typed"),
    [
        ("en", "Brass doorknob", ("doorknob", "door knob", "door-knob", "door knobs")),
        ("en", "Brass door knob", ("doorknob", "door knob", "door-knob", "door knobs")),
        ("en", "Brass door-knob", ("doorknob", "door knob", "doorknobs", "door knobs")),
        ("de", "Türknauf Messing", ("türknauf", "tür knauf", "tür-knauf")),
        ("nl", "Deurknop messing", ("deurknop", "deur knop", "deur-knop")),
        ("sv", "Dörrhandtag mässing", ("dörrhandtag", "dörr handtag")),
    ],
)
def test_a_compound_is_found_apart_and_together(
    language: str, written: str, typed: tuple[str, ...], tmp_path: Path
) -> None:
    index = _index(tmp_path, language, ["Lamp 20 W", written, "Hammer"])

    for query in typed:
        assert _whole(index, query) == [1], query


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("nutri system ", True),
        ("nurti system ", True),  # a typo in one of the two
        ("nutri sysetm ", True),
        ("nutr suystem ", True),
        ("water system ", False),  # two known words of no product are not one
        ("hose waterr ", False),
    ],
)
def test_a_compound_typed_apart_is_found_with_typos(
    typed: str, tmp_path: Path, *, found: bool
) -> None:
    titles = [f"Nutrisystem lunch {number}" for number in range(5)]
    titles += ["Nutri bar", "Water hose", "Alarm system"]

    index = _index(tmp_path, "en", titles)

    assert (_whole(index, typed) == [0, 1, 2, 3, 4]) is found


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("garden hamemrr ", [0, 1, 2, 3, 4, 5]),
        ("garden hamer ", [0, 1, 2, 3, 4, 5]),  # one edit of "hamper" too: not in gardens
        ("kitchen hamemrr ", []),  # not sold together
        ("kitchen kinfes ", [6]),
        ("hamemrr ", [0, 1, 2, 3, 4, 5]),  # alone, but nothing else is near
        ("hamme ", [0, 1, 2, 3, 4, 5]),
        ("hmamre ", [0, 1, 2, 3, 4, 5]),  # two slips of the hand
        ("hammbrq ", []),  # no slip: b is far from e on a keyboard
        ("hamster ", []),
        ("farmer ", []),
        ("tnet ", [8, 9, 10, 11, 12, 13]),  # swapped
        ("tet ", []),  # as near, but such letters may be a word of their own
        ("garden tnet ", []),  # not sold together
        ("lamb ", []),
        ("kinfes ", [6]),  # no word has "nf"
    ],
)
def test_a_distant_correction_needs_a_neighbour_or_the_letters_of_a_typo(
    typed: str, found: list[int], tmp_path: Path
) -> None:
    titles = [f"Garden hammer {size}" for size in range(6)]
    titles += ["Kitchen knife", "Picnic hamper", *(f"Tent {size}" for size in range(6))]
    titles += ["Lamp", "Lime", "Lamp shade", "Lime soap"]
    index = _index(tmp_path, "en", titles)

    hits = index.find(
        IndexQuery(index.analyse(typed), 20, np.ones(len(titles), dtype=np.bool_))
    )
    whole = [] if hits.complete == 0 else sorted(hits.items[: hits.with_every_word])
    assert whole == found


def test_a_word_is_not_split_into_stop_words(tmp_path: Path) -> None:
    titles = [f"Salt and pepper for all {number}" for number in range(6)]
    index = _index(tmp_path, "en", titles)

    assert _whole(index, "saltpepper ") == [0, 1, 2, 3, 4, 5]
    assert _whole(index, "andall ") == []


def _index(folder: Path, language: str, titles: list[str]) -> SearchIndex:
    with IndexWriter(folder, language) as writer:
        writer.put(ProductText(number, title) for number, title in enumerate(titles))
        writer.commit()
    return SearchIndex(folder, language)


def _query(index: SearchIndex, text: str) -> IndexQuery:
    return IndexQuery(index.analyse(text), 10, np.ones(10, dtype=np.bool_))


def _whole(index: SearchIndex, text: str) -> list[int]:
    """Return the products that hold every word of a query."""
    found = index.find(_query(index, text))
    return sorted(found.items[: found.with_every_word])
