"""Search in another language than the catalog's: do translated queries find what is meant?

Data: Crowdflower's catalog and judgements with 131 of its queries that name things, not
brands, translated by us into German, French and Spanish (`translated_queries.csv`). The
least probability of a query was chosen on the odd query ids. In the other direction, the
translations are the titles of a small catalog, and the queries are in the other languages.

Everyday nouns: 300 names of products in seven languages (`everyday_nouns.csv`), thirty of
each of ten areas. The shop of a language sells three products of each name, and two that
are only made for it, 1,500 in all. The nouns of odd rows are for choosing, even ones judge.
"""

from __future__ import annotations

import csv
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import crowdflower
from benchmarks.quality.search import PARTS, SHOWN, ndcg, ours
from benchmarks.quality.search_peers import Catalog
from benchmarks.report import Figure
from productrecs.training.search.multilingual_text_model import (
    MultilingualEmbedder,
    load_multilingual_text_model,
)
from productrecs.training.search.packaged_text_model import load_packaged_text_model
from productrecs.training.search.semantic_space_files import LANGUAGES, MEANING
from productrecs.training.search.text_embedder import TextEmbedder

if TYPE_CHECKING:
    from benchmarks.quality.datasets import Judged
    from benchmarks.quality.search import Encoders, Find
    from benchmarks.report import Report

QUERIES: Final = Path(__file__).with_name("translated_queries.csv")
NOUNS: Final = Path(__file__).with_name("everyday_nouns.csv")
ENGLISH: Final = "en"
NOUN_LANGUAGES: Final = ("en", "de", "fr", "es", "it", "nl", "pl")
FIRST: Final = 5
FOUND: Final = 0.85
BRANDS: Final = ("Norvik", "Alvara", "Tessbury", "Quintal", "Orlando & Sons")
SERIES: Final = ("Luno", "Mirka", "Sorento")
NOUN_FIRST: Final = frozenset({"fr", "es", "it", "pl"})  # in titles
MADE_FOR: Final = {
    "en": ("Storage bag for", "Gift card with the motif"),
    "de": ("Aufbewahrungstasche f\u00fcr", "Grusskarte mit dem Motiv"),
    "fr": ("Housse de rangement pour", "Carte cadeau avec le motif"),
    "es": ("Funda de almacenaje para", "Tarjeta regalo con el motivo"),
    "it": ("Custodia per", "Cartolina con il motivo"),
    "nl": ("Opbergtas voor", "Cadeaukaart met het motief"),
    "pl": ("Pokrowiec na:", "Kartka podarunkowa z motywem:"),
}


def measure(report: Report) -> None:
    """Add the figures of our index by words, by meaning and across languages."""
    data = crowdflower()
    with tempfile.TemporaryDirectory() as folder:
        model = load_packaged_text_model(Path(folder))
        multilingual = load_multilingual_text_model(Path(folder))
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
            add_everyday_nouns(report, name, encoders)


def everyday_nouns() -> list[dict[str, str]]:
    """Return the name of each product, by language."""
    with NOUNS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def noun_shop(nouns: list[dict[str, str]], language: str) -> Catalog:
    """Return the shop of a language; the id of a product is five times its noun's row."""
    titles, descriptions = [], []
    for row, noun in enumerate(nouns):
        name = noun[language]
        for kind, series in enumerate(SERIES):
            brand = BRANDS[(row + kind) % len(BRANDS)]
            named = (name, brand) if language in NOUN_FIRST else (brand, name)
            titles.append(f"{' '.join(named).capitalize()}, {series} {100 + row}")
            others = (nouns[(row + step * (kind + 1)) % len(nouns)] for step in (7, 101))
            descriptions.append(", ".join(other[language] for other in others))
        titles += [f"{made} {name}" for made in MADE_FOR[language]]
        descriptions += ["", ""]
    return Catalog(list(range(len(titles))), titles, descriptions)


def add_everyday_nouns(report: Report, name: str, encoders: Encoders | None) -> None:
    """Add how many nouns of each language find their product in each other's shop."""
    nouns = everyday_nouns()
    per_noun = len(SERIES) + len(MADE_FOR[ENGLISH])
    for language in NOUN_LANGUAGES:
        with ours(noun_shop(nouns, language), encoders, language) as find:
            for asked in NOUN_LANGUAGES:
                names = [noun[asked].lower() for noun in nouns]
                is_found = [
                    any(
                        found % per_noun < len(SERIES) and names[found // per_noun] == one
                        for found in find(one)[:FIRST]
                    )
                    for one in names
                ]
                for part, rest in PARTS.items():
                    hits = [one for row, one in enumerate(is_found, 1) if row % 2 in rest]
                    share = sum(hits) / len(hits)
                    title = f"search, everyday nouns in {asked}, shop in {language}"
                    figure = Figure(f"{title}, {part} rows, by {name}", share, "share")
                    if part == "even":
                        figure = replace(figure, target=FOUND, ok=share >= FOUND)
                    report.add(figure)


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
