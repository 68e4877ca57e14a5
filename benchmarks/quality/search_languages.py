"""Search in another language than the catalog's: do translated queries find what is meant?

Data: Crowdflower's catalog and judgements with 131 of its queries that name things, not
brands, translated by us into German, French and Spanish (`translated_queries.csv`). The
least probability of a query was chosen on the odd query ids. In the other direction, the
translations are the titles of a small catalog, and the queries are in the other languages.
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import crowdflower
from benchmarks.quality.search import PARTS, SHOWN, ndcg, ours
from benchmarks.quality.search_peers import Catalog
from benchmarks.report import Figure
from productrecs.training.search.multilingual_text_model import (
    MultilingualEmbedder,
    multilingual_text_model,
)
from productrecs.training.search.packaged_text_model import packaged_text_model
from productrecs.training.search.semantic_space_files import LANGUAGES, MEANING
from productrecs.training.search.text_embedder import TextEmbedder

if TYPE_CHECKING:
    from benchmarks.quality.datasets import Judged
    from benchmarks.quality.search import Encoders, Find
    from benchmarks.report import Report

QUERIES: Final = Path(__file__).with_name("translated_queries.csv")
ENGLISH: Final = "en"


def measure(report: Report) -> None:
    """Add the figures of our index by words, by meaning and across languages."""
    data = crowdflower()
    with tempfile.TemporaryDirectory() as folder:
        model = packaged_text_model(Path(folder))
        multilingual = multilingual_text_model(Path(folder))
        if model is None or multilingual is None:
            report.skip("search in other languages", "productrecs[models] is missing")
            return
        meaning: Encoders = {MEANING: TextEmbedder(model)}
        languages = meaning | {LANGUAGES: MultilingualEmbedder(multilingual)}
        for name, encoders in (
            ("words", None),
            ("meaning", meaning),
            ("languages", languages),
        ):
            _add_queries_in_other_languages(report, name, data, encoders)
            _add_catalogs_in_other_languages(report, name, data, encoders)


def translated(data: Judged) -> dict[str, dict[int, str]]:
    """Return the translated queries by language and query id; English ones included."""
    with QUERIES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {
        language: {int(row["query_id"]): row[language] for row in rows}
        for language in ("de", "fr", "es")
    }
    return {ENGLISH: {one: data.queries[one] for one in found["de"]}} | found


def _add_queries_in_other_languages(
    report: Report, name: str, data: Judged, encoders: Encoders | None
) -> None:
    catalog = Catalog(
        [one for one, _, _ in data.products],
        [title for _, title, _ in data.products],
        [description for _, _, description in data.products],
    )
    with ours(catalog, encoders) as find:
        for language, queries in translated(data).items():
            for part, rest in PARTS.items():
                asked = [one for one in queries if one % 2 in rest]
                lists = {one: find(queries[one].lower()) for one in asked}
                empty = sum(not found for found in lists.values()) / len(asked)
                scores = [ndcg(data.grades[one], lists[one]) for one in asked]
                known = [score for score in scores if score is not None]
                title = f"search, Crowdflower, {part} queries in {language}, by {name}"
                report.add(Figure(f"{title}, NDCG@10", sum(known) / len(known), "share"))
                report.add(Figure(f"{title}, without a result", empty, "share"))


def _add_catalogs_in_other_languages(
    report: Report, name: str, data: Judged, encoders: Encoders | None
) -> None:
    texts = translated(data)
    for language, titles in texts.items():
        names = list(titles.values())
        catalog = Catalog(list(titles), names, [""] * len(names))
        with ours(catalog, encoders, language) as find:
            for asked, queries in texts.items():
                if asked != language:
                    title = f"search, {asked} queries on titles in {language}, by {name}"
                    _add_hits(report, title, find, queries)


def _add_hits(report: Report, title: str, find: Find, queries: dict[int, str]) -> None:
    lists = {one: find(query.lower()) for one, query in queries.items()}
    first = sum(found[:1] == [one] for one, found in lists.items()) / len(lists)
    shown = sum(one in found[:SHOWN] for one, found in lists.items()) / len(lists)
    report.add(Figure(f"{title}, the product first", first, "share"))
    report.add(Figure(f"{title}, among the first ten", shown, "share"))
