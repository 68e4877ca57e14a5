"""Do the arrays find what the library's queries find, with the same scores?"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.engines.text import scoring
from productrecs.engines.text import search as engine
from productrecs.engines.text.index import Found, IndexWriter, SearchIndex, Wanted
from productrecs.engines.text.schema import ProductText

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PRODUCTS = 160
VISIBLE = np.ones(PRODUCTS + 40, dtype=np.bool_)
VISIBLE[::7] = False


def assortment(rng: random.Random) -> list[str]:
    """Return words, of which neighbours are one edit apart and some begin alike."""
    roots = ["lampo", "stuhle", "kabelin", "tende", "brillanto", "socken", "messera"]
    ends = ["", "r", "n", "sa", "tik", "65w", "mera"]
    words = [root + end for root in roots for end in ends]
    rng.shuffle(words)
    return words


def product(number: int, words: Sequence[str], rng: random.Random) -> ProductText:
    def text(least: int, most: int) -> str:
        return " ".join(rng.choices(words, k=rng.randint(least, most)))

    return ProductText(
        number, text(1, 7), (f"{text(1, 1)}-{number}",), (text(1, 2),), text(0, 40)
    )


def queries(words: Sequence[str], rng: random.Random) -> list[str]:
    found = []
    for n in range(120):
        typed = rng.sample(list(words), k=1 + n % 3)
        if n % 4 == 0:
            at = rng.randrange(len(typed[0]))
            typed[0] = typed[0][:at] + typed[0][at + 1 :]
        if n % 4 == 1:
            typed[-1] = typed[-1][:-2]
        found.append(" ".join(typed) + (" " if n % 5 == 0 else ""))
    return found


def ask(
    index: SearchIndex, asked: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Found], list[Found]]:
    """Return what the arrays find, and what the library does."""
    arrays = [index.find(Wanted(query, 30, VISIBLE, by_likeness=False)) for query in asked]
    with monkeypatch.context() as patched:
        patched.setattr(engine, "is_plain", lambda *_: False)
        library = [
            index.find(Wanted(query, 30, VISIBLE, by_likeness=False)) for query in asked
        ]
    return arrays, library


def differences(one: Sequence[Found], other: Sequence[Found]) -> int:
    return sum(
        a.relaxed is not b.relaxed
        or (a.whole, a.exact, len(a.items)) != (b.whole, b.exact, len(b.items))
        or not np.allclose(a.scores, b.scores, rtol=1e-4)
        or dict(zip(a.items[:-3], a.scores, strict=False)).keys()
        - dict(zip(b.items, b.scores, strict=True)).keys()
        != set()
        for a, b in zip(one, other, strict=True)
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[SearchIndex, list[str]]:
    rng = random.Random(11)  # noqa: S311 - a test's dice
    folder = tmp_path_factory.mktemp("index")
    words = assortment(rng)
    with IndexWriter(folder, "en") as writer:
        writer.put((product(n, words, rng) for n in range(PRODUCTS)), are_new=True)
        writer.commit()
    return SearchIndex(folder, "en"), queries(words, rng)


def test_arrays_find_and_score_as_the_library_does(
    built: tuple[SearchIndex, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, asked = built

    arrays, library = ask(index, asked, monkeypatch)

    assert differences(arrays, library) == 0
    assert sum(bool(one.items) for one in arrays) > 100


def test_another_weight_is_noticed(
    built: tuple[SearchIndex, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above."""
    index, asked = built
    shares = np.array([1.0, 0.5, 0.03, 0.8], dtype=np.float32)
    monkeypatch.setattr(scoring, "_ALL", shares)

    arrays, library = ask(index, asked, monkeypatch)

    assert differences(arrays, library) > 20


def test_what_was_changed_and_removed_is_found_as_if_it_had_been_so_at_once(
    tmp_path: Path,
) -> None:
    rng = random.Random(12)  # noqa: S311 - a test's dice
    words = assortment(rng)
    catalog = {n: product(n, words, rng) for n in range(PRODUCTS)}
    with IndexWriter(tmp_path / "grown", "en") as writer:
        writer.put(catalog.values(), are_new=True)
        writer.commit()
        index = SearchIndex(tmp_path / "grown", "en")
        parts = set()
        for _ in range(12):
            changed = [product(n, words, rng) for n in rng.sample(range(PRODUCTS), k=3)]
            gone = rng.sample(range(PRODUCTS), k=2)
            writer.put(changed)
            writer.remove(gone)
            writer.commit()
            index.reload()
            catalog.update((one.number, one) for one in changed)
            for number in gone:
                catalog.pop(number, None)
            parts.add(len(list((tmp_path / "grown" / "arrays").glob("*.part"))))
    with IndexWriter(tmp_path / "fresh", "en") as writer:
        writer.put(catalog.values(), are_new=True)
        writer.commit()
    fresh = SearchIndex(tmp_path / "fresh", "en")

    for query in queries(words, rng)[:60]:
        one, other = (
            set(each.find(Wanted(query, 200, VISIBLE, by_likeness=False)).items)
            for each in (index, fresh)
        )
        assert one == other, query
    assert max(parts) > 1
