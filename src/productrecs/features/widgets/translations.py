"""Translations of the words that widgets show by themselves.

`words.json` beside this file holds them by language, then by part of a widget. The
merchant's own `strings` replace words one by one. The widget fills in letters in braces.
"""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Final

_FALLBACK: Final = "en"
_FILE: Final = resources.files(__package__) / "words.json"
_BY_LANGUAGE: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = json.loads(
    _FILE.read_text("utf-8")
)
# Which parts a type of widget has; every other type is a list of products.
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "search": ("photo", "search"),
    "look": ("list", "photo", "look"),
}
_LIST: Final = ("list",)
LANGUAGES: Final = tuple(_BY_LANGUAGE)


def translations(widget_type: str, locale: str) -> dict[str, str]:
    """Return the words of a type of widget in the language of `locale`, else in English."""
    parts = _BY_LANGUAGE.get(locale_language(locale), _BY_LANGUAGE[_FALLBACK])
    return {
        name: word
        for part in _PARTS.get(widget_type, _LIST)
        for name, word in parts[part].items()
    }


def locale_language(locale: str) -> str:
    """Return the language of a locale, in small letters."""
    return locale.replace("_", "-").partition("-")[0].lower()
