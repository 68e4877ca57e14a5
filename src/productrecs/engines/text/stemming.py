"""Stemming and stop words of the store's language, including light stemmers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from productrecs.core.cache_registry import Cache, memoized

_MIN_STEM: Final = 3

# In folded letters, without accents.
_ENDINGS: Final = {
    "pl": "iami ami ach ego emu owie ymi imi iej ich ych iom ow om em im ym ie ia iu ej "
    "a e i o u y",
    "cs": "ovi ami emi imi ymi eho emu ech ich ych ach um ou em im ym am os ej a e i o u y",
}
# Fleeting vowels: kurtka, kurtek; damek, damka.
_FLEETING: Final = (("ek", "k"), ("ec", "c"))

IRREGULAR_PLURALS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "da": {"skoene": "sko", "boger": "bog", "bogerne": "bog"},
        "es": {"luces": "luz", "lapices": "lapiz", "narices": "nariz", "sarten": "sarten"},
        "fr": {"velos": "velo", "yeux": "oeil", "pneus": "pneu", "bleus": "bleu"},
        "it": {"uova": "uov", "uovo": "uov"},
        "nb": {"skoene": "sko", "boker": "bok", "bokene": "bok"},
        "nl": {"fietsen": "fiet", "glazen": "glas", "huizen": "huis"},
        "no": {"skoene": "sko", "boker": "bok", "bokene": "bok"},
        "pt": {"botoes": "bota", "calcoes": "calca", "cordoes": "corda", "paes": "pao"},
        "sv": {
            "skor": "sko", "skorna": "sko", "skon": "sko", "bocker": "bok",
            "bockerna": "bok", "boken": "bok", "cyklar": "cykel", "cykeln": "cykel",
        },
    }
)  # fmt: skip
"""By language: stems of forms that its stemmer confuses with another word."""


def light_stemmer(code: str) -> Callable[[str], str] | None:
    """Return the light stemmer of a language for folded words; None without one."""
    endings = _ENDINGS.get(code)
    if endings is None:
        return None
    by_length = tuple(sorted(endings.split(), key=len, reverse=True))
    return memoized(Cache.STEMS)(partial(_without_ending, by_length))


def _without_ending(endings: tuple[str, ...], word: str) -> str:
    if not word.isalpha():
        return word
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)]
    for ending, replacement in _FLEETING:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM - 1:
            return word[: -len(ending)] + replacement
    return word


LANGUAGE_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english",
        "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
        "it": "italian", "nl": "dutch", "no": "norwegian", "nb": "norwegian",
        "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
        "sv": "swedish", "ta": "tamil", "tr": "turkish",
    }
)  # fmt: skip
"""The languages with a stemmer, by the first part of a language tag."""


# Additions to the library's lists: words without their accents, and two more languages.
_EXTRA_STOP_WORDS: Final = {
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
    """Stems and stop words of one language; without a stemmer, stems are words."""

    def __init__(self, tag: str) -> None:
        """Select the language of a tag such as `de` or `pt-BR`."""
        self.code = tag.split("-", 1)[0].lower()
        name = LANGUAGE_NAMES.get(self.code)
        self._stems = _analyzer(Filter.stemmer(name)) if name else None
        self._light_stemmer = light_stemmer(self.code)
        self._irregular = IRREGULAR_PLURALS.get(self.code)
        self._extra_stop_words = _EXTRA_STOP_WORDS.get(self.code, frozenset())
        self._stop_words = (
            _analyzer(Filter.stopword(name)) if name in _WITH_STOP_WORDS else None
        )

    def stems(self, words: Sequence[str]) -> list[str]:
        """Return the stem of each word, in order."""
        if self._stems is None or not words:
            return (
                list(map(self._light_stemmer, words))
                if self._light_stemmer
                else list(words)
            )
        stems = self._stems.analyze(" ".join(words))
        irregular = self._irregular
        if irregular is None or len(stems) != len(words):
            return stems
        return [irregular.get(word, stem) for word, stem in zip(words, stems, strict=True)]

    def without_stop_words(self, words: Sequence[str]) -> list[str]:
        """Return the words without stop words; all of them if nothing would remain."""
        if not words:
            return []
        kept_words = list(words)
        if self._stop_words is not None:
            kept_words = self._stop_words.analyze(" ".join(words))
        if self._extra_stop_words:
            kept_words = [word for word in kept_words if word not in self._extra_stop_words]
        return kept_words or list(words)


# The library stems more languages than it has stop word lists for.
_WITH_STOP_WORDS: Final = frozenset(LANGUAGE_NAMES.values()) - {
    "arabic",
    "greek",
    "romanian",
    "tamil",
    "turkish",
}


def _analyzer(word_filter: Filter) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(word_filter).build()
