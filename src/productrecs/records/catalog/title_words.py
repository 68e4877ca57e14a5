"""Title words: folding of case and accents, and the words that distinguish variants."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"\w+")


def fold_text(text: str) -> str:
    """Return a text without case, accents and surrounding spaces."""
    if text.isascii():
        return text.strip().lower()
    decomposed = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def folded_words(text: str) -> frozenset[str]:
    """Return the folded words of a text; empty without any."""
    return frozenset(_WORD.findall(fold_text(text)))


_DISTINGUISHING_WORDS: Final = """
    xxs xs s m l xl xxl xxxl 2xl 3xl 4xl small medium large size mini maxi
    grosse klein mittel gross taille petit moyen grand talla pequeno mediano grande
    black white red blue green yellow orange purple violet pink grey gray brown beige
    navy turquoise teal gold golden silver ivory khaki burgundy maroon
    schwarz weiss rot blau grun gelb lila rosa grau braun silbern
    noir noire blanc blanche rouge bleu bleue vert verte jaune gris grise marron
    negro negra blanco blanca rojo roja azul verde amarillo amarilla
    nero nera bianco bianca rosso rossa blu giallo grigio marrone
    zwart wit rood blauw groen geel grijs bruin
"""
_SIZES: Final = """
    xxs xs s m l xl xxl xxxl 2xl 3xl 4xl small medium large
    klein mittel gross petit moyen grand pequeno mediano grande
"""
_SIZE_NUMBERS: Final = {word: at for at, word in enumerate(_SIZES.split(), 1)}
_DISTINGUISHING: Final = frozenset(word for word in _DISTINGUISHING_WORDS.split() if word)
_WORDS: Final = re.compile(r"[^\W_]+")
_INSIDE: Final = re.compile(  # in women's, l'huile and H&M single letters are not sizes
    r"(?<=[^\W\d_])['\u2019\u02bc\u00b4`](?=[^\W\d_])|(?<=\b[^\W\d_])&(?=[^\W\d_]\b)"
)
_MEASURE: Final = re.compile(r"\d+(?:ml|cl|l|g|kg|mg|cm|mm|m|oz|lb|inch|in|gb|tb|pack|x)")
_FOLDED: Final = str.maketrans("äöüéèêàâçñóíúáô", "aoueeeaacnoiuao")


class VariantWords(NamedTuple):
    """The words of a title that variants of a product share, and those that differ."""

    shared: str
    differing: tuple[str, ...]


def variant_words(title: str, sizes_and_colours: Iterable[str] = ()) -> VariantWords:
    """Split the words of a title, with the product's own sizes and colours.

    Those words, other words for sizes and colours, and measures such as 500ml differ. Plain
    numbers are shared: volume 2 is not a variant of volume 1.
    """
    own = {word for value in sizes_and_colours for word in _words(value)}
    shared: list[str] = []
    differing: list[str] = []
    for word in _words(title):
        differs = word in own or _is_size_or_colour(word)
        (differing if differs else shared).append(word)
    return VariantWords(" ".join(shared), (*differing, *sorted(own)))


def variant_key(title: str) -> str:
    """Return the words that a product's variants share; empty without any such word."""
    return variant_words(title).shared


def size_code_in_title(title: str) -> int:
    """Return a code for the last size word in a title, 0 for none."""
    sizes = (_SIZE_NUMBERS.get(word, 0) for word in reversed(_words(title)))
    return next(filter(None, sizes), 0)


def _words(title: str) -> list[str]:
    return _WORDS.findall(_INSIDE.sub("", title.casefold().translate(_FOLDED)))


def _is_size_or_colour(word: str) -> bool:
    return word in _DISTINGUISHING or _MEASURE.fullmatch(word) is not None
