"""Store checks: a store's contents, keys, plan and forecast."""

import ctypes.util
import importlib.util
from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from productrecs.cli.doctor.check_result import CheckResult, notice, ok, problem
from productrecs.cli.doctor.disk_and_clock_checks import SET_CLOCK
from productrecs.cli.doctor.feed_and_webhook_checks import (
    check_scheduled_feed,
    check_webhooks,
)
from productrecs.cli.doctor.repository import (
    DoctorRepository,
    IncompleteItemCounts,
    PurchaseSampleCounts,
    totp_secrets,
)
from productrecs.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, Clock, system_ms
from productrecs.core.timestamps import iso
from productrecs.features.forecast.repository import ForecastRepository
from productrecs.features.reports.tracking_health.tracking_issues import (
    TrackingIssue,
    find_tracking_issues,
)
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.events.newest_events.repository import (
    NewestEventRepository,
    ProductEventSummary,
)
from productrecs.records.purchases.sold_lines.repository import SoldLineRepository
from productrecs.services import Services
from productrecs.storage.files.model_files import BrokenModelError, open_arrays
from productrecs.storage.files.object_store_snapshots import MODELS, SnapshotName
from productrecs.storage.files.snapshot_cache import SHARE_MODELS
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuse,
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.refused_keys.repository import recent_refused_key_calls
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import PlanUsage, read_plan_usage
from productrecs.tenancy.billing.call_meter import BillingStatus
from productrecs.tenancy.billing.plans_and_subscriptions import NEAR_END_MS
from productrecs.tenancy.users.stored_secret_cipher import (
    KEY_FILE,
    UnreadableSecretError,
    is_encrypted,
)
from productrecs.training.repository import TrainingRepository
from productrecs.training.trained_models import models_folder

_RECENT_MS: Final = 7 * DAY_MS
_LATE_MS: Final = 6 * HOUR_MS
_MAX_NAMED: Final = 5
_LOCAL: Final = {"localhost", "127.0.0.1", "::1"}


def check_refused_keys(services: Services) -> Iterator[CheckResult]:
    """Yield that calls come with a key that no store has."""
    with services.database.reading() as connection:
        refused = recent_refused_key_calls(connection, system_ms())
    if not refused.calls:
        yield ok("keys", "no call since yesterday had a key that no store has")
        return
    calls_text = "a call" if refused.calls == 1 else f"{refused.calls:,} calls"
    omitted = len(refused.callers) - _MAX_NAMED
    callers = ", ".join(refused.callers[:_MAX_NAMED])
    more_text = f" and {omitted} more" if omitted > 0 else ""
    yield notice(
        "keys",
        f"{calls_text} since yesterday had a key that no store has: {callers}{more_text}",
        "put the store's key there: productrecs store show",
    )


def check_two_factor_secrets_readable(services: Services) -> Iterator[CheckResult]:
    """Yield whether the secrets of two-factor login are encrypted and can be read."""
    with services.database.reading() as connection:
        stored_secrets = totp_secrets(connection)
    if not stored_secrets:
        return
    unreadable_count = sum(
        not _is_decryptable(services, secret) for secret in stored_secrets
    )
    plain_count = sum(not is_encrypted(secret) for secret in stored_secrets)
    if unreadable_count:
        message = (
            f"{unreadable_count} of {len(stored_secrets)} secrets of two-factor login "
            "cannot be decrypted: their key is missing or is another one"
        )
        remedy = (
            f"put the key back ({KEY_FILE} in the data folder, or "
            "PRODUCTRECS_DASHBOARD_KEY, the same on every machine), or turn them off: "
            "productrecs account reset-link DOMAIN --turn-off-two-factor"
        )
        yield problem("logins", message, remedy)
    elif plain_count and not services.cipher.has_key:
        message = (
            f"{plain_count} secrets of two-factor login are not encrypted in the database"
        )
        remedy = "set PRODUCTRECS_DASHBOARD_KEY, the same on every machine"
        yield notice("logins", message, remedy)
    else:
        later = f"; {plain_count} will be, at their next login" if plain_count else ""
        message = f"the secrets of two-factor login are encrypted{later}"
        yield ok("logins", message)


def _is_decryptable(services: Services, stored_secret: str) -> bool:
    try:
        services.cipher.decrypt(stored_secret)
    except UnreadableSecretError:
        return False
    return True


def check_key_misuse(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield origins missing from the allowlist, a leaked secret key and inhuman rates."""
    since_ms = services.clock() - _RECENT_MS
    with services.database.reading() as connection:
        misuses = KeyMisuseRepository(connection, store.store_id).all()
    foreign_origins = {
        misuse.value
        for misuse in misuses
        if misuse.kind is MisuseKind.FOREIGN_ORIGIN and misuse.seen_at >= since_ms
    }
    yield from _check_unknown_origins(store, sorted(foreign_origins - store.origins - {""}))
    yield from _check_leaked_keys(
        store, [misuse for misuse in misuses if misuse.kind is MisuseKind.LEAKED_SECRET]
    )
    inhuman_rates = [misuse for misuse in misuses if misuse.kind is MisuseKind.INHUMAN_RATE]
    if inhuman_rates and inhuman_rates[0].seen_at >= since_ms:
        where = (
            f"from pages of {inhuman_rates[0].value}"
            if inhuman_rates[0].value
            else "without a page"
        )
        yield notice(
            store.domain,
            f"a program used its publishable key {where}, faster than a person can; its "
            "events are left out of learning and statistics",
            f"see what it sent: productrecs report {store.domain} health",
        )


def _check_unknown_origins(
    store: Store, unknown_origins: list[str]
) -> Iterator[CheckResult]:
    if not store.origins or not unknown_origins:
        return
    omitted = len(unknown_origins) - _MAX_NAMED
    names = ", ".join(unknown_origins[:_MAX_NAMED]) + (
        f" and {omitted} more" if omitted > 0 else ""
    )
    message = (
        f"pages of origins that are not on the allowlist sent requests this week: {names}"
    )
    remedy = (
        f"if they belong to the store: productrecs origins {store.domain} --add "
        f"{unknown_origins[0]}"
    )
    yield notice(store.domain, message, remedy)


def _check_leaked_keys(
    store: Store, leaked_secret_keys: list[KeyMisuse]
) -> Iterator[CheckResult]:
    if not leaked_secret_keys:
        return
    newest = leaked_secret_keys[0]
    place = f"in pages of {newest.value}" if newest.value else "in an address"
    message = f"its secret key was exposed {place} at {iso(newest.seen_at)}"
    remedy = (
        "remove it there (pages use the publishable key), then: productrecs keys rotate "
        f"{store.domain}"
    )
    yield problem(store.domain, message, remedy)


_OLD_MS: Final = 2 * DAY_MS


def check_forecast(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield the problems of a store's forecast, if it has the add-on."""
    if not store.settings.demand_forecast:
        return
    with services.database.reading() as connection:
        run = ForecastRepository(connection, store.store_id).newest_run()
    remedy = f"start productrecs serve, or productrecs forecast {store.domain}"
    if run is None:
        yield notice(store.domain, "its demand was not forecast yet", remedy)
    elif services.clock() - run.generated_at > _OLD_MS:
        message = f"its newest forecast is from {iso(run.generated_at)}"
        yield problem(store.domain, message, remedy)
    message = "the learned forecast model cannot be loaded; simpler methods are used"
    if importlib.util.find_spec("lightgbm") is None:
        yield notice(store.domain, message, "pip install productrecs[forecast]")
    elif ctypes.util.find_library("gomp") is None:
        yield notice(store.domain, message, "apt-get install libgomp1")


NEAR_LIMIT_SHARE: Final = 0.95  # of the catalog limit


def check_plan(services: Services, store: Store, item_count: int) -> Iterator[CheckResult]:
    """Yield limits of a store's plan that are reached or near."""
    now_ms = services.clock()
    usage = read_plan_usage(services.database, store, services.settings.plans, now_ms)
    larger_plan_remedy = f"productrecs store set-plan {store.domain} PLAN"
    if usage.plan is None:
        message = f"plan {store.subscription.plan!r} is not configured"
        remedy = f"set PRODUCTRECS_PLANS to the file of plans, or {larger_plan_remedy}"
        yield problem(store.domain, f"{message}: no limits apply", remedy)
        return
    yield from _check_plan_period(store, now_ms, larger_plan_remedy)
    yield from _check_call_limit(store, usage, larger_plan_remedy)
    limit = usage.plan.catalog_items
    if limit is not None and item_count > NEAR_LIMIT_SHARE * limit:
        message = f"its catalog has {item_count:,} of the {limit:,} items of its plan"
        yield notice(store.domain, message, f"delete items, or {larger_plan_remedy}")


def _check_plan_period(
    store: Store, now_ms: int, larger_plan_remedy: str
) -> Iterator[CheckResult]:
    subscription = store.subscription
    if subscription.suspended_at is not None:
        message = f"suspended since {iso(subscription.suspended_at)}: its pages get nothing"
        yield notice(store.domain, message, f"productrecs store resume {store.domain}")
    if subscription.ends_at is None:
        return
    if subscription.ends_at <= now_ms:
        ended = iso(subscription.ends_at)
        message = f"its plan {subscription.plan} ended at {ended}: its pages get nothing"
        yield problem(store.domain, message, larger_plan_remedy)
    elif subscription.ends_at <= now_ms + NEAR_END_MS:
        message = f"its plan {subscription.plan} ends at {iso(subscription.ends_at)}"
        yield notice(store.domain, message, larger_plan_remedy)


def _check_call_limit(
    store: Store, usage: PlanUsage, larger_plan_remedy: str
) -> Iterator[CheckResult]:
    quota = usage.notice
    if quota is None or quota.limit is None:
        return
    message = f"{quota.used:,} of {quota.limit:,} calls of {usage.month} are used"
    if quota.status is BillingStatus.OVER_QUOTA:
        message += ": its pages get nothing until the month ends"
    yield notice(store.domain, message, larger_plan_remedy)


MIN_SAMPLE: Final = 20  # a share of fewer records is not significant
WITHOUT_ORDER_SHARE: Final = 0.5
UNKNOWN_SHOPPER_SHARE: Final = 0.9
STALE_MS: Final = HOUR_MS
MAX_CLOCK_SKEW_MS: Final = 5 * MINUTE_MS


def check_store(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield the problems of a store, else one finding that it is in order."""
    found = list(_check_store(services, store))
    words, subscription = "everything is in order", store.subscription
    if subscription.ends_at is not None:
        words += f"; its plan {subscription.plan} ends at {iso(subscription.ends_at)}"
    yield from found or [ok(store.domain, words)]


def _check_store(services: Services, store: Store) -> Iterator[CheckResult]:
    yield from _check_time_zone_and_origins(store)
    with services.database.reading() as connection:
        size = CatalogRepository(connection, store.store_id).size()
        sampler = DoctorRepository(connection, store.store_id)
        sold_lines = SoldLineRepository(connection, store.store_id)
        events = NewestEventRepository(connection, store.store_id)
        newest_event_ms, product_events = (
            events.newest_live_at(),
            events.summarize_newest_product_events(),
        )
        purchases, model_id = sampler.purchase_sample_counts(), sampler.model_id()
        gaps, delay_ms = (
            sampler.count_incomplete_items(),
            sold_lines.shortest_order_delay_ms(),
        )
    if size == 0:
        remedy = f"POST /v1/items, or productrecs import-items {store.domain} FILE"
        yield problem(store.domain, "the catalog is empty", remedy)
    yield from _check_catalog_gaps(store, gaps)
    yield from check_plan(services, store, size)
    yield from check_key_misuse(services, store)
    yield from check_pages_can_call_service(services, store)
    yield from _check_event_flow(store, newest_event_ms, services.clock)
    yield from _check_future_events(store, product_events, services)
    yield from _check_late_orders(store, delay_ms)
    symptoms = find_tracking_issues(services.database, store, services.clock())
    yield from map(partial(_tracking_issue_result, store), symptoms)
    is_explained = any(symptom.code == "identities_differ" for symptom in symptoms)
    yield from _check_purchase_identification(
        store, purchases, has_reported_ids=is_explained
    )
    yield from _check_model(services, store, model_id, product_events)
    yield from _check_training_freshness(services, store)
    yield from check_forecast(services, store)
    yield from check_scheduled_feed(services, store)
    yield from check_webhooks(services, store)


def _check_catalog_gaps(store: Store, gaps: IncompleteItemCounts) -> Iterator[CheckResult]:
    """Yield gaps of product cards: a missing title is a problem, others a notice."""
    remedy = (
        "import the products again with these columns: productrecs import-items "
        f"{store.domain} FILE --dry-run shows what a file holds"
    )
    if gaps.untitled:
        message = f"{gaps.untitled:,} of its {gaps.items:,} items have no title"
        yield problem(store.domain, f"{message}: shoppers see cards without a name", remedy)
    missing = (
        (gaps.unlinked, "no product_url: clicks lead nowhere"),
        (gaps.without_picture, "no image_url: their cards have no picture"),
    )
    for count, field in missing:
        if count:
            message = f"{count:,} of its {gaps.items:,} items have {field}"
            yield notice(store.domain, message, remedy)


def _check_time_zone_and_origins(store: Store) -> Iterator[CheckResult]:
    try:
        ZoneInfo(store.settings.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        remedy = f"productrecs settings {store.domain} timezone=Europe/Berlin"
        yield problem(
            store.domain,
            (f"the time zone {store.settings.timezone!r} does not exist"),
            remedy,
        )
    own_origins = {f"https://{store.domain}", f"https://www.{store.domain}"}
    if store.origins and not store.origins & own_origins:
        remedy = f"productrecs origins {store.domain} --add https://{store.domain}"
        yield notice(store.domain, "the store's own origin is not on its allowlist", remedy)


def check_pages_can_call_service(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield whether browsers block the service in the store's pages: http inside https."""
    base = services.settings.base_url or ""
    if not base.startswith("http://") or urlsplit(base).hostname in _LOCAL:
        return
    with services.database.reading() as connection:
        is_https = DoctorRepository(connection, store.store_id).has_https_product_page()
    if is_https:
        message = f"its pages are HTTPS, where browsers block {base}"
        remedy = "put TLS in front of the service, and set PRODUCTRECS_BASE_URL=https://..."
        yield problem(store.domain, message, remedy)


def _check_event_flow(
    store: Store, newest: int | None, clock: Clock
) -> Iterator[CheckResult]:
    if newest is None:
        remedy = "embed the widget, or send POST /v1/events from the storefront"
        yield notice(store.domain, "no event was received from its pages yet", remedy)
    elif newest < clock() - DAY_MS:
        remedy = "check that the widget is still in the pages, with the right key"
        yield problem(store.domain, f"no event was received since {iso(newest)}", remedy)


def _check_future_events(
    store: Store, sample: ProductEventSummary, services: Services
) -> Iterator[CheckResult]:
    now_ms = services.clock()
    if sample.newest_ts is not None and sample.newest_ts > now_ms + MAX_CLOCK_SKEW_MS:
        message = f"newest event has a future timestamp: {iso(sample.newest_ts)}"
        remedy = "set this machine's clock (or unset PRODUCTRECS_NOW)"
        yield problem(store.domain, message, remedy)


def _check_late_orders(store: Store, delay_ms: int | None) -> Iterator[CheckResult]:
    """Yield that all orders come hours after their time, which the shop's clock tells."""
    if delay_ms is not None and delay_ms > _LATE_MS:
        message = (
            f"its newest orders arrived {delay_ms / HOUR_MS:,.0f} hours or more after the "
            "purchase: the shop sends them late, or this machine's clock is ahead"
        )
        yield notice(store.domain, message, f"look at `date`; {SET_CLOCK}")


def _tracking_issue_result(store: Store, symptom: TrackingIssue) -> CheckResult:
    result_of = problem if symptom.is_serious else notice
    return result_of(store.domain, symptom.message, symptom.remedy)


def _check_purchase_identification(
    store: Store, purchase_counts: PurchaseSampleCounts, *, has_reported_ids: bool
) -> Iterator[CheckResult]:
    if (
        purchase_counts.buys >= MIN_SAMPLE
        and purchase_counts.without_order > WITHOUT_ORDER_SHARE * purchase_counts.buys
    ):
        share = round(100 * purchase_counts.without_order / purchase_counts.buys)
        message = f"{share} % of its buy events have no order_id"
        remedy = (
            "send order_id with each buy event; without it no products count as bought "
            "together"
        )
        yield problem(store.domain, message, remedy)
    has_unknown_shoppers = (
        purchase_counts.without_events > UNKNOWN_SHOPPER_SHARE * purchase_counts.shoppers
    )
    if (
        purchase_counts.shoppers >= MIN_SAMPLE
        and has_unknown_shoppers
        and not has_reported_ids
    ):
        message = "none of the customers in its orders appears in its pages' events"
        remedy = (
            "set data-customer-id (or data-user-id) to the customer id that orders have"
        )
        yield problem(store.domain, message, remedy)


def _check_model(
    services: Services, store: Store, model_id: str | None, sample: ProductEventSummary
) -> Iterator[CheckResult]:
    remedy = f"productrecs train {store.domain}"
    if model_id is None:
        if sample.identified:
            message = "no model was trained yet"
            yield notice(store.domain, message, f"start productrecs serve, or {remedy}")
        return
    if services.snapshots.is_only_on_other_machine(
        SnapshotName(store.store_id, MODELS, model_id)
    ):
        message = "this data folder lacks its model, which another machine trained"
        yield problem(store.domain, message, f"{SHARE_MODELS}; on the only one, {remedy}")
        return
    try:
        open_arrays(models_folder(services.models, store.store_id) / model_id)
    except BrokenModelError as error:
        yield problem(store.domain, str(error), remedy)


def _check_training_freshness(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield whether training keeps up (within a minute where a worker runs)."""
    with services.database.reading() as connection:
        repository = TrainingRepository(connection, store.store_id)
        head, model = repository.head(), repository.serving_model()
    if head is None or model is None or model.applied_seq >= head.seq:
        return
    if model.trained_at < services.clock() - STALE_MS:
        message = (
            f"the model lacks {head.seq - model.applied_seq:,} records since "
            f"{iso(model.trained_at)}"
        )
        remedy = "start productrecs serve or productrecs worker, and check its log"
        yield problem(store.domain, message, remedy)
