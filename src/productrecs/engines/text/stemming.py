"""Stemming and stop words of the store's language."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from productrecs.engines.text.light_stemmer import IRREGULAR_PLURALS, light_stemmer

LANGUAGE_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english",
        "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
        "it": "italian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
        "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
        "sv": "swedish", "ta": "tamil", "tr": "turkish",
    }
)  # fmt: skip
"""The languages whose stems are known, by the first part of a language tag."""


# What the library's lists lack: its languages' words that have lost an accent here, and two
# languages of ours.
_MORE_FILLERS: Final = {
    code: frozenset(words.split())
    for code, words in {
        "cs": "a do k na o od po pro s se u v ve z za ze",
        "da": "pa",
        "de": "fur uber",
        "es": "mas",
        "fr": "a tres",
        "nb": "pa",
        "nn": "pa",
        "no": "pa",
        "pl": "a do dla i na o od po pod przez u w we z za ze",
        "pt": "ate nao",
        "sv": "ar for fran pa",
    }.items()
}


class LanguageAnalyzer:
    """Stems and stop words of one language; without a known one, words are their stems."""

    def __init__(self, tag: str) -> None:
        """Know the language of a tag such as `de` or `pt-BR`."""
        self.code = tag.split("-", 1)[0].lower()
        name = LANGUAGE_NAMES.get(self.code)
        self._stems = _analyzer(Filter.stemmer(name)) if name else None
        self._light = light_stemmer(self.code)
        self._irregular = IRREGULAR_PLURALS.get(self.code)
        self._more_fillers = _MORE_FILLERS.get(self.code, frozenset())
        self._fillers = _analyzer(Filter.stopword(name)) if name in _WITH_FILLERS else None

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, in order."""
        if self._stems is None or not words:
            return list(map(self._light, words)) if self._light else list(words)
        stems = self._stems.analyze(" ".join(words))
        own = self._irregular
        if own is None or len(stems) != len(words):
            return stems
        return [own.get(word, stem) for word, stem in zip(words, stems, strict=True)]

    def without_stop_words(self, words: Sequence[str]) -> list[str]:
        """Return the words that say something; all of them where none does."""
        if not words:
            return []
        left = list(words)
        if self._fillers is not None:
            left = self._fillers.analyze(" ".join(words))
        if self._more_fillers:
            left = [word for word in left if word not in self._more_fillers]
        return left or list(words)


# The library has stems for more languages than it has lists of fillers.
_WITH_FILLERS: Final = frozenset(LANGUAGE_NAMES.values()) - {
    "arabic",
    "greek",
    "romanian",
    "tamil",
    "turkish",
}


def _analyzer(what: Filter) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(what).build()
