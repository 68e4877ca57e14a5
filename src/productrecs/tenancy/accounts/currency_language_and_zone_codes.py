"""Known codes: currencies (ISO 4217), languages and regions (BCP 47), time zones (IANA)."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from zoneinfo import available_timezones

from productrecs.core.cache_registry import RegisteredCache, memoized

_NEAR = 3
_SIMILARITY = 0.5


@dataclass(frozen=True, slots=True)
class KnownLocaleCodes:
    """Each code with its English name."""

    currencies: Mapping[str, str]
    languages: Mapping[str, str]
    regions: frozenset[str]
    timezones: frozenset[str]

    def language_name(self, tag: str) -> str:
        """Return the name of a language tag, such as `German (CH)` for de-CH."""
        language, _, region = tag.partition("-")
        name = self.languages.get(language, language)
        return f"{name} ({region})" if region else name


@memoized(RegisteredCache.CONSTANTS)
def known_codes() -> KnownLocaleCodes:
    """Return the codes; read once."""
    file = resources.files(__package__) / "known_codes.json"
    stored = json.loads(file.read_text("utf-8"))
    return KnownLocaleCodes(
        stored["currencies"],
        stored["languages"],
        frozenset(stored["regions"]),
        frozenset(available_timezones()),
    )


def suggest_nearest_codes(text: str, names: Mapping[str, str]) -> str:
    """Return which codes `text` may mean, as the end of a sentence; "" if none is near."""
    words = {name.lower(): code for code, name in names.items()}
    words |= {code.lower(): code for code in names}
    words |= {code.lower().rpartition("/")[2]: code for code in names}
    near = difflib.get_close_matches(text.strip().lower(), words, _NEAR, _SIMILARITY)
    codes = dict.fromkeys(words[word] for word in near)
    said = [code if names[code] == code else f"{code} ({names[code]})" for code in codes]
    return f"; the nearest: {', '.join(said)}" if said else ""
