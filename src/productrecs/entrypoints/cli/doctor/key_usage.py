"""Key usage checks: origins missing from the allowlist, and exposed secret keys."""

from collections.abc import Iterator
from typing import Final

from productrecs.core.clock import DAY_MS, iso
from productrecs.entrypoints.cli.doctor.check_result import CheckResult, notice, problem
from productrecs.entrypoints.services import Services
from productrecs.tenancy.accounts.key_misuse.misuse import KeyMisuse, MisuseKind
from productrecs.tenancy.accounts.key_misuse.repository import KeyMisuseRepository
from productrecs.tenancy.accounts.store import Store

_RECENT_MS: Final = 7 * DAY_MS
_MOST_NAMED: Final = 5


def check_key_usage(services: Services, store: Store) -> Iterator[CheckResult]:
    """Yield origins missing from the allowlist, and whether the secret key leaked."""
    since_ms = services.clock() - _RECENT_MS
    with services.database.reading() as connection:
        found = KeyMisuseRepository(connection, store.store_id).all()
    foreign = {
        one.value
        for one in found
        if one.sign is MisuseKind.FOREIGN_ORIGIN and one.seen_at >= since_ms
    }
    yield from _origins(store, sorted(foreign - store.origins - {""}))
    yield from _leaks(store, [one for one in found if one.sign is MisuseKind.LEAKED_SECRET])


def _origins(store: Store, strange: list[str]) -> Iterator[CheckResult]:
    if not store.origins or not strange:
        return
    more = len(strange) - _MOST_NAMED
    names = ", ".join(strange[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    message = (
        f"pages of origins that are not on the allowlist sent requests this week: {names}"
    )
    remedy = (
        f"if they belong to the store: productrecs origins {store.domain} --add "
        f"{strange[0]}"
    )
    yield notice(store.domain, message, remedy)


def _leaks(store: Store, leaks: list[KeyMisuse]) -> Iterator[CheckResult]:
    if not leaks:
        return
    newest = leaks[0]
    place = f"in pages of {newest.value}" if newest.value else "in an address"
    message = (
        f"its secret key was sent {place} at {iso(newest.seen_at)}: others can know it"
    )
    remedy = (
        "remove it there (pages use the publishable key), then: productrecs keys rotate "
        f"{store.domain}"
    )
    yield problem(store.domain, message, remedy)
