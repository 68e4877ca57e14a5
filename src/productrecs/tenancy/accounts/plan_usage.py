"""Plan usage: the limits of a store's plan, and how much of them it has used."""

from dataclasses import dataclass

from productrecs.core.ids import StoreId
from productrecs.storage.database import Database
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.plans import Plan, Plans
from productrecs.tenancy.billing.repository import UsageRepository
from productrecs.tenancy.billing.subscription import QuotaNotice, month_at, quota_notice


@dataclass(frozen=True, slots=True)
class PlanUsage:
    """A store's plan and its stored usage of this month."""

    plan: Plan | None  # None: the configuration has no plan of its name, nothing is limited
    month: str  # of UTC, such as 2026-11
    calls: int
    notice: QuotaNotice | None


def catalog_limit(
    accounts: AccountRepository, store_id: StoreId, plans: Plans
) -> int | None:
    """Return how many items the store's catalog may hold, as its plan is stored now.

    None is without a limit.

    Raises:
        StoreDeletedError: when the store was deleted.
    """
    plan = plans.get(accounts.subscription(store_id).plan)
    return None if plan is None else plan.catalog_items


def read_plan_usage(
    database: Database, store: Store, plans: Plans, now_ms: int
) -> PlanUsage:
    """Return the store's allowance at a moment."""
    month = month_at(now_ms).name
    with database.reading() as connection:
        calls = UsageRepository(connection, store.store_id).calls(month)
    plan = plans.get(store.subscription.plan)
    limit = None if plan is None else plan.monthly_calls
    is_active = store.subscription.is_active(now_ms)
    return PlanUsage(plan, month, calls, quota_notice(calls, limit, is_active=is_active))
