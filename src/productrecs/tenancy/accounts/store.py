"""Store: one merchant's shop, its keys and settings, and its nightly window."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from productrecs.core.ids import StoreId
from productrecs.tenancy.accounts.api_keys import (
    PUBLISHABLE_PREFIX,
    TEST_KEY_PREFIX,
    SecretKeyHashes,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.tenancy.billing.plans_and_subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class Store:
    """One merchant's shop with resolved settings; has only the hash of its secret."""

    store_id: StoreId
    domain: str
    email: str | None
    subscription: Subscription
    publishable_key: str
    secrets: SecretKeyHashes
    origins: frozenset[str]
    settings: StoreSettings
    chosen: tuple[str, ...]  # names of the settings that were set explicitly
    created_at: int

    @property
    def is_sandbox(self) -> bool:
        """Whether it is the test store of a real one."""
        return self.publishable_key.startswith(PUBLISHABLE_PREFIX + TEST_KEY_PREFIX)


NIGHT_HOUR: Final = 2
"""In the store's time zone: the previous day is complete, and few shoppers buy."""


def is_nightly_run_due(zone: tzinfo, since_ms: int, now_ms: int) -> bool:
    """Return whether a nightly window of a day after `since_ms` began by `now_ms`."""
    then = datetime.fromtimestamp(since_ms / 1000, tz=zone)
    now = datetime.fromtimestamp(now_ms / 1000, tz=zone)
    return now.date() > then.date() and now.hour >= NIGHT_HOUR
