"""Search counts: debounces queries during typing, counts them by intent and day.

Questions that narrow results are counted beside them.

While a shopper types, every letter sends a query. A query counts as a search once its
results are shown for a few seconds; a repeat within two minutes is not another search. The
shopper's id is dropped afterwards.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Final, NamedTuple

from productrecs.core.ids import StoreId
from productrecs.engines.text.analysed_query import (
    AnalysedQuery,
)
from productrecs.engines.text.language_detection_and_stemming import (
    LanguageAnalyzer,
)
from productrecs.records.search_counts.repository import (
    OTHER_INTENTS,
    PHOTO_SEARCHES,
    SearchCount,
)

DEBOUNCE_SECONDS: Final = 3.0
REPEAT_SECONDS: Final = 120.0
MAX_TYPING: Final = 20_000
MAX_WAITING: Final = 20_000
_MIN_LETTERS: Final = 3  # letters; shorter queries are usually unfinished
_LONGEST: Final = 100
"""Characters of a query that are compared and reported; the rest is truncated."""


class ObservedSearch(NamedTuple):
    """One query in a store, and whether it had results."""

    store_id: StoreId
    text: str
    is_empty: bool
    shopper: int | None = None  # `visitor_hash` of the named shopper


class _TypedQuery(NamedTuple):
    search: ObservedSearch
    at: float
    is_counted: bool


_SearcherKey = tuple[StoreId, Hashable]


class SearchCounter:
    """The searches of one process; `count` never blocks and never raises."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start empty; `seconds` is a monotonic clock."""
        self._seconds = seconds
        self._typing: OrderedDict[_SearcherKey, _TypedQuery] = OrderedDict()  # oldest first
        self._counted: Counter[ObservedSearch] = Counter()
        self.lost = 0  # searches not counted because the buffer was full

    def record_search(self, search: ObservedSearch, searcher: Hashable) -> None:
        """Record a query; a partial one counts only if it is not continued."""
        search = search._replace(text=_counted_text(search.text))
        now, key = self._seconds(), (search.store_id, searcher)
        before = self._typing.pop(key, None)
        is_counted = False
        if before is not None:
            is_typing = _is_typing(before, search, now)
            is_counted = not is_typing and _is_repeat(before, search, now)
            if not is_typing:
                self._count(before)
        self._typing[key] = _TypedQuery(search, now, is_counted)
        if len(self._typing) > MAX_TYPING:
            self._count(self._typing.popitem(last=False)[1])

    def count_photo(self, store_id: StoreId) -> None:
        """Record a search by photo."""
        self._add(ObservedSearch(store_id, PHOTO_SEARCHES, is_empty=False), 1)

    def count_finished_queries(self, *, at_once: bool = False) -> None:
        """Count queries that stayed unchanged long enough, and drop idle shoppers."""
        now = self._seconds()
        for key, typed in list(self._typing.items()):
            age = now - typed.at
            if age < DEBOUNCE_SECONDS and not at_once:
                break
            if typed.is_counted and age < REPEAT_SECONDS and not at_once:
                continue
            self._count(typed)
            if age >= REPEAT_SECONDS or at_once:
                del self._typing[key]
            else:
                self._typing[key] = typed._replace(is_counted=True)

    def take_counts(self) -> Counter[ObservedSearch]:
        """Return the counts since the last call, and empty the buffer."""
        counts, self._counted = self._counted, Counter()
        return counts

    def put_back(self, counts: Counter[ObservedSearch]) -> None:
        """Return counts that could not be stored to the buffer, up to its limit."""
        for search, count in counts.items():
            self._add(search, count)

    def _count(self, typed: _TypedQuery) -> None:
        if not typed.is_counted:
            self._add(typed.search, 1)

    def _add(self, search: ObservedSearch, count: int) -> None:
        if search not in self._counted and len(self._counted) >= MAX_WAITING:
            self.lost += count
            return
        self._counted[search] += count


def _is_repeat(before: _TypedQuery, search: ObservedSearch, now: float) -> bool:
    """Return whether this is the same search again, such as its results page."""
    return before.search.text == search.text and now - before.at < REPEAT_SECONDS


def _is_typing(before: _TypedQuery, search: ObservedSearch, now: float) -> bool:
    """Return whether `before` was the same query, partially typed."""
    one, other = before.search.text, search.text
    is_step = one.startswith(other) or other.startswith(one) or len(one) < _MIN_LETTERS
    return is_step and not before.is_counted and now - before.at < DEBOUNCE_SECONDS


class OfferedQuestion(NamedTuple):
    """A question for an attribute that a shopper saw, and whether they answered it."""

    store_id: StoreId
    attribute: str  # the kind of filter of an answer
    is_answered: bool
    is_counted_elsewhere: bool = False  # as seen, by the process that asked


class _ShownQuestion(NamedTuple):
    text: str  # of the search
    attribute: str
    at: float


class QuestionCounter:
    """Counts the questions that shoppers saw and answered.

    A question was seen if its results stayed for some seconds, or if it was answered. The
    answer is the same shopper's next search for the same text, filtered by the attribute.
    Where another process asked, the search says which question it answers; that process
    counts that the question was seen.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        """Start empty; `seconds` is a monotonic clock."""
        self._seconds = seconds
        self._shown: OrderedDict[_SearcherKey, _ShownQuestion] = (
            OrderedDict()
        )  # oldest first
        self._counted: Counter[OfferedQuestion] = Counter()

    def record_search(
        self,
        search: ObservedSearch,
        searcher: Hashable,
        asked: str,
        filtered: Collection[str],
        answered: str = "",
    ) -> None:
        """Record a search with filters of the kinds `filtered`, and what its reply asks.

        `answered` is the kind of the question that it says it answers.
        """
        key, text = (search.store_id, searcher), _counted_text(search.text)
        before = self._shown.pop(key, None)
        shown = _ShownQuestion(text, asked, self._seconds())
        is_answered = False
        if before is not None:
            is_answered = before.text == text and before.attribute in filtered
            if not is_answered and before[:2] == shown[:2]:
                shown = before  # the same results again
            else:
                self._count_if_seen(key[0], before, is_answered=is_answered)
        if answered in filtered and not is_answered:
            self._add(
                OfferedQuestion(
                    key[0], answered, is_answered=True, is_counted_elsewhere=True
                )
            )
        if asked:
            self._shown[key] = shown
            if len(self._shown) > MAX_TYPING:
                (store_id, _), oldest = self._shown.popitem(last=False)
                self._count_if_seen(store_id, oldest)

    def take_counts(self, *, at_once: bool = False) -> Counter[OfferedQuestion]:
        """Return the counts since the last call; `at_once` does not wait for answers."""
        now = self._seconds()
        for key, shown in list(self._shown.items()):
            if now - shown.at < REPEAT_SECONDS and not at_once:
                break
            del self._shown[key]
            self._count_if_seen(key[0], shown)
        counts, self._counted = self._counted, Counter()
        return counts

    def _count_if_seen(
        self, store_id: StoreId, shown: _ShownQuestion, *, is_answered: bool = False
    ) -> None:
        if is_answered or self._seconds() - shown.at >= DEBOUNCE_SECONDS:
            self._add(OfferedQuestion(store_id, shown.attribute, is_answered))

    def _add(self, question: OfferedQuestion) -> None:
        if question in self._counted or len(self._counted) < MAX_WAITING:
            self._counted[question] += 1


MAX_INTENT: Final = 256
"""The most characters of an intent that are kept."""


def search_intent(text: str, language: LanguageAnalyzer) -> str:
    """Return the intent by which a query is counted, for its searches and its clicks.

    All queries with an e-mail address share one: they are personal data.
    """
    counted = _counted_text(text)
    if "@" in counted:
        return OTHER_INTENTS
    return AnalysedQuery.of(counted, language).intent[:MAX_INTENT]


def _counted_text(text: str) -> str:
    return " ".join(text.split())[:_LONGEST].lower()


def count_by_intent(
    searches: Mapping[ObservedSearch, int], language: LanguageAnalyzer
) -> dict[str, SearchCount]:
    """Return counts by intent, with the shoppers."""
    by_intent: dict[str, SearchCount] = {}
    for search, times in searches.items():
        is_photo = search.text == PHOTO_SEARCHES
        intent = PHOTO_SEARCHES if is_photo else search_intent(search.text, language)
        text = search.text if intent else ""  # of a shared intent none is reported
        shopper_set = (
            frozenset[int]() if search.shopper is None else frozenset((search.shopper,))
        )
        count = SearchCount(
            text,
            searches=times,
            empty=times if search.is_empty else 0,
            unnamed=0 if shopper_set else times,
            shoppers=shopper_set,
        )
        earlier_count = by_intent.get(intent)
        by_intent[intent] = count if earlier_count is None else earlier_count.plus(count)
    return by_intent
