"""Language detection of product texts, by letters and frequent short words."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Final

from productrecs.engines.text.tokenizer import query_words

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
_SHARED: Final = Counter(word for words in _TELLTALES.values() for word in words.split())
_WEIGHTS: Final = {
    code: {word: 1.0 / _SHARED[word] for word in words.split()}
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
_MOSTLY: Final = 0.5
_MIN_WORDS: Final = 100
_MIN_WORD_SHARE: Final = 0.02  # of all words
_CLEARLY: Final = 2.0


def detect_language(texts: Iterable[str], declared: str) -> str:
    """Return the language of product texts: `declared`, unless another is clearly found.

    Another language is returned if most letters are of its script and not of the declared
    one's, or if its short words occur at least twice as often.
    """
    sampled_texts = list(texts)
    code = declared.split("-", 1)[0].lower()
    by_script = _by_letters("".join(sampled_texts).lower())
    if by_script:
        return declared if code in by_script else by_script[0]
    words = Counter(word for text in sampled_texts for word in query_words(text))
    total = words.total()
    shares = {
        one: sum(weight * words[word] for word, weight in weights.items())
        for one, weights in _WEIGHTS.items()
    }
    best = max(shares, key=lambda one: shares[one])
    if total < _MIN_WORDS or _found(best, words) < _MIN_WORD_SHARE * total:
        return declared
    if code not in shares:
        return declared  # its short words are unknown
    return best if shares[best] >= _CLEARLY * shares[code] else declared


def _found(code: str, words: Counter[str]) -> int:
    return sum(words[word] for word in _WEIGHTS[code])


def _by_letters(text: str) -> Sequence[str]:
    """Return the languages of the dominant script; none for Latin."""
    letters = len(_LETTER.findall(text))
    if letters < _MIN_LETTERS:
        return ()
    for script, codes in _SCRIPTS:
        found = len(script.findall(text))
        if found < _MOSTLY * letters:
            continue
        for one, own_letters in _LANGUAGE_LETTERS.get(codes[0], ()):
            if sum(map(text.count, own_letters)) >= _MIN_LETTER_SHARE * found:
                return (one,)
        return codes
    return ()
