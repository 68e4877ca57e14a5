"""Language analysis: stop words and stemming, and detection of a text's language."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.tokenizer import query_words

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
    return memoized(RegisteredCache.STEMS)(partial(_strip_or_replace_ending, by_length))


def _strip_or_replace_ending(endings: tuple[str, ...], word: str) -> str:
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
        self._stems = _build_analyzer(Filter.stemmer(name)) if name else None
        self._light_stemmer = light_stemmer(self.code)
        self._irregular = IRREGULAR_PLURALS.get(self.code)
        self._extra_stop_words = _EXTRA_STOP_WORDS.get(self.code, frozenset())
        self._stop_words = (
            _build_analyzer(Filter.stopword(name)) if name in _WITH_STOP_WORDS else None
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

    def are_stop_words(self, words: Sequence[str]) -> bool:
        """Return whether all of the words are stop words; so are no words."""
        return self.without_stop_words([*words, _NO_STOP_WORD]) == [_NO_STOP_WORD]


@memoized(RegisteredCache.LANGUAGES)
def cached_language_analyzer(tag: str) -> LanguageAnalyzer:
    """Return the analyzer of a language tag from a cache."""
    return LanguageAnalyzer(tag)


_NO_STOP_WORD: Final = "0"

# The library stems more languages than it has stop word lists for.
_WITH_STOP_WORDS: Final = frozenset(LANGUAGE_NAMES.values()) - {
    "arabic",
    "greek",
    "romanian",
    "tamil",
    "turkish",
}


def _build_analyzer(word_filter: Filter) -> TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(word_filter).build()


# Words that identify a language in a few product texts, in folded letters.
_TELLTALES: Final = {
    "en": "and with for the from this your in that are it of is to",
    "cs": "na pro s v se je ve ze jsou nebo pri jako",
    "da": "og med til i for en af et den det er pa som fra ikke",
    "de": "und mit fur aus der die das den von ist eine einem im zum auch nicht",
    "es": "y con para en de el la los las una un del por que su",
    "fi": "ja on joka seka myos ei tai kanssa",
    "fr": "et avec pour en des les la le une un du est sur dans cette",
    "hu": "es az egy hogy nem van vagy meg",
    "it": "e con per in della il gli di una un del che la sono dal",
    "nl": "en met voor in van het een de uit is niet ook zijn deze",
    "no": "og med til i for en av et den det er pa som fra ikke",
    "pl": "i w na z do dla ze jest oraz sie nie przez od",
    "pt": "e com para em da do os as uma um de por que seu nao",
    "ro": "si cu de pentru din pe un o este sau la in",
    "sv": "och med for i av en ett den det ar till som pa fran inte",
    "tr": "ve ile icin bir bu da olarak cok",
}
_LANGUAGES_PER_WORD: Final = Counter(
    word for words in _TELLTALES.values() for word in words.split()
)
_WEIGHTS: Final = {
    code: {word: 1.0 / _LANGUAGES_PER_WORD[word] for word in words.split()}
    for code, words in _TELLTALES.items()
}
"""Weights of short words by language; words of many languages weigh little."""

# Scripts and their languages, the most common first.
_SCRIPTS: Final = (
    (re.compile("[\u0370-\u03ff\u1f00-\u1fff]"), ("el",)),
    (re.compile("[\u0400-\u04ff]"), ("ru", "uk", "bg", "sr", "mk", "be", "kk")),
    (re.compile("[\u0590-\u05ff]"), ("he", "yi")),
    (re.compile("[\u0600-\u06ff]"), ("ar", "fa", "ur")),
    (re.compile("[\u0900-\u097f]"), ("hi", "mr", "ne")),
    (re.compile("[\u0b80-\u0bff]"), ("ta",)),
    (re.compile("[\u0e00-\u0e7f]"), ("th",)),
    (re.compile("[\u3040-\u30ff]"), ("ja",)),
    (re.compile("[\u4e00-\u9fff]"), ("zh", "ja")),
    (re.compile("[\uac00-\ud7af\u1100-\u11ff]"), ("ko",)),
)
# Letters of only one language of a script: the stemmer of another would do harm.
_LANGUAGE_LETTERS: Final = MappingProxyType(
    {
        "ru": (
            ("uk", "\u0456\u0457\u0454\u0491"),
            ("sr", "\u0458\u0459\u045a\u0452\u045b"),
        ),
        "ar": (("fa", "\u067e\u0686\u06a9\u06cc"),),
        "zh": (("ja", "\u306e\u306b\u3067\u3059"),),
    }
)
_MIN_LETTER_SHARE: Final = 0.01  # minimum share of these letters in a text
_LETTER: Final = re.compile(r"[^\W\d_]")
_MIN_LETTERS: Final = 200
_MIN_SCRIPT_SHARE: Final = 0.5
_MIN_WORDS: Final = 100
_MIN_WORD_SHARE: Final = 0.02  # of all words
_MIN_RATIO: Final = 2.0


def detect_language(texts: Iterable[str], declared: str) -> str:
    """Return the language of product texts: `declared`, unless another is clearly found.

    Another language is returned if most letters are of its script and not of the declared
    one's, or if its short words occur at least twice as often.
    """
    sampled_texts = list(texts)
    code = declared.split("-", 1)[0].lower()
    script_languages = _languages_of_dominant_script("".join(sampled_texts).lower())
    if script_languages:
        return declared if code in script_languages else script_languages[0]
    words = Counter(word for text in sampled_texts for word in query_words(text))
    total = words.total()
    shares = {
        language: sum(weight * words[word] for word, weight in weights.items())
        for language, weights in _WEIGHTS.items()
    }
    best = max(shares, key=lambda language: shares[language])
    if (
        total < _MIN_WORDS
        or sum(words[word] for word in _WEIGHTS[best]) < _MIN_WORD_SHARE * total
    ):
        return declared
    if code not in shares:
        return declared  # its short words are unknown
    return best if shares[best] >= _MIN_RATIO * shares[code] else declared


def _languages_of_dominant_script(text: str) -> Sequence[str]:
    """Return the languages of the dominant script; none for Latin."""
    letters = len(_LETTER.findall(text))
    if letters < _MIN_LETTERS:
        return ()
    for script, codes in _SCRIPTS:
        script_letters = len(script.findall(text))
        if script_letters < _MIN_SCRIPT_SHARE * letters:
            continue
        for language, own_letters in _LANGUAGE_LETTERS.get(codes[0], ()):
            if sum(map(text.count, own_letters)) >= _MIN_LETTER_SHARE * script_letters:
                return (language,)
        return codes
    return ()
