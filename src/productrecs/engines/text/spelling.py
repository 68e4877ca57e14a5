"""How is a word of the index written? As the title that holds it writes it."""

import re
from collections.abc import Sequence
from typing import Final

from productrecs.engines.text.characters import folded
from productrecs.engines.text.words import is_cjk

_RUN: Final = re.compile(r"[^\W_]+(?:['\u2019./-][^\W_]+)*")


def spelled(words: Sequence[str], title: str) -> str:
    """Return folded words as `title` spells them, in small letters, blanks between."""
    seen: dict[str, str] = {}
    for run in _RUN.findall(title):
        seen.setdefault(folded(run), run.lower())
        for part in re.split(r"[^\w]|_", run):
            seen.setdefault(folded(part), part.lower())
    return " ".join(seen.get(word, word) for word in _joined(words))


def _joined(words: Sequence[str]) -> list[str]:
    """Return words in which neighbours of a text without blanks are one run again."""
    joined: list[str] = []
    for word in words:
        last = joined[-1] if joined else ""
        if is_cjk(word) and is_cjk(last) and last[-1] == word[0]:
            joined[-1] = last + word[1:]
        elif not (is_cjk(word) and last.endswith(word)):
            joined.append(word)
    return joined
