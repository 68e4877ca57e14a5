"""Highlighting: the spans of a text that match a query, and a fragment around them."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.engines.text.query_interpreter import QueryTerm
from productrecs.engines.text.tokenizer import (
    fold_text,
    indexed_words,
    is_code,
    strip_markup,
)

_RUN: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_PART: Final = re.compile(r"\S+")
_PUNCTUATION: Final = ".,;:!?()[]{}*|\"'\u201c\u201d\u201e\u00ab\u00bb"
_LINKED: Final = re.compile(r"[^\W_][-./_+&][^\W_]|\d")
_FRAGMENT: Final = 160
_CONTEXT_BEFORE: Final = 40  # maximum characters before the first match in a fragment
_MAX_READ: Final = 4_000  # characters of a long text that are searched for matches


class Span(NamedTuple):
    """A range of a text; `end` is exclusive."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Highlighter:
    """Highlights one query's matches in texts."""

    language: LanguageAnalyzer
    stems: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, slots: Iterable[QueryTerm], language: LanguageAnalyzer) -> "Highlighter":
        """Return the highlighter of a query that was interpreted as `slots`."""
        readings = [reading for slot in slots for reading in slot.readings]
        return cls(
            language,
            frozenset(stem for one in readings for stem in one.stems),
            frozenset(word for one in readings for word in one.words),
        )

    def highlighted(self, text: str) -> str | None:
        """Return `text` as HTML with the matches in <mark>; None without a match."""
        spans = self.spans(text)
        return _as_html(text, spans) if spans else None

    def fragment(self, text: str) -> str | None:
        """Return about 160 characters of `text` around the matches, as HTML.

        The text's own markup is removed. None without a match in the first 4,000
        characters.
        """
        plain_text = " ".join(strip_markup(text[:_MAX_READ]).split())
        spans = self.spans(plain_text)
        if not spans:
            return None
        start, end = _window(plain_text, spans)
        inside = [
            Span(one.start - start, one.end - start)
            for one in spans
            if one.start >= start and one.end <= end
        ]
        before, after = "\u2026" if start else "", "\u2026" if end < len(plain_text) else ""
        return before + _as_html(plain_text[start:end], inside) + after

    def spans(self, text: str) -> list[Span]:
        """Return the matching ranges of `text`, in order, without overlaps."""
        runs = [(Span(*one.span()), fold_text(one.group())) for one in _RUN.finditer(text)]
        word_spans = [(span, word) for span, word in runs if word.isalnum()]
        stems = self.language.stems([word for _, word in word_spans])
        if len(stems) != len(word_spans):
            return []
        found = [
            span
            for (span, word), stem in zip(word_spans, stems, strict=True)
            if stem in self.stems or word in self.words
        ]
        return _merged([*found, *self._codes(text)])

    def _codes(self, text: str) -> list[Span]:
        """Return matches of several tokens: "10 mm", "t-shirt", "WR-44526"."""
        parts = [Span(*one.span()) for one in _PART.finditer(text)]
        found = []
        for index, (start, end) in enumerate(parts):
            if not _LINKED.search(text, start, end):
                continue
            after = parts[index + 1].end if index + 1 < len(parts) else end
            for stop in (end, after):
                if self._is_match(text[start:stop], is_single=stop == end):
                    found.append(_without_punctuation(text, start, stop))
                    break
        return found

    def _is_match(self, part: str, *, is_single: bool) -> bool:
        words = indexed_words(part)
        if not is_single:
            words = [word for word in words[:1] if is_code(word) and not word.isdecimal()]
        single = {fold_text(one.group()) for one in _RUN.finditer(part)}
        return any(word in self.words and word not in single for word in words)


def _without_punctuation(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    left = len(part) - len(part.lstrip(_PUNCTUATION))
    return Span(start + left, start + max(len(part.rstrip(_PUNCTUATION)), left))


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for one in sorted(spans):
        if merged and one.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(one.end, merged[-1].end))
        elif one.end > one.start:
            merged.append(one)
    return merged


def _window(text: str, spans: Sequence[Span]) -> Span:
    """Return the range of a fragment: it ends at blanks and contains the most matches."""

    def match_count(first: Span) -> int:
        return sum(first.start <= one.start < first.start + _FRAGMENT for one in spans)

    first = max(spans, key=lambda one: (match_count(one), -one.start))
    start = max(0, first.start - _CONTEXT_BEFORE)
    if start:
        start = text.rfind(" ", 0, start + 1) + 1
    end = min(len(text), max(start + _FRAGMENT, first.end))
    if end < len(text):
        blank = text.rfind(" ", first.end, end)
        end = blank if blank > 0 else end
    return Span(start, end)


def _as_html(text: str, spans: Sequence[Span]) -> str:
    html_parts, at = [], 0
    for start, end in spans:
        html_parts += [html.escape(text[at:start]), "<mark>", html.escape(text[start:end])]
        html_parts.append("</mark>")
        at = end
    return "".join([*html_parts, html.escape(text[at:])])
