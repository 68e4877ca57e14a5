"""How is a word of the index written? As the title that holds it writes it."""

import re
from collections.abc import Sequence
from typing import Final

from productrecs.engines.text.characters import folded

_RUN: Final = re.compile(r"[^\W_]+(?:['\u2019./-][^\W_]+)*")


def spelled(words: Sequence[str], title: str) -> str:
    """Return folded words as `title` spells them, in small letters, blanks between."""
    seen: dict[str, str] = {}
    for run in _RUN.findall(title):
        seen.setdefault(folded(run), run.lower())
        for part in re.split(r"[^\w]|_", run):
            seen.setdefault(folded(part), part.lower())
    return " ".join(seen.get(word, word) for word in words)
