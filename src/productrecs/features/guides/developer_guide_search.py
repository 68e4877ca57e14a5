"""Developer guide search: sections by BM25, with synonyms of the field."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from productrecs.features.guides.developer_guide_index import GUIDES, Guide
from productrecs.features.guides.developer_guide_rendering import GuideTexts

_WORD: Final = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_HEADING: Final = re.compile(r"^(#{1,3}) (.+)$")
_SPACE: Final = re.compile(r"\s+")
_LONGEST: Final = 1_000
_SNIPPET: Final = 240
_HEADING_WEIGHT: Final = 4  # a word of the heading counts more than one of the text
# Synonyms: terms of the field, and the words that our guides use for them.
SYNONYMS: Final = {
    "a/b test": "tests variant holdout",
    "ab test": "tests variant holdout",
    "split test": "tests variant holdout",
    "experiment": "tests variant holdout",
    "merchandising": "rules exclude boost bury pin",
    "layout shift": "widgets place space reserve",
    "cls": "widgets place space reserve",
    "excel": "xlsx workbook csv file",
    "spreadsheet": "xlsx workbook csv file",
    "gdpr": "privacy erase consent",
    "bestseller": "trending",
    "upsell": "recommendations bought together",
    "cross-sell": "recommendations bought together",
    "conversion": "reports attribution",
    "roi": "reports attribution revenue",
    "analytics": "reports attribution",
    "autocomplete": "search suggest",
    "typo": "search mistakes",
    "visual search": "pictures photo",
    "token": "key secret",
    "headless": "frameworks headless api",
    "next.js": "react frameworks",
    "nuxt": "vue frameworks",
    "svelte": "frameworks element",
    "container": "docker image",
    "kubernetes": "docker replicas",
    "wordpress": "woocommerce",
    "adobe commerce": "magento",
    "replenishment": "demand order stock",
    "ai assistant": "language models mcp",
}
_SYNONYM_WEIGHT: Final = 0.6  # of a synonym of a query word
_K, _B = 1.2, 0.6  # the usual k1; b is lower because sections are short


@dataclass(frozen=True, slots=True)
class GuideSection:
    """A part of a guide below one heading."""

    guide: Guide
    heading: str
    text: str


class GuideSearch:
    """Finds sections by their words.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond.
    """

    def __init__(self, library: GuideTexts) -> None:
        """Read all guides."""
        self._sections = [s for guide in GUIDES for s in guide_sections(guide, library)]
        self._words = [_weighted_word_counts(section) for section in self._sections]
        self._lengths = [sum(words.values()) for words in self._words]
        self._mean = sum(self._lengths) / len(self._lengths)
        self._section_counts = Counter(word for words in self._words for word in words)

    def find(self, query: str, limit: int) -> list[GuideSection]:
        """Return up to `limit` sections that contain a word of `query`, best first."""
        term_weights = dict.fromkeys(_synonym_terms(query), _SYNONYM_WEIGHT)
        term_weights |= dict.fromkeys(_normalized_words(query), 1.0)
        scored = [
            (self._bm25_score(term_weights, at), -at) for at in range(len(self._sections))
        ]
        best = sorted((pair for pair in scored if pair[0] > 0), reverse=True)[:limit]
        return [self._sections[-at] for _, at in best]

    def _bm25_score(self, term_weights: Mapping[str, float], section_index: int) -> float:
        words, total = self._words[section_index], len(self._sections)
        damping = _K * (1 - _B + _B * self._lengths[section_index] / self._mean)
        score = 0.0
        for word in term_weights.keys() & words.keys():
            count = self._section_counts[word]
            rare = math.log(1 + (total - count + 0.5) / (count + 0.5))
            term_frequency = words[word] * (_K + 1) / (words[word] + damping)
            score += term_weights[word] * rare * term_frequency
        return score


def guide_sections(guide: Guide, library: GuideTexts) -> list[GuideSection]:
    """Return a guide split at its headings; a # within a code block is not a heading."""
    sections: list[GuideSection] = []
    lines: list[str] = []
    heading, is_code = guide.title, False
    for line in library.markdown_with_facts(guide.slug).splitlines():
        if line.startswith("```"):
            is_code = not is_code
        match = None if is_code else _HEADING.match(line)
        if match:
            sections.append(GuideSection(guide, heading, "\n".join(lines).strip()))
            heading, lines = match.group(2), []
        else:
            lines.append(line)
    sections.append(GuideSection(guide, heading, "\n".join(lines).strip()))
    return [section for section in sections if section.text]


def best_matching_line(section: GuideSection, query: str) -> str:
    """Return the line of a section that matches most of the query, else its first line."""
    term_weights = {*_normalized_words(query), *_synonym_terms(query)}
    lines = [line for line in section.text.splitlines() if not line.startswith("```")]
    best = max(
        lines, key=lambda line: len(term_weights & set(_normalized_words(line))), default=""
    )
    return best[:_SNIPPET]


def _synonym_terms(query: str) -> list[str]:
    """Return the synonyms that guides use for the query's terms."""
    simplified = " ".join(_SPACE.split(query[:_LONGEST].lower()))
    synonym_words = (words for term, words in SYNONYMS.items() if _is_in(term, simplified))
    return [word for words in synonym_words for word in _normalized_words(words)]


def _is_in(term: str, simplified: str) -> bool:
    return re.search(rf"\b{re.escape(term)}(s|ing)?\b", simplified) is not None


def _weighted_word_counts(section: GuideSection) -> Counter[str]:
    words = Counter(_normalized_words(section.text))
    for word in _normalized_words(f"{section.guide.title} {section.heading}"):
        words[word] += _HEADING_WEIGHT
    return words


def _normalized_words(text: str) -> Sequence[str]:
    """Return the words of a text in singular form; codes both whole and in parts."""
    tokens = []
    for word in _WORD.findall(text[:100_000].lower()):
        parts = [word, *word.split("_")] if "_" in word else [word]
        tokens += [part.removesuffix("s") if len(part) > 3 else part for part in parts]  # noqa: PLR2004 - "is"
    return tokens
