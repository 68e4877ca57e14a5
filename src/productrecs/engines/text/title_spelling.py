"""Title spelling: shows indexed words as the product's title writes them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from productrecs.engines.text.tokenizer import fold_text, is_cjk, is_code

_RUN: Final = re.compile(r"[^\W_]+(?:['\u2019./-][^\W_]+)*")
_BREAK: Final = re.compile(r"[^\w]|_")


def spelled_as_title(words: Sequence[str], title: str, typed: str = "") -> str | None:
    """Return folded words in the spelling of `title`, in lower case, joined by blanks.

    Joined words ("tshirt") get their hyphen back ("t-shirt"), as do split ones. Bigrams of
    a text without blanks form one run again. None if a word is a size or code that neither
    the title nor `typed` spells ("750ml" for "0,75 l").
    """
    folded = fold_text(typed)
    spellings: dict[str, str] = {}
    linked: dict[tuple[str, ...], str] = {}
    runs = _RUN.findall(title)
    for run in runs:
        spellings.setdefault(fold_text(run), run.lower())
        parts = _BREAK.split(run)
        for part in parts:
            spellings.setdefault(fold_text(part), part.lower())
        folded_parts = tuple(map(fold_text, parts))
        spellings.setdefault("".join(folded_parts), run.lower())
        linked.setdefault(folded_parts, run.lower())
    for one, two in pairwise(runs):
        spellings.setdefault(fold_text(one + two), f"{one} {two}".lower())
    texts: list[str] = []
    remaining = _joined(words)
    while remaining:
        consumed = 2 if tuple(remaining[:2]) in linked else 1
        one = linked.get(tuple(remaining[:consumed])) or spellings.get(remaining[0])
        one = one or _cut_out(remaining[0], title)
        if one is None and is_code(remaining[0]) and remaining[0] not in folded:
            return None
        texts.append(one or remaining[0])
        remaining = remaining[consumed:]
    return " ".join(texts)


def _cut_out(word: str, title: str) -> str | None:
    """Return the part of a title that matches a run without blanks."""
    if not is_cjk(word):
        return None
    folded_parts = [fold_text(one) for one in title]
    start = "".join(folded_parts).find(word)
    if start < 0:
        return None
    # maps each folded character to its position in the title
    origin = [at for at, one in enumerate(folded_parts) for _ in one]
    return title[origin[start] : origin[start + len(word) - 1] + 1]


def _joined(words: Sequence[str]) -> list[str]:
    """Return words with the bigrams of a text without blanks merged into runs."""
    joined: list[str] = []
    for word in words:
        last = joined[-1] if joined else ""
        if is_cjk(word) and is_cjk(last) and last[-1] == word[0]:
            joined[-1] = last + word[1:]
        else:
            joined.append(word)
    return joined
