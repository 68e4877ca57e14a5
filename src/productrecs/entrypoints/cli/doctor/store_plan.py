"""Store plan checks: what a store's plan withholds, or will withhold soon."""

from collections.abc import Iterator
from typing import Final

from productrecs.core.clock import iso
from productrecs.entrypoints.cli.doctor.check_result import CheckResult, notice, problem
from productrecs.entrypoints.services import Services
from productrecs.tenancy.accounts.plan_usage import PlanUsage, read_plan_usage
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.billing.quota_notice import BillingStatus
from productrecs.tenancy.billing.subscription import NEAR_END_MS

NEARLY_USED_SHARE: Final = 0.95  # of the catalog limit


def check_plan(services: Services, store: Store, items: int) -> Iterator[CheckResult]:
    """Yield what a store's plan denies it now or soon."""
    now_ms = services.clock()
    found = read_plan_usage(services.database, store, services.settings.plans, now_ms)
    larger = f"productrecs store set-plan {store.domain} PLAN"
    if found.plan is None:
        message = f"plan {store.subscription.plan!r} is not configured"
        remedy = f"set PRODUCTRECS_PLANS to the file of plans, or {larger}"
        yield problem(store.domain, f"{message}: no limits apply", remedy)
        return
    yield from _period(store, now_ms, larger)
    yield from _calls(store, found, larger)
    limit = found.plan.catalog_items
    if limit is not None and items > NEARLY_USED_SHARE * limit:
        message = f"its catalog has {items:,} of the {limit:,} items of its plan"
        yield notice(store.domain, message, f"delete items, or {larger}")


def _period(store: Store, now_ms: int, larger: str) -> Iterator[CheckResult]:
    subscription = store.subscription
    if subscription.suspended_at is not None:
        message = f"suspended since {iso(subscription.suspended_at)}: its pages get nothing"
        yield notice(store.domain, message, f"productrecs store resume {store.domain}")
    if subscription.ends_at is None:
        return
    if subscription.ends_at <= now_ms:
        ended = iso(subscription.ends_at)
        message = f"its plan {subscription.plan} ended at {ended}: its pages get nothing"
        yield problem(store.domain, message, larger)
    elif subscription.ends_at <= now_ms + NEAR_END_MS:
        message = f"its plan {subscription.plan} ends at {iso(subscription.ends_at)}"
        yield notice(store.domain, message, larger)


def _calls(store: Store, found: PlanUsage, larger: str) -> Iterator[CheckResult]:
    quota = found.notice
    if quota is None or quota.limit is None:
        return
    message = f"{quota.used:,} of {quota.limit:,} calls of {found.month} are used"
    if quota.status is BillingStatus.OVER_QUOTA:
        message += ": its pages get nothing until the month ends"
    yield notice(store.domain, message, larger)
