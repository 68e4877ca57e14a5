"""Light stemmers for Polish and Czech, and irregular plurals that other stemmers miss.

They remove case endings only.

Source: J. Savoy, Light Stemming Approaches for the French, Portuguese, German and Hungarian
Languages (2006), for the method; the endings are those of school grammars.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from productrecs.core.caches import Cache, memoized

_LEAST_STEM: Final = 3

# In folded letters, without accents.
_ENDINGS: Final = {
    "pl": "iami ami ach ego emu owie ymi imi iej ich ych iom ow om em im ym ie ia iu ej "
    "a e i o u y",
    "cs": "ovi ami emi imi ymi eho emu ech ich ych ach um ou em im ym am os ej a e i o u y",
}
# A vowel that comes and goes: kurtka, kurtek; damek, damka.
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
"""By language: the stem of a form that its stemmer takes for another word."""


def light_stemmer(code: str) -> Callable[[str], str] | None:
    """Return what gives a folded word's stem in a language; None where nothing does."""
    endings = _ENDINGS.get(code)
    if endings is None:
        return None
    by_length = tuple(sorted(endings.split(), key=len, reverse=True))
    return memoized(Cache.STEMS)(partial(_without_ending, by_length))


def _without_ending(endings: tuple[str, ...], word: str) -> str:
    if not word.isalpha():
        return word
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word[: -len(ending)]
    for ending, replacement in _FLEETING:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM - 1:
            return word[: -len(ending)] + replacement
    return word
