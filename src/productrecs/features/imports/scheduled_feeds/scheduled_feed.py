"""Scheduled feed: the address that a store's products are fetched from, and its log."""

import base64
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from productrecs.core.clock import DAY_MS, MINUTE_MS
from productrecs.core.errors import ProductRecsError
from productrecs.core.outbound_http import (
    is_public_address,
    is_trusted_host,
    resolve_host,
    split_typed_url,
)
from productrecs.records.uploads.file_import import ImportOptions

FETCH_JOB: Final = "fetch-feed"
"""The job kind that fetches one store's feed."""

SENT_BY: Final = "Scheduled feed"
"""The sender of the imports that a feed makes."""

INTERVALS: Final[Mapping[int, str]] = MappingProxyType(
    {
        60: "Every hour",
        180: "Every 3 hours",
        360: "Every 6 hours",
        720: "Every 12 hours",
        1440: "Once a day",
    }
)
"""How often a feed may be fetched, in minutes."""

RETRY_MINUTES: Final = (60, 360)
"""When a failed fetch is tried again: after the first failure, and after each later one."""

LOG_DAYS: Final = 30
"""How many days of fetches are kept."""

_MAX_URL: Final = 2_000
_MAX_HEADER: Final = 2_000
_MAX_NAME: Final = 200
_HEADER: Final = re.compile(
    r"([A-Za-z0-9-]{1,100}):\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)"
)
_OWN_HEADERS: Final = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "expect", "host"),
        *("if-modified-since", "if-none-match", "range", "te", "trailer"),
        *("transfer-encoding", "upgrade", "user-agent"),
    }
)


class FeedSourceError(ProductRecsError):
    """The address or the header of a feed is not valid; the message is for merchants."""


class ScheduledFetchOutcome(StrEnum):
    """What a fetch brought."""

    RECEIVED = "received"  # its import says what became of it
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ScheduledFeed:
    """A store's feed. `header` is a secret in its stored form; empty for none.

    `etag`, `modified` and `digest` are those of the last file that was received, which is
    the import `import_id`. `choices` are how the merchant has said that it is read.
    `failures` counts the failed fetches since the last one that succeeded. `hour` of the
    store's time zone is when a daily feed is fetched; None for that of the last fetch.
    """

    url: str
    header: str = field(repr=False)
    every_minutes: int
    is_complete: bool
    next_ms: int
    choices: ImportOptions = field(default_factory=lambda: ImportOptions(kind="items"))
    etag: str | None = None
    modified: str | None = None
    digest: str | None = None
    import_id: str | None = None
    failures: int = 0
    hour: int | None = None

    def next_fetch_ms(self, now_ms: int, zone: tzinfo) -> int:
        """Return when the feed is fetched next, after a fetch at `now_ms`.

        A failed fetch is tried again after an hour, from the second one on after six.
        """
        if self.failures and self.every_minutes > RETRY_MINUTES[0]:
            wait = RETRY_MINUTES[min(self.failures, len(RETRY_MINUTES)) - 1]
            return now_ms + min(wait, self.every_minutes) * MINUTE_MS
        if self.hour is None or self.every_minutes < DAY_MS // MINUTE_MS:
            return now_ms + self.every_minutes * MINUTE_MS
        now = datetime.fromtimestamp(now_ms / 1000, zone)
        due = now.replace(hour=self.hour, minute=0, second=0, microsecond=0)
        if due <= now:
            due += timedelta(days=1)
        return int(due.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class ScheduledFeedFetch:
    """One fetch in the log; `problem` says why it failed."""

    fetched_ms: int
    outcome: ScheduledFetchOutcome
    problem: str = ""
    size: int = 0
    import_id: str | None = None


def parse_feed_url_and_header(
    address: str, header: str, trusted: Collection[str] = ()
) -> tuple[str, str]:
    """Return a feed's URL without a user, and its secret header; empty for none.

    A user and password in the address become the header. Each fetch checks again whether
    the host is public, since it may change.

    Raises:
        FeedSourceError: when one of them is not valid.
    """
    split = split_typed_url(address.strip(), _MAX_URL)
    if split is None:
        message = "Enter a whole address, such as https://shop.example.com/feed.xml."
        raise FeedSourceError(message)
    if split.scheme not in {"https", "http"}:
        message = "The address must begin with https:// or http://."
        raise FeedSourceError(message)
    header, problems = _parse_header_and_problems(header)
    userinfo, at, netloc = split.netloc.rpartition("@")
    if at and header:
        problems.append("Enter a user in the address or a header, not both.")
    if at:
        header = f"Authorization: Basic {_basic_credentials(userinfo)}"
    is_trusted = is_trusted_host(split.hostname or "", split.port, trusted)
    if header and split.scheme != "https" and not is_trusted:
        problems.append(
            "With a password or a header, the address must begin with https://, so that "
            "nobody else can read them."
        )
    if not is_trusted:
        problems += _fetch_refusal_reasons(split.hostname or "", split.port)
    if problems:
        raise FeedSourceError(" ".join(problems))
    return urlunsplit((split.scheme, netloc, split.path, split.query, "")), header


def _fetch_refusal_reasons(host: str, port: int | None) -> list[str]:
    """Return why the service must not fetch from a host, and who can allow it.

    A host without an address may get one until it is fetched from.
    """
    reasons = []
    if port not in {None, 80, 443}:
        reasons.append(f"The address has port {port}; only 80 and 443 are fetched from.")
    try:
        addresses = resolve_host(host, port or 443)
    except OSError:
        addresses = []
    if not all(map(is_public_address, addresses)):
        reasons.append(
            f"{host} is in a private network, where the service must not look: give the "
            "feed an address that the whole internet can open."
        )
    if reasons:
        allowed = f"{host}:{port}" if port else host
        reasons.append(
            "Or ask the operator of your service to allow it: "
            f"PRODUCTRECS_FEED_HOSTS={allowed}."
        )
    return reasons


def _basic_credentials(userinfo: str) -> str:
    user, _, password = userinfo.partition(":")
    plain = f"{unquote(user)}:{unquote(password)}"
    return base64.b64encode(plain.encode()).decode()


def _parse_header_and_problems(text: str) -> tuple[str, list[str]]:
    """Return the header, and what is wrong with it."""
    text = text.strip()
    if not text:
        return "", []
    match = _HEADER.fullmatch(text)
    if match is None or len(text) > _MAX_HEADER:
        return "", ["Write the header as NAME: VALUE, such as Authorization: Bearer abc."]
    if match[1].lower() in _OWN_HEADERS:
        return "", [f"The header {match[1]} is set by the service; choose another one."]
    return f"{match[1]}: {match[2]}", []


def file_name_of(url: str) -> str:
    """Return the name of the file at an address, which may say its format."""
    name = unquote(PurePosixPath(urlsplit(url).path).name, errors="replace")
    printable = "".join(letter for letter in name if letter.isprintable())
    return printable[-_MAX_NAME:] or urlsplit(url).hostname or "feed"
