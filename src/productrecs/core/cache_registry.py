"""Caches: all caches of the service, with their bounds and their invalidation rules.

Every cache takes its limit from its entry here, as a `BoundedCache`, by `memoized`, or as
a class of its own. `tests/core/test_cache_registry.py` finds caches that are not in the
table.
"""

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MIB: Final = 1 << 20


class CacheLimitUnit(StrEnum):
    """What a limit counts."""

    ENTRIES = "entries"
    BYTES = "bytes"
    RECORDS = "events and order lines"
    SECONDS = "seconds"


class InvalidationRule(StrEnum):
    """When a cached value stops being used, apart from eviction at the limit."""

    NEVER = "never: the value follows from its key"
    OWNER = "with its owner: an index, a model or a trained state that is replaced whole"
    INPUTS = "when one of its inputs is replaced by another object"
    FINGERPRINT = "when the fingerprint of its inputs differs, checked in under a minute"
    VERSION = "when its version in the database differs, read every 200 ms"
    LOG = "never: each use reads the store's log on from where the last one ended"
    EXPIRY = "when its time is over"


@dataclass(frozen=True, slots=True)
class CacheSpec:
    """One cache: its content, its scope, its limit and its invalidation rule."""

    holds: str
    scope: str
    limit: int
    unit: CacheLimitUnit
    invalidation: InvalidationRule


_ENTRIES, _BYTES = CacheLimitUnit.ENTRIES, CacheLimitUnit.BYTES
_NEVER, _OWNER = InvalidationRule.NEVER, InvalidationRule.OWNER


class RegisteredCache(Enum):
    """Every cache of the service."""

    # Answering requests
    OPEN_STORES = CacheSpec(
        "open stores: catalog, rules, models and the caches below",
        "process", 1_024 * MIB, _BYTES, InvalidationRule.VERSION,
    )  # fmt: skip
    RECOMMENDATION_LISTS = CacheSpec(
        "lists and their bodies for requests without a shopper",
        "store", 96 * MIB, _BYTES, InvalidationRule.FINGERPRINT,
    )  # fmt: skip
    SEARCH_RESULTS = CacheSpec(
        "bodies of search replies, all but the last used compressed",
        "store", 20 * MIB, _BYTES, InvalidationRule.INPUTS,
    )  # fmt: skip
    SHOPPER_HISTORIES = CacheSpec(
        "shoppers' histories", "store", 60_000, _ENTRIES, InvalidationRule.LOG
    )
    ELIGIBLE_ITEMS = CacheSpec(
        "items that each set of rules lets into a list",
        "store", 256, _ENTRIES, InvalidationRule.INPUTS,
    )  # fmt: skip
    FILTERED_ITEMS = CacheSpec(
        "items that each set of rules and a call's filters let into a list",
        "store", 32, _ENTRIES, InvalidationRule.INPUTS,
    )  # fmt: skip
    PRICE_LISTS = CacheSpec(
        "the catalog with the prices of each price list in use (16 bytes an item), and "
        "the items that filters let into its lists",
        "store", 16, _ENTRIES, InvalidationRule.INPUTS,
    )  # fmt: skip
    BASKET_CANDIDATES = CacheSpec(
        "candidates for a basket (a kilobyte each)", "model", 4_096, _ENTRIES, _OWNER
    )
    ITEM_NUMBERS = CacheSpec(
        "the numbers of products, which the database gives each id once",
        "process", 2_000_000, _ENTRIES, _NEVER,
    )  # fmt: skip
    HOLDOUT_UNITS = CacheSpec(
        "the unit of a shopper's ids, for when the database is away",
        "process", 100_000, _ENTRIES, _NEVER,
    )  # fmt: skip
    ACTIVITY_COUNTS = CacheSpec(
        "events and orders of 30 days, where counting is slow",
        "store", 60, CacheLimitUnit.SECONDS, InvalidationRule.EXPIRY,
    )  # fmt: skip
    PHOTO_STORES = CacheSpec(
        "stores' picture indexes, in mapped files",
        "photo search process", 64, _ENTRIES, InvalidationRule.VERSION,
    )  # fmt: skip
    CARD_FONTS = CacheSpec(
        "the font of mails' pictures, by its size",
        "picture decoder process", 16, _ENTRIES, _NEVER,
    )  # fmt: skip
    MAIL_PICTURES = CacheSpec(
        "drawn pictures for mails, about 30 kB each",
        "process", 512, _ENTRIES, InvalidationRule.EXPIRY,
    )  # fmt: skip
    MAIL_CHOICES = CacheSpec(
        "products just chosen for mails, until the database has them",
        "process", 4_096, _ENTRIES, _NEVER,
    )  # fmt: skip

    # Parsing
    REQUEST_HEADERS = CacheSpec(
        "parsed headers by their bytes, at most 2 kB", "process", 2_048, _ENTRIES, _NEVER
    )
    HEADER_LINES = CacheSpec(
        "parsed header lines of at most 256 bytes", "process", 4_096, _ENTRIES, _NEVER
    )
    QUERY_STRINGS = CacheSpec(
        "parsed queries, and the parts of error bodies",
        "process", 8_192, _ENTRIES, _NEVER,
    )  # fmt: skip
    USER_AGENTS = CacheSpec(
        "crawlers by their User-Agent", "process", 4_096, _ENTRIES, _NEVER
    )
    SHOPPER_RATES = CacheSpec(
        "token buckets of shoppers' actions", "process", 20_000, _ENTRIES, _NEVER
    )
    FLAGGED_SHOPPERS = CacheSpec(
        "shopper ids with an inhuman rate, for a day",
        "process", 20_000, _ENTRIES, InvalidationRule.EXPIRY,
    )  # fmt: skip
    NETWORK_SHARES = CacheSpec(
        "visits and purchases of each network and day that count in models",
        "process", 20_000, _ENTRIES, InvalidationRule.EXPIRY,
    )  # fmt: skip
    NETWORK_DAYS = CacheSpec(
        "visits and purchases of each store and day that count in models",
        "process", 4_096, _ENTRIES, InvalidationRule.EXPIRY,
    )  # fmt: skip
    CLIENT_NETWORKS = CacheSpec(
        "networks of client addresses", "process", 4_096, _ENTRIES, _NEVER
    )
    LIST_DECODERS = CacheSpec(
        "decoders of a list's first members, by their number",
        "process", 1_024, _ENTRIES, _NEVER,
    )  # fmt: skip
    IMPORTED_TEXTS = CacheSpec(
        "parsed cells of a file of orders", "import", 50_000, _ENTRIES, _NEVER
    )

    # Search and ranking
    TERM_FREQUENCIES = CacheSpec("frequencies of words", "index", 10_000, _ENTRIES, _OWNER)
    SPELLINGS = CacheSpec("words near a word", "index", 4_000, _ENTRIES, _OWNER)
    WORD_MEANINGS = CacheSpec("readings of words", "index", 8_000, _ENTRIES, _OWNER)
    STEMS = CacheSpec("stems of words", "language", 50_000, _ENTRIES, _NEVER)
    NAME_LANGUAGES = CacheSpec(
        "languages in which a word may name a product", "process", 8_192, _ENTRIES, _NEVER
    )
    CATALOG_SIZES = CacheSpec("sizes in a value", "process", 20_000, _ENTRIES, _NEVER)
    TITLED_ITEMS = CacheSpec("items with words in titles", "index", 200, _ENTRIES, _OWNER)
    LANGUAGES = CacheSpec("analyzers of languages", "process", 64, _ENTRIES, _NEVER)
    FUSION_WEIGHTS = CacheSpec(
        "weights of places in fused lists", "process", 4_096, _ENTRIES, _NEVER
    )
    RESIZE_WEIGHTS = CacheSpec("weights to resize photos", "process", 512, _ENTRIES, _NEVER)
    QUERY_VECTORS = CacheSpec(
        "vectors of queries in a text model", "process", 200, _ENTRIES, _NEVER
    )

    # Workers
    TRAINING_INPUTS = CacheSpec(
        "stores' records for training (30 bytes each)",
        "worker", 20_000_000, CacheLimitUnit.RECORDS, InvalidationRule.LOG,
    )  # fmt: skip
    TRAINING_EVENTS = CacheSpec(
        "a store's events that are not yet in a file (21 bytes each)",
        "worker", 4_000_000, CacheLimitUnit.RECORDS, InvalidationRule.LOG,
    )  # fmt: skip
    FITS = CacheSpec(
        "each fitter's last result",
        "store in training",
        64,
        _ENTRIES,
        InvalidationRule.INPUTS,
    )
    TOUCHPOINTS = CacheSpec(
        "touchpoints for attribution (24 bytes each)",
        "worker", 2_000_000, CacheLimitUnit.RECORDS, InvalidationRule.LOG,
    )  # fmt: skip
    LOCAL_DAYS = CacheSpec(
        "days of moments in a time zone", "attribution step", 100_000, _ENTRIES, _NEVER
    )
    QUERY_INTENTS = CacheSpec(
        "intents of queries", "attribution step", 10_000, _ENTRIES, _NEVER
    )
    VISITOR_CODES = CacheSpec(
        "hashes of shoppers' ids", "worker", 100_000, _ENTRIES, _NEVER
    )

    # Built once from the code and the package's files
    STATEMENTS = CacheSpec(
        "SQL texts in a dialect; the source has a few hundred",
        "process", 4_096, _ENTRIES, _NEVER,
    )  # fmt: skip
    PACKAGE_FILES = CacheSpec(
        "scripts, pages and texts of the package", "process", 128, _ENTRIES, _NEVER
    )
    GZIP_BODIES = CacheSpec("compressed pages", "process", 32, _ENTRIES, _NEVER)
    PLUGIN_ARCHIVES = CacheSpec(
        "plugin archives by the service's address", "process", 8, _ENTRIES, _NEVER
    )
    CONSTANTS = CacheSpec("values made at their first use", "process", 1, _ENTRIES, _NEVER)

    @property
    def limit(self) -> int:
        """The maximum size, in its unit."""
        return self.value.limit


def memoized(
    cache: RegisteredCache,
) -> "Callable[[Callable[..., Value]], functools._lru_cache_wrapper[Value]]":
    """Cache what a function returns by its arguments; evict the least recently used."""
    return functools.lru_cache(cache.limit)


class BoundedCache(Generic[Key, Value]):
    """Cache by key, cleared when it is full. Safe to use from any thread.

    Clearing costs less than tracking recent use: frequent keys are back at once, because
    people type the same words.
    """

    def __init__(self, cache: RegisteredCache, bytes_each: int = 0) -> None:
        """Hold up to the limit of `cache`; an entry takes about `bytes_each` bytes."""
        self._most = cache.limit
        self._bytes_each = bytes_each
        self._entries: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        """Return the cached value of `key`."""
        return self._entries.get(key)

    def put(self, key: Key, value: Value) -> Value:
        """Store a value, and return it."""
        if len(self._entries) >= self._most:
            self._entries = {}
        self._entries[key] = value
        return value

    def memory_bytes(self) -> int:
        """Return the approximate memory size."""
        return len(self._entries) * self._bytes_each
