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
    """Yield which origins asked that the allowlist lacks, and whether the secret leaked."""
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
    message = f"pages asked this week that its origin allowlist lacks: {names}"
    remedy = f"if they are its own: productrecs origins {store.domain} --add {strange[0]}"
    yield notice(store.domain, message, remedy)


def _leaks(store: Store, leaks: list[KeyMisuse]) -> Iterator[CheckResult]:
    if not leaks:
        return
    newest = leaks[0]
    place = f"in pages of {newest.value}" if newest.value else "in an address"
    message = f"its secret key was sent {place} at {iso(newest.seen_at)}: others know it"
    remedy = (
        "take it out of there (pages need the publishable key), then: "
        f"productrecs keys rotate {store.domain}"
    )
    yield problem(store.domain, message, remedy)
