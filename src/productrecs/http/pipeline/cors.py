"""CORS: the headers that let a browser's page read a reply, and pages that may not call."""

from typing import Final
from urllib.parse import urlsplit

from productrecs.core.errors import ProductRecsError
from productrecs.tenancy.accounts.store import Store

_ANY_ORIGIN: Final = (b"access-control-allow-origin", b"*")
_EXPOSED: Final = (
    b"access-control-expose-headers",
    (
        b"X-Request-Id, X-Billing-Status, X-Quota-Used, X-Quota-Limit, "
        b"X-Search-Relaxed, X-Search-Redirect, X-Search-Variant, Retry-After, "
        b"RateLimit, RateLimit-Policy"
    ),
)
_VARY: Final = (b"vary", b"Origin")

PREFLIGHT_HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (
    _ANY_ORIGIN,
    (b"access-control-allow-methods", b"GET, POST, PUT, DELETE, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Content-Type, X-Pub-Key, X-API-Key, Authorization, X-Request-Id",
    ),
    (b"access-control-max-age", b"86400"),
)
ANY_ORIGIN_HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (_ANY_ORIGIN, _EXPOSED)
REFUSED_ORIGIN_HEADERS: Final[tuple[tuple[bytes, bytes], ...]] = (_VARY,)


class NotOwnPageOriginError(ProductRecsError):
    """A page of another origin called; only programs and the service's own pages may."""


def cors_headers(
    store: Store | None, origin: bytes | None
) -> tuple[tuple[bytes, bytes], ...]:
    """Return the CORS headers of a reply.

    Without an allowlist, or without a known store, any page may read. With a list, only a
    listed origin is echoed; the reply varies by origin even when none was sent. The origin
    `null` is never on a list.
    """
    if store is None or not store.origins:
        return ANY_ORIGIN_HEADERS
    if origin is not None and origin.decode("latin-1") in store.origins:
        return ((b"access-control-allow-origin", origin), _EXPOSED, _VARY)
    return REFUSED_ORIGIN_HEADERS


def refuse_foreign_origin(origin: str | None, base: str) -> None:
    """Accept programs, which send no Origin, and pages of the service itself.

    The scheme may differ: a proxy may speak TLS in our place.

    Raises:
        NotOwnPageOriginError: for any other origin.
    """
    if origin is not None and urlsplit(base).netloc != origin.partition("://")[2].lower():
        message = (
            "only this service's own pages may send an Origin header here; leave it out in "
            "programs"
        )
        raise NotOwnPageOriginError(message)
