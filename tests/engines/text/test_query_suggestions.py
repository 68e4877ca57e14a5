"""Query suggestions: in the merchant's spelling, each with results."""

from pathlib import Path

import numpy as np
import pytest

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.query_suggestions import spell_as_title
from productrecs.engines.text.search_index import IndexWriter, SearchIndex

TITLES = (
    "Sleeping-bag down",
    "Sleeping bag summer",
    "Sleepingbag liner",
    "Tent for two",
    "Bookcase oak",
    "Bookcase pine",
    "Book case of leather",
    "Wi-Fi router",
    "Olive oil 0,75 l",
    "Drill DCD-771 C2",
)


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    with IndexWriter(tmp_path, "en") as writer:
        writer.put((ProductText(n, title) for n, title in enumerate(TITLES)), are_new=True)
        writer.commit()
    return SearchIndex(tmp_path, "en")


def offered(index: SearchIndex, query: str) -> tuple[list[str], str | None]:
    found = index.suggest(index.analyse(query), 5, np.ones(len(TITLES), dtype=np.bool_))
    spelled = [spell_as_title(one.words, TITLES[one.item], query) for one in found.next]
    texts = [text for text in spelled if text is not None]
    meant = found.meant
    return texts, spell_as_title(meant.words, TITLES[meant.item]) if meant else None


@pytest.mark.parametrize(
    ("typed", "next_"),
    [
        ("sleepi", ["sleeping", "sleeping bag"]),
        ("bookc", ["bookcase"]),
        ("wif", ["wi-fi"]),
        ("tent for tw", ["tent for two"]),
        ("xyzw", []),
        # A form of a size or a number that no title writes is offered to who typed it only.
        ("olive oil 75", []),
        ("olive oil 750ml", ["olive oil 750ml"]),
        ("dcd77", ["dcd-771"]),
    ],
)
def test_what_may_be_typed_next_is_written_as_most_titles_write_it(
    index: SearchIndex, typed: str, next_: list[str]
) -> None:
    assert offered(index, typed) == (next_, None)


def test_a_short_word_with_two_letters_swapped_is_offered(index: SearchIndex) -> None:
    assert offered(index, "etnt ") == (["tent"], "tent")
    assert offered(index, "tnet for two ")[1] == "tent for two"
    assert offered(index, "nett ") == ([], None)  # two swaps away


def test_what_is_remembered_is_weighed(index: SearchIndex) -> None:
    held = index.memory_bytes()

    offered(index, "sleepnig bag")

    before = index.memory_bytes()
    assert before > held > 0
    offered(index, "bookcsae")
    assert index.memory_bytes() > before
