"""Analysed query: a query's words, keywords and stems, and its intent."""

from dataclasses import dataclass
from typing import Self

from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.engines.text.tokenizer import query_words


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    """One analysed query; rules, index, click boosts and reports share it."""

    text: str
    language: LanguageAnalyzer
    words: tuple[str, ...]  # normalised, in order
    keywords: tuple[str, ...]  # the words without stop words
    stems: tuple[str, ...]  # of the keywords

    @classmethod
    def of(cls, text: str, language: LanguageAnalyzer) -> Self:
        """Return the analysis of `text` in `language`."""
        words = query_words(text)
        keywords = language.without_stop_words(words)
        stems = language.stems(keywords)
        return cls(text, language, tuple(words), tuple(keywords), tuple(stems))

    def in_language(self, language: LanguageAnalyzer) -> "AnalysedQuery":
        """Return this query analysed in `language`; itself if the language is the same."""
        if language.code == self.language.code:
            return self
        return AnalysedQuery.of(self.text, language)

    @property
    def intent(self) -> str:
        """The intent: the stems of a query in sorted order, joined by blanks.

        Empty for a query without words.
        """
        return " ".join(sorted(set(self.stems)))

    @property
    def is_typing(self) -> bool:
        """Whether the last word may be unfinished."""
        return not self.text.endswith(" ")
