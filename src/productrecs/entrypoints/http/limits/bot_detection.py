"""Bot detection: tells crawlers, automated browsers and inhuman rates from shoppers.

A crawler says so in its User-Agent. A program that looks like a browser is recognised by
its rate: a token bucket for each shopper id. A shop's server that sends the events of many
shoppers is neither.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from productrecs.core.cache_registry import BoundedCache, Cache, memoized
from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.records.events.event import INHUMAN_RATE, EventKind, NewEvent
from productrecs.tenancy.accounts.repository import KeyMisuse, MisuseKind

BURST: Final = 30
"""The most actions of a shopper at once: a restored browser window has that many tabs."""

ACTIONS_PER_SECOND: Final = 1.0
"""The rate that a shopper may hold beyond the burst."""

FLAGGED_SECONDS: Final = 86_400.0
"""How long the events of a shopper id with an inhuman rate are marked."""

MAX_BOT_NAME: Final = 64

UNCOUNTED: Final = frozenset({EventKind.REC_IMPRESSION, EventKind.BUY})
"""The kinds that are no actions: a page reports several impressions by itself."""

SHOPPER_PARAMETERS: Final = ("customer_id", "user_id", "session_id")
"""The query parameters that name a shopper; the first that is present counts."""

_CRAWLER: Final = re.compile(  # CUBOT makes telephones
    r"(?<!cu)bot(?:\b|[/_-])|crawl|spider|slurp|scrap|headless|phantomjs|puppeteer|playwright"
    r"|selenium|webdriver|lighthouse|external(?:agent|hit)|mediapartners|google-|googleother"
    r"|synthetic|monitor|fetcher|validator|checker|archiver|scanner|ptst/|(?:gpt|claude)-user",
    re.IGNORECASE,
)
_LINK: Final = re.compile(r"https?://", re.IGNORECASE)
"""The address of a program's operator; a browser has none."""

_BLOG: Final = "WordPress/"  # a shop's server, with the shop's address
_WORD: Final = re.compile(r"[A-Za-z][\w.-]*")
_MAX_AGENT: Final = 1_024


@memoized(Cache.USER_AGENTS)
def crawler_name(agent: bytes) -> str | None:
    """Return the name of the crawler or automated browser; None for any other agent.

    HTTP libraries are no crawlers here: a shop's server may send events by them.
    """
    text = agent[:_MAX_AGENT].decode("latin-1")
    found = _CRAWLER.search(text)
    if found is not None:
        words = (word[0] for word in _WORD.finditer(text) if word.end() > found.start())
        return next(words, found[0])[:MAX_BOT_NAME]
    link = _LINK.search(text)
    if link is None or text.startswith(_BLOG):
        return None
    named = [word[0] for word in _WORD.finditer(text, 0, link.start())]
    return named[-1][:MAX_BOT_NAME] if named else "link"


class BotDetector:
    """Recognises bots among the callers of one process."""

    def __init__(
        self,
        write_later: Callable[[KeyMisuse], None],
        clock: Clock,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without any; misuses are handed to `write_later`, at times of `clock`."""
        self._write_later = write_later
        self._clock = clock
        self._seconds = seconds
        # When the token bucket of a shopper id is full again.
        self._full_at = BoundedCache[tuple[StoreId, str], float](Cache.SHOPPER_RATES)
        self._flagged = BoundedCache[tuple[StoreId, str], float](Cache.FLAGGED_SHOPPERS)
        self.has_flagged = False
        """Whether any shopper id was ever flagged; until then nothing is looked up."""

    def is_bot(
        self, store_id: StoreId, headers: Mapping[bytes, bytes], query: Mapping[str, str]
    ) -> bool:
        """Return whether a call with the publishable key comes from a bot."""
        if crawler_name(headers.get(b"user-agent", b"")) is not None:
            return True
        return self.has_flagged and self.is_flagged(store_id, query)

    def is_flagged(self, store_id: StoreId, fields: Mapping[str, object]) -> bool:
        """Return whether a shopper id of a query or an event has an inhuman rate."""
        now = self._seconds()
        return any(
            self._is_flagged((store_id, str(fields[name])), now)
            for name in SHOPPER_PARAMETERS
            if name in fields
        )

    def mark(
        self,
        store_id: StoreId,
        groups: list[list[NewEvent]],
        headers: Mapping[bytes, bytes],
    ) -> list[list[NewEvent]]:
        """Return the events of one request, marked if they are a bot's.

        An array counts as one action: no rule about speed applies within it.
        """
        crawler = crawler_name(headers.get(b"user-agent", b""))
        if crawler is not None:
            return [_marked(group, crawler) for group in groups]
        now = self._seconds()
        for shopper in {_shopper(group[0]) for group in groups if _is_action(group[0])}:
            self._count((store_id, shopper), headers.get(b"origin"), now)
        if not self.has_flagged:
            return groups
        return [
            _marked(group, INHUMAN_RATE)
            if self._is_flagged((store_id, _shopper(group[0])), now)
            else group
            for group in groups
        ]

    def report_rate(self, store_id: StoreId, origin: bytes | None) -> None:
        """Record that the publishable key is used at an inhuman rate."""
        now_ms = self._clock()
        self._write_later(KeyMisuse.of(store_id, MisuseKind.INHUMAN_RATE, origin, now_ms))

    def _count(self, who: tuple[StoreId, str], origin: bytes | None, now: float) -> None:
        full_at = max(self._full_at.get(who) or 0.0, now) + 1 / ACTIONS_PER_SECOND
        self._full_at.put(who, full_at)
        if full_at - now <= BURST / ACTIONS_PER_SECOND or self._is_flagged(who, now):
            return
        self.has_flagged = True
        self._flagged.put(who, now + FLAGGED_SECONDS)
        self.report_rate(who[0], origin)

    def _is_flagged(self, who: tuple[StoreId, str], now: float) -> bool:
        return (self._flagged.get(who) or 0.0) > now


def _shopper(event: NewEvent) -> str:
    return event.session_id or event.shopper


def _is_action(event: NewEvent) -> bool:
    return event.kind not in UNCOUNTED


def _marked(group: Iterable[NewEvent], bot: str) -> list[NewEvent]:
    """Return the events marked; purchases are facts, whoever reports them."""
    return [
        event if event.kind is EventKind.BUY else replace(event, bot=bot) for event in group
    ]
