"""What do others find for the same queries? BM25, FTS5, PostgreSQL, the library bare."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import apsw
import tantivy

from benchmarks.quality import search_postgres
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Find = Callable[[str], Sequence[int]]

K1, B = 1.2, 0.75
MOST: Final = 50
_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Catalog:
    """Products, in parallel."""

    ids: Sequence[int]
    titles: Sequence[str]
    descriptions: Sequence[str]


def bm25(catalog: Catalog) -> Find:
    """Return BM25 over the stems of titles (k1 1.2, b 0.75)."""
    language = LanguageAnalyzer("en")

    def cut(text: str) -> list[str]:
        return language.stems(_WORD.findall(text.lower()))

    texts = [cut(title) for title in catalog.titles]
    mean = sum(map(len, texts)) / len(texts)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for n, text in enumerate(texts):
        for word, count in Counter(text).items():
            postings[word].append((n, count))

    def find(query: str) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for word in cut(query):
            found = postings.get(word, ())
            rarity = math.log(1 + (len(texts) - len(found) + 0.5) / (len(found) + 0.5))
            for n, count in found:
                length = 1 - B + B * len(texts[n]) / mean
                scores[n] += rarity * count * (K1 + 1) / (count + K1 * length)
        best = sorted(scores, key=lambda n: (-scores[n], n))[:MOST]
        return [catalog.ids[n] for n in best]

    return find


def fts5(catalog: Catalog) -> Find:
    """Return SQLite's FTS5, porter stems, any word, titles ten times descriptions."""
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5(title, body, tokenize='porter unicode61')"
    )
    rows = zip(range(len(catalog.ids)), catalog.titles, catalog.descriptions, strict=True)
    with connection:
        connection.executemany("INSERT INTO t(rowid, title, body) VALUES (?, ?, ?)", rows)

    def find(query: str) -> list[int]:
        words = _WORD.findall(query.lower())
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t, 10.0, 1.0) LIMIT 50"
        return [catalog.ids[int(n)] for (n,) in connection.execute(sql, (asked,))]

    return find


def bare(catalog: Catalog) -> Find:
    """Return the library's own parsed query, English stems, titles ten times the rest."""
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("n", fast=True)
    builder.add_text_field("title", tokenizer_name="en_stem")
    builder.add_text_field("body", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer(50_000_000, 1)
    for n, (title, body) in enumerate(
        zip(catalog.titles, catalog.descriptions, strict=True)
    ):
        writer.add_document(tantivy.Document(n=n, title=title, body=body))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def find(query: str) -> list[int]:
        plain = " ".join(_WORD.findall(query.lower()))
        asked = index.parse_query(plain, ["title", "body"], {"title": 10.0})
        hits = [address for _, address in searcher.search(asked, MOST, count=False).hits]
        numbers = searcher.fast_field_values("n", hits) if hits else []
        return [catalog.ids[int(n or 0)] for n in numbers]

    return find


def bm25s_titles(catalog: Catalog) -> Find:
    """Return bm25s over stems of titles, where it is installed.

    Raises:
        ImportError: where it is not; it is a peer and no dependency.
    """
    import bm25s  # type: ignore[import-not-found]  # noqa: PLC0415 - not a dependency

    language = LanguageAnalyzer("en")
    texts = [language.stems(_WORD.findall(title.lower())) for title in catalog.titles]
    index = bm25s.BM25(k1=K1, b=B)
    index.index(texts, show_progress=False)

    def find(query: str) -> list[int]:
        words = [
            w for w in language.stems(_WORD.findall(query.lower())) if w in index.vocab_dict
        ]
        if not words:
            return []
        found, scores = index.retrieve([words], k=MOST, show_progress=False)
        return [
            catalog.ids[int(n)]
            for n, score in zip(found[0], scores[0], strict=True)
            if score > 0
        ]

    return find


PEERS: Final[dict[str, Callable[[Catalog], Find]]] = {
    "BM25 on titles": bm25,
    "SQLite FTS5": fts5,
    "tantivy, bare": bare,
    "bm25s on titles": bm25s_titles,
    "PostgreSQL, tsvector": search_postgres.full_text,
    "PostgreSQL, tsvector and pg_trgm": search_postgres.with_trigrams,
}
