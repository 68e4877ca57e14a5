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
_MAX_CHARACTERS: Final = 4_000  # characters of a long text that are searched for matches


class TextSpan(NamedTuple):
    """A range of a text; `end` is exclusive."""

    start: int
    end: int

    def overlaps(self, other: "TextSpan") -> bool:
        """Return whether the ranges share a character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Highlighter:
    """Highlights one query's matches in texts."""

    language: LanguageAnalyzer
    stems: frozenset[str]
    words: frozenset[str]

    @classmethod
    def for_terms(
        cls, terms: Iterable[QueryTerm], language: LanguageAnalyzer
    ) -> "Highlighter":
        """Return the highlighter of a query that was interpreted as `terms`."""
        readings = [reading for term in terms for reading in term.readings]
        return cls(
            language,
            frozenset(stem for reading in readings for stem in reading.stems),
            frozenset(word for reading in readings for word in reading.words),
        )

    def highlight(self, text: str) -> str | None:
        """Return `text` as HTML with the matches in <mark>; None without a match."""
        spans = self.match_spans(text)
        return _as_html(text, spans) if spans else None

    def highlighted_fragment(self, text: str) -> str | None:
        """Return about 160 characters of `text` around the matches, as HTML.

        The text's own markup is removed. None without a match in the first 4,000
        characters.
        """
        plain_text = " ".join(strip_markup(text[:_MAX_CHARACTERS]).split())
        spans = self.match_spans(plain_text)
        if not spans:
            return None
        start, end = _fragment_range(plain_text, spans)
        fragment_spans = [
            TextSpan(span.start - start, span.end - start)
            for span in spans
            if span.start >= start and span.end <= end
        ]
        before, after = "\u2026" if start else "", "\u2026" if end < len(plain_text) else ""
        return before + _as_html(plain_text[start:end], fragment_spans) + after

    def match_spans(self, text: str) -> list[TextSpan]:
        """Return the matching ranges of `text`, in order, without overlaps."""
        runs = [
            (TextSpan(*match.span()), fold_text(match.group()))
            for match in _RUN.finditer(text)
        ]
        word_spans = [(span, word) for span, word in runs if word.isalnum()]
        stems = self.language.stems([word for _, word in word_spans])
        if len(stems) != len(word_spans):
            return []
        matches = [
            span
            for (span, word), stem in zip(word_spans, stems, strict=True)
            if stem in self.stems or word in self.words
        ]
        return _merge_spans([*matches, *self._code_spans(text)])

    def _code_spans(self, text: str) -> list[TextSpan]:
        """Return matches of several tokens: "10 mm", "t-shirt", "WR-44526"."""
        parts = [TextSpan(*match.span()) for match in _PART.finditer(text)]
        matches = []
        for index, (start, end) in enumerate(parts):
            if not _LINKED.search(text, start, end):
                continue
            after = parts[index + 1].end if index + 1 < len(parts) else end
            for stop in (end, after):
                if self._is_code_match(text[start:stop], is_single=stop == end):
                    matches.append(_trim_punctuation(text, start, stop))
                    break
        return matches

    def _is_code_match(self, part: str, *, is_single: bool) -> bool:
        words = indexed_words(part)
        if not is_single:
            words = [word for word in words[:1] if is_code(word) and not word.isdecimal()]
        single_words = {fold_text(match.group()) for match in _RUN.finditer(part)}
        return any(word in self.words and word not in single_words for word in words)


def _trim_punctuation(text: str, start: int, end: int) -> TextSpan:
    part = text[start:end]
    left = len(part) - len(part.lstrip(_PUNCTUATION))
    return TextSpan(start + left, start + max(len(part.rstrip(_PUNCTUATION)), left))


def _merge_spans(spans: Sequence[TextSpan]) -> list[TextSpan]:
    merged: list[TextSpan] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = TextSpan(merged[-1].start, max(span.end, merged[-1].end))
        elif span.end > span.start:
            merged.append(span)
    return merged


def _fragment_range(text: str, spans: Sequence[TextSpan]) -> TextSpan:
    """Return the range of a fragment: it ends at blanks and contains the most matches."""

    def match_count(first: TextSpan) -> int:
        return sum(first.start <= span.start < first.start + _FRAGMENT for span in spans)

    first = max(spans, key=lambda span: (match_count(span), -span.start))
    start = max(0, first.start - _CONTEXT_BEFORE)
    if start:
        start = text.rfind(" ", 0, start + 1) + 1
    end = min(len(text), max(start + _FRAGMENT, first.end))
    if end < len(text):
        blank = text.rfind(" ", first.end, end)
        end = blank if blank > 0 else end
    return TextSpan(start, end)


def _as_html(text: str, spans: Sequence[TextSpan]) -> str:
    html_parts, at = [], 0
    for start, end in spans:
        html_parts += [html.escape(text[at:start]), "<mark>", html.escape(text[start:end])]
        html_parts.append("</mark>")
        at = end
    return "".join([*html_parts, html.escape(text[at:])])
