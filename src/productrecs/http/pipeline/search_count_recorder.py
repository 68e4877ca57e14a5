"""Search count recorder: counts searches in memory, stores counts every two seconds."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId, visitor_hash
from productrecs.engines.text.language_detection_and_stemming import LanguageAnalyzer
from productrecs.http.limits.bot_detection import SHOPPER_PARAMETERS
from productrecs.records.search_counts.repository import (
    QuestionCount,
    SearchCountRepository,
)
from productrecs.records.search_counts.search_counter import (
    ObservedSearch,
    OfferedQuestion,
    QuestionCounter,
    SearchCounter,
    count_by_intent,
)
from productrecs.serving.writes.background_writes import (
    BackgroundRecordKind,
    BackgroundWriter,
)
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

_FLUSH_EVERY: Final = 4
_MAX_ID_CHARS: Final = 255
_BROWSER_HEADERS: Final = frozenset({b"x-forwarded-for", b"user-agent"})

IS_BOT: Final = "productrecs.is_bot"
"""The key of a scope whose searches are not counted."""

_BOT: Final = ("bot",)

Searcher = str | tuple[object, ...]
"""A searcher: a shopper's id, or the address and user agent of an anonymous one."""


class CountedSearch(NamedTuple):
    """The number of searches for a text, by one known searcher or by unknown ones."""

    search: ObservedSearch
    times: int

    @property
    def key(self) -> None:
        """None: every count is added to the stored ones."""


class CountedQuestion(NamedTuple):
    """The number of questions for an attribute, all of them answered or none."""

    question: OfferedQuestion
    times: int

    @property
    def key(self) -> None:
        """None: every count is added to the stored ones."""


class SearchCountRecorder:
    """Counts the searches of one process, and stores the counts."""

    def __init__(
        self, background: BackgroundWriter, accounts: AccountDirectory, clock: Clock
    ) -> None:
        """Start empty; `clock` gives the day, in each store's time zone."""
        self._background = background
        self._accounts = accounts
        self._clock = clock
        self.tally = SearchCounter()
        kind = BackgroundRecordKind(
            "search counts", self._store_search_counts, _FLUSH_EVERY
        )
        background.register(CountedSearch, kind, self._hand_over_search_counts)
        self._questions = QuestionCounter()
        questions = BackgroundRecordKind(
            "question counts", self._store_question_counts, _FLUSH_EVERY
        )
        background.register(CountedQuestion, questions, self._hand_over_question_counts)

    def count_search_unless_bot(
        self, store_id: StoreId, query: str, searcher: Searcher, *, is_empty: bool
    ) -> None:
        """Record a search for a typed prefix or a whole query, unless it is a bot's."""
        if searcher is _BOT:
            return
        shopper = visitor_hash(searcher) if isinstance(searcher, str) else None
        self.tally.record_search(
            ObservedSearch(store_id, query, is_empty, shopper), searcher
        )

    def count_photo_search_unless_bot(self, store_id: StoreId, searcher: Searcher) -> None:
        """Record a search by photo, unless it is a bot's."""
        if searcher is not _BOT:
            self.tally.count_photo(store_id)

    def count_question_unless_bot(
        self,
        store_id: StoreId,
        query: str,
        searcher: Searcher,
        asked_kind: str,
        filter_kinds: Collection[str],
        answered_kind: str = "",
    ) -> None:
        """Record what a reply asks for, unless to a bot, and the filters of its search.

        All are kinds of filters; `asked_kind` is empty for a reply without a question,
        `answered_kind` for a search that does not say that it answers one.
        """
        if searcher is not _BOT:
            search = ObservedSearch(store_id, query, is_empty=False)
            self._questions.record_search(
                search, searcher, asked_kind, filter_kinds, answered_kind
            )

    def _hand_over_search_counts(self, is_last: bool) -> None:  # noqa: FBT001 - a source of the loop
        self.tally.count_finished_queries(at_once=is_last)
        for search, count in self.tally.take_counts().items():
            self._background.add(CountedSearch(search, count))

    def _store_search_counts(
        self, database: Database, batch: Sequence[CountedSearch]
    ) -> None:
        by_store = defaultdict[StoreId, Counter[ObservedSearch]](Counter)
        for search, count in batch:
            by_store[search.store_id][search] += count
        counts_to_add = []
        for store_id, counts in sorted(by_store.items()):
            store = self._accounts.by_id(store_id)
            if store is None:
                continue  # deleted meanwhile
            language = LanguageAnalyzer(store.settings.language)
            day = self._today_of_store(store)
            counts_to_add.append((store_id, day, count_by_intent(counts, language)))
        with database.transaction(synced=False) as transaction:
            for store_id, day, by_intent in counts_to_add:
                SearchCountRepository(transaction, store_id).add(day, by_intent)

    def _today_of_store(self, store: Store) -> str:
        now = datetime.fromtimestamp(self._clock() / 1000, UTC)
        return now.astimezone(store.settings.zone).date().isoformat()

    def _hand_over_question_counts(self, is_last: bool) -> None:  # noqa: FBT001 - a source of the loop
        for question, times in self._questions.take_counts(at_once=is_last).items():
            self._background.add(CountedQuestion(question, times))

    def _store_question_counts(
        self, database: Database, batch: Sequence[CountedQuestion]
    ) -> None:
        by_store = defaultdict[StoreId, dict[str, QuestionCount]](dict)
        for question, times in batch:
            of_store, name = by_store[question.store_id], question.attribute
            before = of_store.get(name, QuestionCount(name, 0, 0))
            answered = before.answered + times * question.is_answered
            offered = before.offered + times * (not question.is_counted_elsewhere)
            of_store[name] = QuestionCount(name, offered, answered)
        with database.transaction(synced=False) as transaction:
            for store_id, counts in sorted(by_store.items()):
                store = self._accounts.by_id(store_id)
                if store is not None:  # otherwise deleted meanwhile
                    repository = SearchCountRepository(transaction, store_id)
                    repository.add_questions(self._today_of_store(store), counts.values())


def searcher_of(
    address: str | None,
    headers: Iterable[tuple[bytes, bytes]],
    query: Mapping[str, str] | None,
) -> Searcher:
    """Return the searcher: the shopper id of the call, else the address and user agent.

    Address and user agent distinguish searchers for a few seconds and are not stored. Many
    shoppers may share them, for example when a shop searches from its server.
    """
    for name in SHOPPER_PARAMETERS:
        if query and 0 < len(shopper_id := query.get(name, "")) <= _MAX_ID_CHARS:
            return shopper_id
    return (
        address or None,
        *(value for name, value in headers if name in _BROWSER_HEADERS),
    )


def searcher_of_scope(
    scope: MutableMapping[str, Any], query: Mapping[str, str] | None
) -> Searcher:
    """Return the searcher of an ASGI scope."""
    if IS_BOT in scope:
        return _BOT
    client = scope.get("client")
    return searcher_of(client[0] if client else None, scope["headers"], query)
