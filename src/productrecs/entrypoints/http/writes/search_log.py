"""Search log: counts searches in memory, and stores the counts every two seconds."""

import asyncio
import contextlib
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final

from productrecs.core.clock import Clock
from productrecs.core.errors import StorageError
from productrecs.core.ids import StoreId, visitor_hash
from productrecs.engines.text.stemming import LanguageAnalyzer
from productrecs.records.searches.repository import SearchCountRepository
from productrecs.records.searches.search_counter import ObservedSearch, SearchCounter
from productrecs.records.searches.search_intents import count_by_intent
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store import Store

_log = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 2.0
LAST_FLUSH_SECONDS: Final = 3.0  # how long a stop waits for the last flush
_ID_PARAMETERS: Final = (
    "customer_id",
    "user_id",
    "session_id",
)  # the first that is present
_MAX_ID_CHARS: Final = 255
_BROWSER_HEADERS: Final = frozenset({b"x-forwarded-for", b"user-agent"})

Searcher = str | tuple[object, ...]
"""A searcher: a shopper's id, or the address and user agent of an anonymous one."""


class SearchLog:
    """Counts the searches of one process, and stores the counts."""

    def __init__(
        self, database: Database, accounts: AccountDirectory, clock: Clock
    ) -> None:
        """Start empty; days are those of `clock`, in each store's time zone."""
        self._database = database
        self._accounts = accounts
        self._clock = clock
        self.tally = SearchCounter()

    def note(self, store_id: StoreId, text: str, who: Searcher, *, is_empty: bool) -> None:
        """Record a search, of a prefix that is being typed or of a whole query."""
        shopper = visitor_hash(who) if isinstance(who, str) else None
        self.tally.note(ObservedSearch(store_id, text, is_empty, shopper), who)

    @contextlib.asynccontextmanager
    async def flush_periodically(self) -> AsyncIterator[None]:
        """Store the counts every two seconds, and the rest when the block ends."""
        keeping = asyncio.create_task(self._flush_forever())
        try:
            yield
        finally:
            keeping.cancel()
            self.tally.settle(at_once=True)
            with contextlib.suppress(TimeoutError):
                taken = self.tally.take()
                await asyncio.wait_for(
                    asyncio.to_thread(self.keep, taken), LAST_FLUSH_SECONDS
                )

    def keep(self, taken: Counter[ObservedSearch]) -> Counter[ObservedSearch]:
        """Store counts; return those that could not be stored now."""
        left: Counter[ObservedSearch] = Counter()
        by_store = defaultdict[StoreId, Counter[ObservedSearch]](Counter)
        for search, count in taken.items():
            by_store[search.store_id][search] = count
        for store_id, counts in by_store.items():
            store = self._accounts.by_id(store_id)
            if store is None:
                continue  # deleted meanwhile
            try:
                self._store(store, counts)
            except StorageError as error:
                _log.warning("search count failed", extra={"error": str(error)})
                left.update(counts)
        return left

    async def _flush_forever(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.tally.settle()
            taken = self.tally.take()
            if taken:
                try:
                    self.tally.put_back(await asyncio.to_thread(self.keep, taken))
                except Exception:
                    _log.exception("search count failed")

    def _store(self, store: Store, counts: Mapping[ObservedSearch, int]) -> None:
        language = LanguageAnalyzer(store.settings.language)
        by_intent = count_by_intent(counts, language)
        now = datetime.fromtimestamp(self._clock() / 1000, UTC)
        day = now.astimezone(store.settings.zone).date().isoformat()
        with self._database.transaction(synced=False) as transaction:
            SearchCountRepository(transaction, store.store_id).add(day, by_intent)


def searcher_of(
    address: str | None,
    headers: Iterable[tuple[bytes, bytes]],
    query: Mapping[str, str] | None,
) -> Searcher:
    """Return the searcher: the shopper that the call names, else the browser.

    Address and user agent tell searchers apart for a few seconds and are stored nowhere.
    Many shoppers may share them, as all shoppers of a shop that searches from its server.
    """
    for name in _ID_PARAMETERS:
        if query and 0 < len(named := query.get(name, "")) <= _MAX_ID_CHARS:
            return named
    return (
        address or None,
        *(value for name, value in headers if name in _BROWSER_HEADERS),
    )


def searcher_of_scope(
    scope: MutableMapping[str, Any], query: Mapping[str, str] | None
) -> Searcher:
    """Return the searcher of an ASGI scope."""
    client = scope.get("client")
    return searcher_of(client[0] if client else None, scope["headers"], query)
