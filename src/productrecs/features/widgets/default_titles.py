"""Default titles of widgets, by type and language."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_FALLBACK: Final = "en"
_TYPES: Final = ("recs", "fbt", "cart", "trending", "search", "look")

# By language, in the order of `_TYPES`.
_TITLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "en": (
            "You may also like",
            "Frequently bought together",
            "Complete your order",
            "Trending now",
            "Search",
            "Shop the look",
        ),
        "de": (
            "Das könnte Ihnen auch gefallen",
            "Wird oft zusammen gekauft",
            "Das passt zu Ihrem Warenkorb",
            "Gerade beliebt",
            "Suche",
            "Shop the Look",
        ),
        "fr": (
            "Vous aimerez aussi",
            "Souvent achetés ensemble",
            "Complétez votre panier",
            "Tendances du moment",
            "Recherche",
            "Adoptez le look",
        ),
        "es": (
            "También te puede gustar",
            "Comprados juntos habitualmente",
            "Completa tu compra",
            "Lo más popular",
            "Buscar",
            "Compra el look",
        ),
        "it": (
            "Potrebbe interessarti anche",
            "Spesso comprati insieme",
            "Completa il tuo ordine",
            "Di tendenza ora",
            "Cerca",
            "Acquista il look",
        ),
        "nl": (
            "Misschien vind je dit ook leuk",
            "Vaak samen gekocht",
            "Maak je bestelling compleet",
            "Nu populair",
            "Zoeken",
            "Shop de look",
        ),
        "pl": (
            "Może Ci się spodobać",
            "Często kupowane razem",
            "Uzupełnij swoje zamówienie",
            "Teraz popularne",
            "Szukaj",
            "Kup ten look",
        ),
        "pt": (
            "Você também pode gostar",
            "Frequentemente comprados juntos",
            "Complete sua compra",
            "Em alta agora",
            "Buscar",
            "Compre o look",
        ),
        "sv": (
            "Du kanske också gillar",
            "Köps ofta tillsammans",
            "Komplettera din beställning",
            "Populärt just nu",
            "Sök",
            "Shoppa looken",
        ),
        "da": (
            "Du vil måske også kunne lide",
            "Købes ofte sammen",
            "Gør din ordre komplet",
            "Populært lige nu",
            "Søg",
            "Shop looket",
        ),
        "cs": (
            "Mohlo by se vám líbit",
            "Často kupováno společně",
            "Doplňte svou objednávku",
            "Právě populární",
            "Hledat",
            "Nakupte celý look",
        ),
        "ja": (
            "こちらもおすすめ",
            "よく一緒に購入されている商品",
            "ご一緒にいかがですか",
            "人気の商品",
            "検索",
            "このコーディネートを買う",
        ),
        "ar": (
            "قد يعجبك أيضًا",
            "غالبًا ما يُشترى معًا",
            "أكمل طلبك",
            "الأكثر رواجًا الآن",
            "بحث",
            "تسوّق الإطلالة",
        ),
    }
)


def default_title(widget_type: str, locale: str) -> str:
    """Return the title of a widget type in the language of `locale`, else in English.

    An unknown type has the title of `recs`.
    """
    language = locale.partition("-")[0].lower()
    titles = _TITLES.get(language, _TITLES[_FALLBACK])
    shown_type = widget_type if widget_type in _TYPES else _TYPES[0]
    return titles[_TYPES.index(shown_type)]
