"""Widget settings: names, types, bounds and default titles.

Other keys belong to a theme: they are stored and returned unchanged.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from types import MappingProxyType
from typing import Final

from productrecs.features.widgets.price_format import choose_price_locale, sample_price
from productrecs.tenancy.accounts.store_settings import StoreSettings

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


_WORDS_FILE: Final = resources.files(__package__) / "words.json"
_BY_LANGUAGE: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = json.loads(
    _WORDS_FILE.read_text("utf-8")
)
# The parts of each widget type; every other type is a list of products.
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "search": ("photo", "search"),
    "look": ("list", "photo", "look"),
}
_LIST: Final = ("list",)
LANGUAGES: Final = tuple(_BY_LANGUAGE)


def widget_texts(widget_type: str, locale: str) -> dict[str, str]:
    """Return a widget type's texts in the language of `locale`, else in English."""
    parts = _BY_LANGUAGE.get(locale_language(locale), _BY_LANGUAGE[_FALLBACK])
    return {
        name: word
        for part in _PARTS.get(widget_type, _LIST)
        for name, word in parts[part].items()
    }


def locale_language(locale: str) -> str:
    """Return the language of a locale, in lower case."""
    return locale.replace("_", "-").partition("-")[0].lower()


DEFAULT_TYPE: Final = "recs"
_NO_SETTINGS: Final[Mapping[str, object]] = MappingProxyType({})


class WidgetSettingType(StrEnum):
    """The type of a setting's value."""

    TEXT = "text"
    COLOUR = "colour"  # of CSS
    NAME = "name"  # a short identifier for a stylesheet or script
    WHOLE = "whole"
    SWITCH = "switch"
    CURRENCY = "currency"
    LOCALE = "locale"
    TEXTS = "texts"  # an object of texts by name


@dataclass(frozen=True, slots=True)
class WidgetSetting:
    """One setting: its kind, its bounds, the source of its default, and its meaning.

    `minimum` and `maximum` bound an integer; `maximum` also bounds the characters of a
    text.
    """

    name: str
    kind: WidgetSettingType
    meaning: str
    default: object = None
    by_type: Mapping[str, object] = field(default_factory=lambda: _NO_SETTINGS)
    of_store: str | None = None  # the store setting that supplies the default
    minimum: int = 0
    maximum: int = 0


_LAYOUTS: Final = MappingProxyType({"fbt": "fbt", "search": "list", "look": "grid"})
_ONE_COLUMN: Final = MappingProxyType({"search": 1})
_MAX_PIXELS: Final = 64

WIDGET_SETTINGS: Final[tuple[WidgetSetting, ...]] = (
    WidgetSetting(
        "layout",
        WidgetSettingType.NAME,
        "carousel, grid, list or fbt (main product, add-ons and their sum); any other "
        "name belongs to a theme and is drawn as the type's default",
        "carousel",
        by_type=_LAYOUTS,
    ),
    WidgetSetting(
        "title",
        WidgetSettingType.TEXT,
        'the heading above the products, "" for none; by default a text for the type '
        "in the language of `locale`",
        maximum=200,
    ),
    WidgetSetting(
        "columns",
        WidgetSettingType.WHOLE,
        "how many products are side by side on a wide screen",
        4,
        by_type=_ONE_COLUMN,
        minimum=1,
        maximum=12,
    ),
    WidgetSetting(
        "columns_mobile",
        WidgetSettingType.WHOLE,
        "how many products are side by side on a narrow screen",
        2,
        by_type=_ONE_COLUMN,
        minimum=1,
        maximum=6,
    ),
    WidgetSetting(
        "num",
        WidgetSettingType.WHOLE,
        "how many products the widget requests",
        by_type=MappingProxyType({"search": 8}),
        of_store="rec_num",
        minimum=1,
        maximum=20,
    ),
    WidgetSetting(
        "currency",
        WidgetSettingType.CURRENCY,
        "the currency of prices",
        of_store="currency",
    ),
    WidgetSetting(
        "locale",
        WidgetSettingType.LOCALE,
        "the language and region in which prices and texts are written",
        of_store="language",
    ),
    WidgetSetting(
        "theme",
        WidgetSettingType.NAME,
        "auto (follows the page and the shopper's device), light or dark",
        "auto",
    ),
    WidgetSetting(
        "accent_color",
        WidgetSettingType.COLOUR,
        "a CSS colour for buttons and links; null uses the page's own",
        maximum=64,
    ),
    WidgetSetting(
        "corner_radius",
        WidgetSettingType.WHOLE,
        "the radius of corners, in pixels",
        8,
        maximum=_MAX_PIXELS,
    ),
    WidgetSetting(
        "gap",
        WidgetSettingType.WHOLE,
        "the space between products, in pixels",
        16,
        maximum=_MAX_PIXELS,
    ),
    WidgetSetting(
        "image_ratio",
        WidgetSettingType.TEXT,
        "the aspect ratio of pictures, as in CSS",
        "1 / 1",
        maximum=32,
    ),
    WidgetSetting(
        "image_fit",
        WidgetSettingType.NAME,
        "cover (fills the frame) or contain (shows the whole picture)",
        "cover",
    ),
    WidgetSetting(
        "show_price", WidgetSettingType.SWITCH, "whether prices are shown", default=True
    ),
    WidgetSetting(
        "show_add_to_cart",
        WidgetSettingType.SWITCH,
        "whether each product has an add-to-cart button",
        default=False,
        by_type=MappingProxyType({"fbt": True, "cart": True}),
    ),
    WidgetSetting(
        "open_in_new_tab",
        WidgetSettingType.SWITCH,
        "whether a product's page opens in a new tab",
        default=False,
    ),
    WidgetSetting(
        "badges",
        WidgetSettingType.TEXTS,
        "a badge on the pictures of a source's products, by the source of the reply: "
        '`{"trending": "Popular"}`',
        {},
        maximum=40,
    ),
    WidgetSetting(
        "strings",
        WidgetSettingType.TEXTS,
        "texts that replace the widget's own, by name; `/v1/widget-config` lists them "
        "all. `price` is the pattern for 1234: `1.234,00 €`",
        {},
        maximum=200,
    ),
)
BY_NAME: Final[Mapping[str, WidgetSetting]] = MappingProxyType(
    {setting.name: setting for setting in WIDGET_SETTINGS}
)


def resolve_widget_settings(
    widget_type: str, chosen: Mapping[str, object], store: StoreSettings, lang: str = ""
) -> dict[str, object]:
    """Return every setting of a widget: the saved value, else its default.

    Known settings come first, in the order of `WIDGET_SETTINGS`, then a theme's own.
    Texts are in the page's language `lang` if supported, else in that of `locale`; one
    of them is the price pattern, where known: the store's own, else the language's.
    """
    settings = {
        setting.name: chosen.get(setting.name, _default_value(setting, widget_type, store))
        for setting in WIDGET_SETTINGS
    }
    text_language = lang if locale_language(lang) in LANGUAGES else str(settings["locale"])
    if "title" not in chosen:
        settings["title"] = default_title(widget_type, text_language)
    words = widget_texts(widget_type, text_language)
    currency = str(settings["currency"])
    price = sample_price(choose_price_locale(lang, str(settings["locale"])), currency)
    if store.price_format and currency == store.currency:
        price = store.price_format
    if price is not None:
        words["price"] = price
    own = chosen.get("strings")
    if isinstance(own, dict):
        words |= own
    return settings | dict(chosen) | {"strings": words}


def _default_value(
    setting: WidgetSetting, widget_type: str, store: StoreSettings
) -> object:
    if widget_type in setting.by_type:
        return setting.by_type[widget_type]
    if setting.of_store is not None:
        value: object = getattr(store, setting.of_store)
        return value
    return setting.default
