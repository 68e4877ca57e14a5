"""Bot detection: tells crawlers, automated browsers and inhuman rates from shoppers.

A crawler says so in its User-Agent. A program that looks like a browser is recognised by
its rate: a token bucket for each customer, session and network. Somebody who only knows a
customer's id fills another bucket than the customer, and a signed identity has none. A
shop's server that sends the events of many shoppers is neither.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from productrecs.core.cache_registry import BoundedCache, RegisteredCache, memoized
from productrecs.core.clock import Clock
from productrecs.core.ids import StoreId
from productrecs.records.events.event import INHUMAN_RATE, EventKind, NewEvent
from productrecs.tenancy.accounts.key_misuse.repository import KeyMisuse, MisuseKind

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


@memoized(RegisteredCache.USER_AGENTS)
def crawler_name(agent: bytes) -> str | None:
    """Return the name of the crawler or automated browser; None for any other agent.

    HTTP libraries are no crawlers here: a shop's server may send events by them.
    """
    text = agent[:_MAX_AGENT].decode("latin-1")
    crawler_match = _CRAWLER.search(text)
    if crawler_match is not None:
        words = (
            word[0] for word in _WORD.finditer(text) if word.end() > crawler_match.start()
        )
        return next(words, crawler_match[0])[:MAX_BOT_NAME]
    link = _LINK.search(text)
    if link is None or text.startswith(_BLOG):
        return None
    names_before_link = [word[0] for word in _WORD.finditer(text, 0, link.start())]
    return names_before_link[-1][:MAX_BOT_NAME] if names_before_link else "link"


class _CallerIds(NamedTuple):
    """One who acts: the ids as sent, and the network that they came from."""

    store_id: StoreId
    customer: str
    session: str
    network: str | None


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
        # When the token bucket of an actor is full again.
        self._full_at = BoundedCache[_CallerIds, float](RegisteredCache.SHOPPER_RATES)
        self._flagged = BoundedCache[_CallerIds, float](RegisteredCache.FLAGGED_SHOPPERS)
        self.has_flagged = False
        """Whether anybody was ever flagged; until then nothing is looked up."""

    def is_flagged(
        self, store_id: StoreId, fields: Mapping[str, object], network: str | None
    ) -> bool:
        """Return whether the session of a query or an event has an inhuman rate.

        A call that names a customer alone may be anybody's, so it never has.
        """
        ids = [str(fields[name]) for name in SHOPPER_PARAMETERS if fields.get(name)]
        if not ids:
            return False
        customer, session = "" if len(ids) == 1 else ids[0], ids[-1]
        return self._is_actor_flagged(
            _CallerIds(store_id, customer, session, network), self._seconds()
        )

    def count_actions_and_mark_bots(
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
            return [_mark_as_bot(group, crawler) for group in groups]
        now = self._seconds()
        actors = [_actor_of(store_id, group[0]) for group in groups]
        acting = zip(actors, groups, strict=True)
        for actor in {actor for actor, group in acting if _is_action(group[0])}:
            self._count_action_and_flag_inhuman_rate(actor, headers.get(b"origin"), now)
        if not self.has_flagged:
            return groups
        return [
            _mark_as_bot(group, INHUMAN_RATE)
            if not group[0].signed and self._is_actor_flagged(actor, now)
            else group
            for actor, group in zip(actors, groups, strict=True)
        ]

    def _count_action_and_flag_inhuman_rate(
        self, actor: _CallerIds, origin: bytes | None, now: float
    ) -> None:
        full_at = max(self._full_at.get(actor) or 0.0, now) + 1 / ACTIONS_PER_SECOND
        self._full_at.put(actor, full_at)
        if full_at - now <= BURST / ACTIONS_PER_SECOND or self._is_actor_flagged(
            actor, now
        ):
            return
        self.has_flagged = True
        self._flagged.put(_flag_key(actor), now + FLAGGED_SECONDS)
        kind, now_ms = MisuseKind.INHUMAN_RATE, self._clock()
        self._write_later(KeyMisuse.of(actor.store_id, kind, origin, now_ms))

    def _is_actor_flagged(self, actor: _CallerIds, now: float) -> bool:
        return (self._flagged.get(_flag_key(actor)) or 0.0) > now


def _flag_key(actor: _CallerIds) -> _CallerIds:
    """Return what is flagged: the session without its customer, if there is a session."""
    return actor._replace(customer="") if actor.session else actor


def _actor_of(store_id: StoreId, event: NewEvent) -> _CallerIds:
    return _CallerIds(store_id, event.user_id or "", event.session_id or "", event.network)


def _is_action(event: NewEvent) -> bool:
    return event.kind not in UNCOUNTED and not event.signed


def _mark_as_bot(group: Iterable[NewEvent], bot: str) -> list[NewEvent]:
    """Return the events marked; purchases are facts, whoever reports them."""
    return [
        event if event.kind is EventKind.BUY else replace(event, bot=bot) for event in group
    ]
