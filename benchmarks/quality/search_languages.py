"""Search in another language than the catalog's: do translated queries find what is meant?

Data: Crowdflower's catalog and judgements with 131 of its queries that name things, not
brands, translated by us into German, French and Spanish (`translated_queries.csv`). The
least probability of a query was chosen on the odd query ids. In the other direction, the
translations are the titles of a small catalog, and the queries are in the other languages.

Our service is asked over HTTP, with its defaults and by words alone.

Everyday nouns: 300 names of products in seven languages (`everyday_nouns.csv`), thirty of
each of ten areas. The shop of a language sells three products of each name, and two that
are only made for it, 1,500 in all. The nouns of odd rows are for choosing, even ones judge.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.quality.datasets import crowdflower
from benchmarks.quality.search import OURS, PARTS, SHOWN, catalog_of, ndcg
from benchmarks.quality.search_peers import Catalog
from benchmarks.quality.search_services import our_service
from benchmarks.report import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.quality.datasets import Judged
    from benchmarks.quality.search import Find
    from benchmarks.report import Report

    Settings = Mapping[str, str]

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
    """Add the figures of our service with its text models, and by words alone."""
    data = crowdflower()
    for name, settings in OURS.items():
        _add_queries_in_other_languages(report, name, data, settings)
        _add_catalogs_in_other_languages(report, name, data, settings)
        _add_everyday_nouns(report, name, settings)


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


def _add_everyday_nouns(report: Report, name: str, settings: Settings) -> None:
    """Add how many nouns of each language find their product in each other's shop."""
    nouns = everyday_nouns()
    per_noun = len(SERIES) + len(MADE_FOR[ENGLISH])
    for language in NOUN_LANGUAGES:
        shop = noun_shop(nouns, language)
        with our_service(f"nouns {language}", shop, settings, language) as service:
            for asked in NOUN_LANGUAGES:
                names = [noun[asked].lower() for noun in nouns]
                is_found = [
                    any(
                        found % per_noun < len(SERIES) and names[found // per_noun] == one
                        for found in service.find(one)[:FIRST]
                    )
                    for one in names
                ]
                for part, rest in PARTS.items():
                    hits = [one for row, one in enumerate(is_found, 1) if row % 2 in rest]
                    share = sum(hits) / len(hits)
                    title = f"search, everyday nouns in {asked}, shop in {language}"
                    figure = Figure(f"{title}, {part} rows, {name}", share, "share")
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
    report: Report, name: str, data: Judged, settings: Settings
) -> None:
    with our_service("Crowdflower", catalog_of(data), settings) as service:
        for language, queries in translated(data).items():
            for part, rest in PARTS.items():
                asked = [one for one in queries if one % 2 in rest]
                lists = {one: service.find(queries[one].lower()) for one in asked}
                empty = sum(not found for found in lists.values()) / len(asked)
                scores = [ndcg(data.grades[one], lists[one]) for one in asked]
                known = [score for score in scores if score is not None]
                title = f"search, Crowdflower, {part} queries in {language}, {name}"
                report.add(Figure(f"{title}, NDCG@10", sum(known) / len(known), "share"))
                report.add(Figure(f"{title}, without a result", empty, "share"))


def _add_catalogs_in_other_languages(
    report: Report, name: str, data: Judged, settings: Settings
) -> None:
    texts = translated(data)
    for language, titles in texts.items():
        names = list(titles.values())
        catalog = Catalog(list(titles), names, [""] * len(names))
        shop = f"queries {language}"
        with our_service(shop, catalog, settings, language) as service:
            for asked, queries in texts.items():
                if asked != language:
                    title = f"search, {asked} queries on titles in {language}, {name}"
                    _add_hits(report, title, service.find, queries)


def _add_hits(report: Report, title: str, find: Find, queries: dict[int, str]) -> None:
    lists = {one: find(query.lower()) for one, query in queries.items()}
    first = sum(found[:1] == [one] for one, found in lists.items()) / len(lists)
    shown = sum(one in found[:SHOWN] for one, found in lists.items()) / len(lists)
    report.add(Figure(f"{title}, the product first", first, "share"))
    report.add(Figure(f"{title}, among the first ten", shown, "share"))
