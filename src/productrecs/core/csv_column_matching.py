"""CSV column names: compares what two files call the same column."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

_BLANKS: Final = re.compile(r"[\s_\-.\ufeff]+")
_LETTERS: Final = str.maketrans({"ł": "l", "ø": "o", "æ": "ae", "\u0131": "i", "đ": "d"})
_WORD: Final = re.compile(r"[€$£]|\d+\s?%|[^\W_]+")
_AMOUNTS: Final = frozenset({"price", "list_price", "cost"})
_WORDS: Final = {
    "tax": "vat tax taxes gst mwst ust moms mva btw tva taxe iva alv dph",
    "with": """
        incl inc including included with gross inkl mit brutto ttc inclus incluse incluso
        inclusa incluido con med sis z s
    """,
    "without": """
        excl ex excluding excluded without net exkl ohne zzgl netto ht hors excluido
        esclusa sin senza uden utan veroton bez
    """,
    "currency": "€ $ £ in eur euro usd gbp chf sek nok dkk pln czk huf ron cad aud",
}
_TAX, _WITH, _WITHOUT, _CURRENCIES = (frozenset(text.split()) for text in _WORDS.values())


def simplify_column_name(name: str) -> str:
    """Return a column's name without case, accents, blanks, dots, `_` and `-`."""
    bare = _BLANKS.sub("", name).casefold()
    if bare.isascii():
        return bare
    letters = unicodedata.normalize("NFD", bare.translate(_LETTERS))
    return "".join(one for one in letters if not unicodedata.combining(one))


def find_columns(
    names: Sequence[str], columns: Mapping[str, Sequence[str]]
) -> Mapping[str, int]:
    """Return the index of each column: by its own name, else by its first synonym.

    A price may say its tax and currency: `Price (incl. 19% VAT) EUR`. Where a file has it
    with and without tax, the one with tax counts, which shoppers pay.
    """
    bare = [simplify_column_name(name) for name in names]
    places: dict[str, int] = {}
    for column, synonyms in columns.items():
        accepted = [simplify_column_name(synonym) for synonym in synonyms]
        for name in accepted:
            if name in bare:
                places.setdefault(column, bare.index(name))
        if column in _AMOUNTS and column not in places:
            amounts = [
                (is_net, accepted.index(amount), place)
                for place, name in enumerate(names)
                for is_net, amount in [_net_flag_and_amount_name(name)]
                if amount in accepted
            ]
            if amounts:
                places[column] = min(amounts)[2]
    return MappingProxyType(places)


def _net_flag_and_amount_name(name: str) -> tuple[bool, str]:
    """Return whether a column has amounts without tax, and its name without that.

    `VAT price` is empty: it may be the tax.
    """
    words = _WORD.findall(name.casefold())
    removed: set[str] = set()
    for place in (-1, 0):
        while len(words) > 1 and _is_about_tax_or_currency(words[place]):
            removed.add(words.pop(place))
    if removed & _TAX and not removed & (_WITH | _WITHOUT):
        return False, ""
    return bool(removed & _WITHOUT), simplify_column_name(" ".join(words))


def _is_about_tax_or_currency(word: str) -> bool:
    return word.endswith("%") or word in _TAX | _WITH | _WITHOUT | _CURRENCIES
