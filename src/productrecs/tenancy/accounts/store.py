"""Store: one merchant's shop, as the rest of the program sees it."""

from dataclasses import dataclass

from productrecs.core.ids import StoreId
from productrecs.tenancy.accounts.api_keys import (
    PUBLISHABLE_PREFIX,
    TEST_KEY_PREFIX,
    SecretKeys,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.tenancy.billing.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Store:
    """One merchant's shop, its settings resolved; holds no secret, only its hash."""

    store_id: StoreId
    domain: str
    email: str | None
    subscription: Subscription
    publishable_key: str
    secrets: SecretKeys
    origins: frozenset[str]
    settings: StoreSettings
    chosen: tuple[str, ...]  # names of the settings that were set, not defaults
    created_at: int

    @property
    def is_sandbox(self) -> bool:
        """Whether it is a test store beside a real one."""
        return self.publishable_key.startswith(PUBLISHABLE_PREFIX + TEST_KEY_PREFIX)
