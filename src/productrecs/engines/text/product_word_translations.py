"""Product word translations: everyday names of products in several languages.

A shopper may search in another language than the catalog's: a "Zelt" is a "tent". Or with
another name of the same language: a "thermos" is a "vacuum flask". The names are a table of
ours, a product in each row and a language in each column. Words that name products of a
catalog are never translated.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.engines.text.tokenizer import query_words
from productrecs.engines.text.vocabulary import edit_distance

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

Words = tuple[str, ...]

_TABLE: Final = "product_words.txt"
_MAX_WORDS: Final = 4  # of a name
_LINKING_LETTERS: Final = ("", "s", "n", "en", "es", "er", "e")
_COMPOUNDING: Final = frozenset({"de", "nl"})
_MIN_INFLECTED: Final = 4  # letters of a name in another form than the table's
_MIN_PART: Final = 3  # letters of each part of a compound
_MIN_OWN: Final = 4  # letters of a first part that only the catalog has
_MIN_END: Final = 5  # letters of the end of a compound such as "Damenschuhe"
_MIN_HEAD: Final = 6  # letters of its last part, if its first part is unknown


class ProductWordTranslation(NamedTuple):
    """A part of a query that names no product, and its other names in the catalog."""

    typed: Words
    names: tuple[Words, ...]
    is_certain: bool = True  # else only the end of a compound is a word of the table


class ProductWordTable:
    """The table, by language and by the stems of its names; immutable."""

    def __init__(self, table: str) -> None:
        """Read a table: a heading of language codes, then names, alternatives by comma."""
        heading, *lines = (line for line in table.splitlines() if line.strip())
        self.analyzers = {code: LanguageAnalyzer(code) for code in heading.split("|")}
        self.names: list[dict[str, tuple[Words, ...]]] = []  # by row
        self.rows: dict[str, dict[Words, list[int]]] = {code: {} for code in self.analyzers}
        self._spelled: dict[str, set[Words]] = {code: set() for code in self.analyzers}
        for line in lines:
            self._add_row(line)
        self.beginnings = {
            code: frozenset(stems[0] for stems in rows if stems)
            for code, rows in self.rows.items()
        }

    def translate(
        self, words: Sequence[str], into: str, is_sold: Callable[[Words], bool]
    ) -> list[ProductWordTranslation]:
        """Return the parts of a query that are names in the likeliest language.

        The words are folded, as `query_words` returns them. The language is the one that
        knows most of them; of two, the first in the table, the catalog's last. Names of
        which `is_sold` is false are left out; a part may have none left.
        """
        if into not in self.analyzers:
            return []
        possible = frozenset[str]().union(
            *(_possible_name_languages(self, word) for word in words)
        )
        codes = [*(code for code in self.analyzers if code != into), into]
        languages = (
            _ForeignLanguageNames(self, code, into, is_sold)
            for code in codes
            if code in possible
        )
        return max(
            (list(language.translate(words)) for language in languages),
            key=_count_known_words,
            default=[],
        )

    def has_name(self, name: Words, code: str) -> bool:
        """Return whether a language has exactly this name; false without names in it."""
        return name in self._spelled.get(code, ())

    def edits_to_name_with_its_stem(self, word: str) -> int:
        """Return the edits between a word and the name of which it has the stem; 0: none.

        "Lampen" is a form of "Lampe", but "cande" is hardly one of the Spanish "candado".
        """
        forms = (
            name[0]
            for code, analyzer in self.analyzers.items()
            for row in self.rows[code].get(tuple(analyzer.stems([word])), ())
            for name in self.names[row][code]
            if len(name) == 1 and analyzer.stems(name) == analyzer.stems([word])
        )
        return min((edit_distance(word, form) for form in forms), default=0)

    def is_foreign_name(self, name: Words, own_language: str) -> bool:
        """Return whether a language has exactly this name, and `own_language` not."""
        others = (code for code in self.analyzers if code != own_language)
        is_own = own_language in self.analyzers and self.has_name(name, own_language)
        return not is_own and any(self.has_name(name, code) for code in others)

    def is_homonym(self, name: Words, row: int, code: str) -> bool:
        """Return whether a name of a row is the first name of another product.

        A laptop may be called a notebook, but most notebooks are of paper.
        """
        stems = tuple(self.analyzers[code].stems(name))
        others = (other for other in self.rows[code].get(stems, ()) if other != row)
        return self.names[row][code][0] != name and any(
            self.names[other][code][0] == name for other in others
        )

    def possible_compound_cuts(self, word: str, code: str) -> list[int]:
        """Return where a compound may be cut so that its last part is a name."""
        if code not in _COMPOUNDING:
            return []
        cuts = range(_MIN_PART, len(word) - _MIN_PART + 1)
        stems = self.analyzers[code].stems([word[cut:] for cut in cuts])
        rows = self.rows[code]
        return [cut for cut, stem in zip(cuts, stems, strict=True) if (stem,) in rows]

    def _add_row(self, line: str) -> None:
        row = len(self.names)
        self.names.append({})
        for code, cell in zip(self.analyzers, line.split("|"), strict=True):
            names = tuple(tuple(query_words(name)) for name in cell.split(","))
            self.names[row][code] = names
            self._spelled[code].update(names)
            analyzer = self.analyzers[code]
            for name in names:
                stems = tuple(analyzer.stems(analyzer.without_stop_words(name)))
                rows = self.rows[code].setdefault(stems, [])
                if row not in rows:
                    rows.append(row)


class ProductWordGroup:
    """Some products of the table: whether a query names one of them."""

    def __init__(
        self, products: Collection[str], compound_ends: Collection[str] = ()
    ) -> None:
        """Take the products of the rows that have one of these English names.

        `compound_ends` are further ends of compounds, such as "schuh" in "Schuhkauf".
        """
        table = product_words()
        rows = [
            names
            for names in table.names
            if any(" ".join(name) in products for name in names["en"])
        ]
        words = {
            code: {name[0] for names in rows for name in names[code] if len(name) == 1}
            for code in table.analyzers
        }
        self._stems = {
            code: frozenset(table.analyzers[code].stems(sorted(names)))
            for code, names in words.items()
        }
        ends = {*compound_ends}.union(*(words[code] for code in _COMPOUNDING))
        self._ends = tuple(word for word in sorted(ends) if len(word) >= _MIN_END)

    def is_named(self, words: Collection[str]) -> bool:
        """Return whether folded words name one of the products, in any language."""
        analyzers = product_words().analyzers
        return any(
            word.endswith(self._ends)
            or any(
                analyzers[code].stems([word])[0] in stems
                for code, stems in self._stems.items()
            )
            for word in words
        )


@dataclass(frozen=True, slots=True)
class _ForeignLanguageNames:
    """The names of one language, read for a catalog in another."""

    table: ProductWordTable
    code: str
    into: str
    is_sold: Callable[[Words], bool]

    def translate(self, words: Sequence[str]) -> Iterator[ProductWordTranslation]:
        """Yield the parts of a query that are names, sold or not; the longest that is."""
        analyzer, rows = self.table.analyzers[self.code], self.table.rows[self.code]
        content_words = analyzer.without_stop_words(words)
        stems = analyzer.stems(content_words)
        place = 0
        while place < len(content_words):
            parts = [
                tuple(content_words[place:end])
                for end in range(min(place + _MAX_WORDS, len(content_words)), place, -1)
                if tuple(stems[place:end]) in rows
                and self._rows_of_name(tuple(content_words[place:end]))
            ]
            sold = (ProductWordTranslation(part, self._sold_names(part)) for part in parts)
            best = next((part for part in sold if part.names), None)
            if best is None and (
                compound := list(self._parts_of_compound(content_words[place]))
            ):
                yield from compound
            elif best is not None or parts:
                yield best or ProductWordTranslation(parts[0], ())
            place += len(best.typed) if best is not None else 1

    def _rows_of_name(self, typed: Words) -> Sequence[int]:
        """Return the rows of a name; none if the catalog's language has the same one.

        Stems of the shortest words are those of too many others: they must be exact.
        """
        own = self._stems(typed, self.into) in self.table.rows[self.into]
        if (
            own
            and self.code != self.into
            and not self._is_spelled_only_in_this_language(typed)
        ):
            return ()
        rows = self.table.rows[self.code].get(self._stems(typed, self.code), ())
        if len("".join(typed)) >= _MIN_INFLECTED:
            return rows
        return [row for row in rows if typed in self.table.names[row][self.code]]

    def _is_spelled_only_in_this_language(self, typed: Words) -> bool:
        """Return whether this language has exactly a name, and the catalog's another form.

        A "veste" is a jacket; only its English stem is that of "vest".
        """
        return self.table.has_name(typed, self.code) and not self.table.has_name(
            typed, self.into
        )

    def _stems(self, words: Words, code: str) -> Words:
        return tuple(self.table.analyzers[code].stems(words))

    def _sold_names(self, typed: Words) -> tuple[Words, ...]:
        """Return what products of the catalog are called that `typed` names."""
        names = dict.fromkeys(
            name
            for row in self._rows_of_name(typed)
            for name in self.table.names[row][self.into]
            if self.code != self.into or not self.table.is_homonym(name, row, self.into)
        )
        return tuple(filter(self.is_sold, names))

    def _parts_of_compound(self, word: str) -> Iterator[ProductWordTranslation]:
        """Yield the parts of a compound that products have: the last, and maybe the first.

        Of several splits the one with the longest last part is used.
        """
        if self.code not in _COMPOUNDING:
            return
        for cut in self.table.possible_compound_cuts(word, self.code):
            heads = self._sold_names((word[cut:],))
            if not heads:
                continue
            possible = (word[:cut].removesuffix(link) for link in _LINKING_LETTERS)
            firsts = [part for part in dict.fromkeys(possible) if len(part) >= _MIN_PART]
            own_firsts = {
                part for part in firsts if len(part) >= _MIN_OWN and self.is_sold((part,))
            }
            is_certain = bool(self._rows_of_name((word,)) or own_firsts) or any(
                self._rows_of_name((first,)) for first in firsts
            )
            if not is_certain and len(word) - cut < _MIN_HEAD:
                continue
            for first in firsts:
                own = ((first,),) if first in own_firsts else ()
                if names := self._sold_names((first,)) or own:
                    yield ProductWordTranslation((word,), names)
                    break
            yield ProductWordTranslation((word,), heads, is_certain)
            return


@memoized(RegisteredCache.NAME_LANGUAGES)
def _possible_name_languages(table: ProductWordTable, word: str) -> frozenset[str]:
    """Return the languages in which a word may begin a name, or end with one."""
    return frozenset(
        code
        for code, analyzer in table.analyzers.items()
        if table.beginnings[code].issuperset(analyzer.stems([word]))
        or table.possible_compound_cuts(word, code)
    )


def _count_known_words(parts: Sequence[ProductWordTranslation]) -> float:
    """Return how many words a language knows; those of products without one count half."""
    return sum(len(part.typed) * (1.0 if part.names else 0.5) for part in parts)


@memoized(RegisteredCache.CONSTANTS)
def product_words() -> ProductWordTable:
    """Return the table of the package; the first time takes a tenth of a second."""
    table = files(__package__).joinpath(_TABLE).read_text(encoding="utf-8")
    return ProductWordTable(table)
