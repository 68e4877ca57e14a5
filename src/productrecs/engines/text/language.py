"""Which forms of a word are one word? Stems and stop words of the store's language."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from productrecs.engines.text.characters import folded
from productrecs.engines.text.words import words_of

NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english",
        "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
        "it": "italian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
        "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
        "sv": "swedish", "ta": "tamil", "tr": "turkish",
    }
)  # fmt: skip
"""The languages whose stems are known, by the first part of a language tag."""

# Words that tell a language within a few product texts, in folded letters.
_TELLTALES: Final = {
    "de": "und mit fur aus der die das den von ist eine einem im zum auch nicht",
    "en": "and with for from the of is this your in to that are it",
    "es": "y con para de la el los las una del en por que su",
    "fr": "et avec pour des la le les une du en est sur dans cette",
    "it": "e con per della il gli di una del in che la sono dal",
    "nl": "en met voor van het een de uit is niet ook zijn deze",
    "pt": "e com para da do os as uma em por que seu nao",
    "sv": "och med for av en ett i den det ar till som pa",
    "da": "og med til af en et den det er pa som fra",
    "fi": "ja on joka seka myos ei tai kanssa",
    "tr": "ve ile icin bir bu da olarak cok",
}
_ENOUGH_WORDS: Final = 100
_CLEARLY: Final = 2.0


class Language:
    """Stems and stop words of one language; without a known one, words are their stems."""

    def __init__(self, tag: str) -> None:
        """Know the language of a tag such as `de` or `pt-BR`."""
        self.code = tag.split("-", 1)[0].lower()
        name = NAMES.get(self.code)
        self._stems = _analyzer(Filter.stemmer(name)) if name else None
        self._fillers = _analyzer(Filter.stopword(name)) if name in _WITH_FILLERS else None

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, in order."""
        if self._stems is None or not words:
            return list(words)
        return self._stems.analyze(" ".join(words))

    def without_fillers(self, words: Sequence[str]) -> list[str]:
        """Return the words that say something; all of them where none does."""
        if self._fillers is None or not words:
            return list(words)
        return self._fillers.analyze(" ".join(words)) or list(words)


# The library has stems for more languages than it has lists of fillers.
_WITH_FILLERS: Final = frozenset(NAMES.values()) - {
    "arabic",
    "greek",
    "romanian",
    "tamil",
    "turkish",
}


def detect(texts: Iterable[str], told: str) -> str:
    """Return the language that product texts are in: `told`, unless they say otherwise.

    Another one is taken only where its small words are found at least twice as often.
    """
    counts = dict.fromkeys(_TELLTALES, 0)
    total = 0
    sets = {code: frozenset(words.split()) for code, words in _TELLTALES.items()}
    for text in texts:
        found = words_of(folded(text))
        total += len(found)
        for code, telltales in sets.items():
            counts[code] += sum(word in telltales for word in found)
    best = max(counts, key=lambda code: counts[code])
    mine = counts.get(told.split("-", 1)[0].lower())
    if total < _ENOUGH_WORDS or mine is None or counts[best] * 50 < total:
        return told
    return best if counts[best] >= _CLEARLY * max(mine, 1) else told


def _analyzer(what: Filter) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(what).build()
