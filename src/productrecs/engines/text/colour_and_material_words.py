"""Colour and material words: the words of common colours and materials in ten languages.

A row has the words of one colour or material; all are in folded letters.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.engines.text.tokenizer import fold_text

COLOR: Final = "color"
MATERIAL: Final = "material"

_COLORS: Final = {
    "en": "black|white|red|blue|green|grey gray|brown|pink|yellow|orange|purple violet|"
    "beige|silver|gold golden|turquoise|navy",
    "de": "schwarz*|weiss*|rot*|blau*|grun*|grau*|braun*|rosa pink|gelb*|orange|"
    "lila violett*|beige|silber silbern*|gold golden*|turkis|marine marineblau",
    "fr": "noir noire noirs noires|blanc blanche blancs blanches|rouge rouges|"
    "bleu bleue bleus bleues|vert verte verts vertes|gris grise grises|"
    "marron brun brune|rose roses|jaune jaunes|orange|violet violette violets violettes|"
    "beige|argent argente argentee|dore doree dores dorees|turquoise|marine",
    "es": "negro negra negros negras|blanco blanca blancos blancas|rojo roja rojos rojas|"
    "azul azules|verde verdes|gris grises|marron marrones|rosa|"
    "amarillo amarilla amarillos amarillas|naranja|morado morada violeta|beige|"
    "plateado plateada|dorado dorada|turquesa|marino",
    "it": "nero nera neri nere|bianco bianca bianchi bianche|rosso rossa rossi rosse|"
    "blu|verde verdi|grigio grigia grigi grigie|marrone marroni|rosa|"
    "giallo gialla gialli gialle|arancione|viola|beige|argento|oro dorato dorata|"
    "turchese|navy",
    "nl": "zwart zwarte|wit witte|rood rode|blauw blauwe|groen groene|grijs grijze|"
    "bruin bruine|roze|geel gele|oranje|paars paarse|beige|zilver zilveren|"
    "goud gouden|turquoise|marineblauw",
    "pl": "czarn+|bial+|czerwon+|niebiesk+|zielon+|szar+|brazow+|rozow+|zolt+|"
    "pomaranczow+|fioletow+|bezow+|srebrn+|zlot+|turkusow+|granatow+",
    "pt": "preto preta pretos pretas|branco branca brancos brancas|"
    "vermelho vermelha vermelhos vermelhas|azul azuis|verde verdes|cinza cinzento|"
    "castanho marrom|rosa cor-de-rosa|amarelo amarela amarelos amarelas|laranja|"
    "roxo roxa|bege|prateado prateada|dourado dourada|turquesa|marinho",
    "sv": "svart svarta|vit vita vitt|rod roda rott|bla blaa blatt|gron grona gront|"
    "gra graa gratt|brun bruna brunt|rosa|gul gula gult|orange|lila|beige|silver|guld|"
    "turkos|marinbla",
    "da": "sort sorte|hvid hvide hvidt|rod rode rodt|bla blaa blat|gron gronne gront|"
    "gra graa grat|brun brune brunt|lyserod lyserode pink|gul gule gult|orange|lilla|"
    "beige|solv|guld|turkis|marinebla",
}  # fmt: skip
_MATERIALS: Final = {
    "en": "cotton|leather|wool woollen woolen|silk|linen|wood wooden|metal|steel|glass|"
    "ceramic|plastic|paper|bamboo|polyester|denim|velvet|rubber|stainless-steel|"
    "cashmere|marble|copper|brass|rattan|aluminium aluminum",
    "de": "baumwolle|leder|wolle|seide|leinen|holz holzern*|metall|stahl|glas|keramik|"
    "kunststoff plastik|papier|bambus|polyester|denim|samt|gummi|edelstahl|kaschmir|"
    "marmor|kupfer|messing|rattan|aluminium",
    "fr": "coton|cuir|laine|soie|lin|bois|metal|acier|verre|ceramique|plastique|papier|"
    "bambou|polyester|denim|velours|caoutchouc|inox|cachemire|marbre|cuivre|laiton|"
    "rotin|aluminium",
    "es": "algodon|cuero piel|lana|seda|lino|madera|metal|acero|vidrio cristal|ceramica|"
    "plastico|papel|bambu|poliester|denim|terciopelo|goma|acero-inoxidable|cachemira|"
    "marmol|cobre|laton|ratan|aluminio",
    "it": "cotone|pelle cuoio|lana|seta|lino|legno|metallo|acciaio|vetro|ceramica|"
    "plastica|carta|bambu|poliestere|denim|velluto|gomma|acciaio-inox|cashmere|marmo|"
    "rame|ottone|rattan|alluminio",
    "nl": "katoen katoenen|leer leren|wol wollen|zijde zijden|linnen|hout houten|metaal "
    "metalen|staal stalen|glas glazen|keramiek|kunststof plastic|papier|bamboe|polyester|"
    "denim|fluweel|rubber|rvs|kasjmier|marmer|koper|messing|rotan|aluminium",
    "pl": "bawelna bawelny baweln+|skora skory skorzan+|welna welny welnian+|"
    "jedwab jedwabiu jedwabn+|len lnu lnian+|drewno drewna drewnian+|metal metalu "
    "metalow+|stal stali stalow+|szklo szkla szklan+|ceramika ceramiczn+|plastik plastiku "
    "plastikow+|papier papieru papierow+|bambus bambusa bambusow+|poliester|denim|"
    "aksamit aksamitu aksamitn+|guma gumow+|stal-nierdzewna|kaszmir kaszmiru|marmur "
    "marmuru|miedz miedzi|mosiadz|rattan|aluminium",
    "pt": "algodao|couro|la|seda|linho|madeira|metal|aco|vidro|ceramica|plastico|papel|"
    "bambu|poliester|denim|veludo|borracha|aco-inoxidavel|caxemira|marmore|cobre|latao|"
    "vime|aluminio",
    "sv": "bomull|lader skinn|ull|siden silke|linne|tra|metall|stal|glas|keramik|plast|"
    "papper|bambu|polyester|denim|sammet|gummi|rostfritt|kashmir|marmor|koppar|massing|"
    "rotting|aluminium",
    "da": "bomuld|laeder skind|uld|silke|hor|trae|metal|stal|glas|keramik|plast plastik|"
    "papir|bambus|polyester|denim|flojl|gummi|rustfrit|kashmir|marmor|kobber|messing|"
    "rattan|aluminium",
}  # fmt: skip
_NEGATIONS: Final = {
    code: frozenset(f"not without {words}".split())
    for code, words in {
        "en": "", "de": "nicht ohne", "fr": "pas sans", "es": "no sin",
        "it": "non senza", "nl": "niet zonder", "pl": "nie bez", "pt": "nao sem",
        "sv": "inte utan", "da": "ikke uden",
    }.items()
}  # fmt: skip
_LINKS: Final = frozenset({"in", "of", "de", "en", "di", "von", "aus"})
# Endings of adjectives: `*` in German, `+` in Polish.
_ENDINGS: Final = {
    "*": ("", "e", "er", "es", "en", "em"),
    "+": ("y", "a", "e", "ego", "ej", "emu", "ym", "ych", "i", "ie", "iego", "im", "ich"),
}


_MIN_LETTERS: Final = 4  # of a word of a third language: short ones mean too much else
_SHORT_WORDS: Final = frozenset({"blu", "rot"})
_MIN_LETTERS_OF_VALUE: Final = 3


class ColourOrMaterialWords(NamedTuple):
    """A colour or material: its words in English and the store's language, and in all."""

    attribute: str
    words: frozenset[str]
    all_words: frozenset[str]


@memoized(RegisteredCache.LANGUAGES)
def first_attribute_words(language: str) -> frozenset[str]:
    """Return the first word of each text of `attribute_meanings_by_word`."""
    return frozenset(text.split()[0] for text in attribute_meanings_by_word(language))


def without_excluded_attributes(text: str, language: str) -> str:
    """Return a query without the colours and materials that it excludes: "not blue".

    Others stay: titles say "without sugar". A query of nothing else stays too.
    """
    pieces = text.split()
    folded = [fold_text(piece).strip(" ,;.!?") for piece in pieces]
    negations = _NEGATIONS.get(language, _NEGATIONS["en"])
    if negations.isdisjoint(folded):
        return text
    meanings = attribute_meanings_by_word(language)
    kept: list[str] = []
    place = 0
    while place < len(pieces):
        end = place + 1
        if end < len(pieces) and folded[end] in _LINKS:
            end += 1
        if folded[place] in negations and end < len(pieces) and folded[end] in meanings:
            place = end + 1
        else:
            kept.append(pieces[place])
            place += 1
    return f"{' '.join(kept)} " if kept and len(kept) < len(pieces) else text


@memoized(RegisteredCache.LANGUAGES)
def words_that_may_mean_colours(language: str) -> frozenset[str]:
    """Return the words that may mean a colour, see `ColourOrMaterialWords`."""
    return frozenset(
        word
        for word, meanings in attribute_meanings_by_word(language).items()
        if any(meaning.attribute == COLOR for meaning in meanings)
    )


@memoized(RegisteredCache.LANGUAGES)
def attribute_meanings_by_word(
    language: str,
) -> Mapping[str, tuple[ColourOrMaterialWords, ...]]:
    """Return for each word the colours and materials that it may mean.

    English and `language` come first. A word of a third language counts if it has four
    letters or more and means one thing.
    """
    meanings_by_word: dict[str, tuple[ColourOrMaterialWords, ...]] = {}
    foreign_meanings: dict[str, set[ColourOrMaterialWords]] = {}
    for name, table in ((COLOR, _COLORS), (MATERIAL, _MATERIALS)):
        for row in zip(*(texts.split("|") for texts in table.values()), strict=True):
            by_language = dict(zip(table, map(_all_forms, row), strict=True))
            words = by_language["en"] | by_language.get(language, frozenset())
            others = frozenset[str]().union(*by_language.values()) - words
            values = {word for word in others if len(word) >= _MIN_LETTERS_OF_VALUE}
            meaning = ColourOrMaterialWords(name, words, words | values)
            for word in words:
                meanings_by_word[word] = (*meanings_by_word.get(word, ()), meaning)
            for word in others:
                foreign_meanings.setdefault(word, set()).add(meaning)
    for word, meanings in foreign_meanings.items():
        is_long = len(word) >= _MIN_LETTERS or word in _SHORT_WORDS
        if is_long and len(meanings) == 1:
            meanings_by_word.setdefault(word, tuple(meanings))
    return MappingProxyType(meanings_by_word)


def _all_forms(words: str) -> frozenset[str]:
    """Return the inflected forms of the words of a row in one language."""
    return frozenset(form for word in words.split() for form in _expand_endings(word))


def _expand_endings(word: str) -> tuple[str, ...]:
    """Return the inflected forms of a word of the tables."""
    endings = _ENDINGS.get(word[-1])
    if endings is None:
        return (word.replace("-", " "),)
    return tuple(word[:-1] + ending for ending in endings)
