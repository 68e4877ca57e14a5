"""Store: one merchant's shop, its connected shop software and its nightly window."""

from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Final, Self

from productrecs.core.ids import StoreId
from productrecs.tenancy.accounts.api_keys import (
    PUBLISHABLE_PREFIX,
    TEST_KEY_PREFIX,
    SecretKeys,
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
    secrets: SecretKeys
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


class ShopPlatform(StrEnum):
    """The shop system."""

    WOOCOMMERCE = "woocommerce"
    PRESTASHOP = "prestashop"
    MAGENTO = "magento"
    OPENCART = "opencart"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class PluginDetails:
    """What a plugin reports about its shop; None means not reported."""

    platform: ShopPlatform | None = None
    plugin_version: str | None = None
    store_url: str | None = None


@dataclass(frozen=True, slots=True)
class ShopConnection:
    """A store's connected shop system; empty before its first call."""

    platform: ShopPlatform | None = None
    platform_chosen: bool = False  # set by the merchant's system, not the default
    plugin_version: str | None = None
    store_url: str | None = None
    first_connected_at: int | None = None  # UTC ms

    def with_plugin_details(self, details: PluginDetails, now_ms: int) -> Self:
        """Return the connection updated with `details`; idempotent.

        The first platform is never replaced; details that are not reported stay
        unchanged.
        """
        platform, chosen = self.platform or ShopPlatform.WOOCOMMERCE, self.platform_chosen
        if details.platform is not None and not chosen:
            platform, chosen = details.platform, True
        first = self.first_connected_at
        return replace(
            self.with_store_url(details.store_url),
            platform=platform,
            platform_chosen=chosen,
            plugin_version=details.plugin_version or self.plugin_version,
            first_connected_at=now_ms if first is None else first,
        )

    def with_store_url(self, store_url: str | None) -> Self:
        """Return the connection with the store's address; None leaves it unchanged."""
        return replace(self, store_url=store_url or self.store_url)
