"""Are all words found that are one edit away or begin alike, and no others?"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from productrecs.engines.text.failures import BrokenIndexError
from productrecs.engines.text.lexicon import Lexicon, LexiconWriter
from productrecs.engines.text.vocabulary import distance
from productrecs.engines.text.warming import loops

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = "abcß字"


def words_of(rng: random.Random, count: int) -> dict[str, int]:
    return {
        "".join(rng.choices(LETTERS, k=rng.randint(1, 8))): rng.randint(1, 9)
        for _ in range(count)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lexicon")


@pytest.fixture(scope="module")
def counts(folder: Path) -> dict[str, int]:
    rng = random.Random(3)  # noqa: S311 - a test's dice
    writer = LexiconWriter(folder)
    counts: dict[str, int] = {}
    for size in (900, 150, 30, 8):
        made = words_of(rng, size).items()
        fresh = {word: n for word, n in made if word not in counts}
        writer.add(fresh)
        counts |= fresh
    return counts


def near(lexicon: Lexicon, typed: str) -> list[str]:
    ready = loops()
    assert ready is not None
    return lexicon.near(typed, 1000, ready)


def by_count(words: list[str], counts: dict[str, int]) -> list[str]:
    return sorted(words, key=lambda word: (-counts[word], word))


def test_all_words_one_edit_away_are_found_the_frequent_first(
    folder: Path, counts: dict[str, int]
) -> None:
    rng = random.Random(4)  # noqa: S311 - a test's dice
    lexicon = Lexicon.read(folder)
    asked = [*rng.sample(sorted(counts), k=60), *words_of(rng, 60)]

    for typed in asked:
        if len(typed) < 4:
            continue
        expected = [word for word in counts if distance(typed, word) == 1]
        assert near(lexicon, typed) == by_count(expected, counts), typed


def test_all_words_that_begin_alike_are_found_the_frequent_first(
    folder: Path, counts: dict[str, int]
) -> None:
    lexicon = Lexicon.read(folder)

    for start in ("a", "bß", "字c", "abca", "zz", "ccccccccccc"):
        expected = [word for word in counts if word.startswith(start)]
        assert lexicon.beginning(start, 12) == by_count(expected, counts)[:12]


def test_what_was_added_is_there_and_nothing_else(
    folder: Path, counts: dict[str, int]
) -> None:
    lexicon = Lexicon.read(folder)

    assert len(lexicon) == len(counts)
    assert all(map(lexicon.has, counts))
    assert not lexicon.has("nowhere")


def test_a_word_that_was_added_twice_is_found_once(tmp_path: Path) -> None:
    writer = LexiconWriter(tmp_path)
    writer.add(dict.fromkeys(["tents", *(f"word{n}" for n in range(20))], 2))
    writer.add({"tents": 1})  # as after a kill between two commits

    lexicon = Lexicon.read(tmp_path)

    assert len(list(tmp_path.glob("*.part"))) == 2
    assert near(lexicon, "tentts") == ["tents"]
    assert lexicon.beginning("tent", 5) == ["tents"]


def test_codes_are_near_to_nothing(tmp_path: Path) -> None:
    LexiconWriter(tmp_path).add({"tent1": 1, "tents": 1})

    assert near(Lexicon.read(tmp_path), "tent") == ["tents"]


def test_a_damaged_file_is_refused_and_harms_nobody_who_has_read_it(
    tmp_path: Path,
) -> None:
    LexiconWriter(tmp_path).add({"tent": 2, "tents": 1})
    before = Lexicon.read(tmp_path)
    for file in tmp_path.glob("*.part"):
        told = bytearray(file.read_bytes())
        told[-3] ^= 1
        file.write_bytes(told)

    with pytest.raises(BrokenIndexError):
        Lexicon.read(tmp_path)

    assert near(before, "tent") == ["tents"]
    assert Lexicon.read(tmp_path, before) is before
