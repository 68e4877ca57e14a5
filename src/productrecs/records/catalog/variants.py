"""Are two items one product in two sizes or colours? Their titles tell."""

import re
from typing import Final

_TELL_APART: Final = """
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
_LEFT_OUT: Final = frozenset(word for word in _TELL_APART.split() if word)
_WORDS: Final = re.compile(r"[^\W_]+")
_MEASURE: Final = re.compile(r"\d+(?:ml|cl|l|g|kg|mg|cm|mm|m|oz|lb|inch|in|gb|tb|pack|x)")
_FOLDED: Final = str.maketrans("äöüéèêàâçñóíúáô", "aoueeeaacnoiuao")


def variant_key(title: str) -> str:
    """Return what the titles of one product's variants share; empty where nothing is left.

    Words for sizes and colours, and measures such as 500ml, are left out. Plain numbers
    stay: the second volume is not the first.
    """
    words = _WORDS.findall(title.casefold().translate(_FOLDED))
    kept = [word for word in words if not _tells_apart(word)]
    return " ".join(kept)


def _tells_apart(word: str) -> bool:
    return word in _LEFT_OUT or _MEASURE.fullmatch(word) is not None
