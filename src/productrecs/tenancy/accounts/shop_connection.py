"""Shop connection: a store's shop system, and what its plugin reports."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


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
