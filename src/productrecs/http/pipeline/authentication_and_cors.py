"""Authentication and CORS: the key that each route requires, and headers for browsers.

A request is authenticated before any of its body is read.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from productrecs.core.errors import ProductRecsError
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.api_keys import (
    PUBLISHABLE_PREFIX,
    SECRET_PREFIX,
    hash_secret,
    key_id_of,
)
from productrecs.tenancy.accounts.store import Store


class MissingKeyError(ProductRecsError):
    """A call without a key to a route that needs one."""


class InvalidKeyError(ProductRecsError):
    """No store has this key."""


class SecretKeyRequiredError(ProductRecsError):
    """A call with a publishable key to a route that needs the secret key."""


class SecretKeyInUrlError(ProductRecsError):
    """A secret key was in a URL, where logs and browser histories store it."""


class MetricsTokenError(ProductRecsError):
    """The metrics token is missing or wrong; only the operator may read metrics."""


class Credential(StrEnum):
    """The key that a route needs."""

    NONE = "none"
    PUBLISHABLE = "publishable"
    EITHER = "either"
    SECRET = "secret"  # noqa: S105 - a kind of key, no key
    OPERATOR = "operator"  # the installation's own token


# An enumeration looks up a member in 0.15 us, a module a name in 0.02.
NONE: Final = Credential.NONE
PUBLISHABLE: Final = Credential.PUBLISHABLE
EITHER: Final = Credential.EITHER
SECRET: Final = Credential.SECRET
OPERATOR: Final = Credential.OPERATOR


@dataclass(frozen=True, slots=True)
class Route:
    """One path of the service: the credential of each method, and its properties."""

    methods: Mapping[str, Credential]
    widget: bool = False  # called by shops' pages: it answers OPTIONS
    empty: bytes = b""  # metered routes: the empty reply when the plan is used up or over
    sends_timing: bool = False  # replies have a Server-Timing header
    is_rate_limited: bool = True  # subject to rate limits
    needs_plan: bool = True  # a change of a store is refused when its plan is over


ITEM_PATH: Final = "/v1/items/{item_id}"
ORDER_PATH: Final = "/v1/orders/{order_id}"
UPLOAD_PATH: Final = "/orders/upload/{upload_id}"
FORECAST_PATH: Final = "/v1/forecast/items/{item_id}"

GUIDE_PATH: Final = "/docs-md/{slug}.md"
GUIDE_PAGE_PATH: Final = "/guides/{slug}"
ASSET_PATH: Final = "/docs/{asset}"
LOOK_PICTURE_PATH: Final = "/look-pictures/{store_domain}/{picture_id}.jpg"
SCRIPT_PATH: Final = "/widget/v1/{store_domain}.js"
SEARCH_SCRIPT_PATH: Final = "/widget/v1/search-{store_domain}.js"
LOOK_SCRIPT_PATH: Final = "/widget/v1/look-{store_domain}.js"
BUILD_PATH: Final = "/widget/v1/_/{build}.js"
PLUGIN_PATH: Final = "/plugin/service-recommender.zip"
OPENCART_PATH: Final = "/plugin/productrecs.ocmod.zip"
PRESTASHOP_PATH: Final = "/plugin/productrecs-prestashop.zip"

# Every route of the service. A route that is not listed here does not exist.
ROUTES: Final[Mapping[str, Route]] = MappingProxyType(
    {
        "/v1/recommendations": Route(
            {"GET": Credential.EITHER}, widget=True, empty=b'{"recommendations":[]}'
        ),
        "/v1/trending": Route(
            {"GET": Credential.EITHER}, widget=True, empty=b'{"recommendations":[]}'
        ),
        "/v1/search": Route(
            {"GET": Credential.EITHER},
            widget=True,
            empty=b'{"results":[]}',
            sends_timing=True,
        ),
        "/v1/search/image": Route(
            {"POST": Credential.PUBLISHABLE},
            widget=True,
            empty=b'{"results":[]}',
            sends_timing=True,
        ),
        "/v1/shop-the-look/analyze": Route(
            {"POST": Credential.PUBLISHABLE},
            widget=True,
            empty=b'{"hotspots":[]}',
            sends_timing=True,
        ),
        "/v1/looks": Route(
            {"GET": Credential.PUBLISHABLE},
            widget=True,
            empty=b'{"look":null}',
            sends_timing=True,
        ),
        "/v1/widget-config": Route(
            {"GET": Credential.PUBLISHABLE}, widget=True, sends_timing=True
        ),
        "/v1/forecast/summary": Route({"GET": Credential.EITHER}, widget=True),
        FORECAST_PATH: Route({"GET": Credential.EITHER}, widget=True),
        "/v1/events": Route(
            {"POST": Credential.PUBLISHABLE}, widget=True, is_rate_limited=False
        ),
        "/v1/orders": Route(
            {"POST": Credential.EITHER, "GET": Credential.SECRET},
            widget=True,
            is_rate_limited=False,
        ),
        ORDER_PATH: Route({"GET": Credential.SECRET}),
        "/v1/items": Route({"GET": Credential.SECRET, "POST": Credential.SECRET}),
        ITEM_PATH: Route({"GET": Credential.SECRET, "DELETE": Credential.SECRET}),
        "/orders/upload": Route({"POST": Credential.SECRET}),
        UPLOAD_PATH: Route({"GET": Credential.SECRET}),
        "/integration/connect": Route({"POST": Credential.SECRET}),
        "/integration/widget-config": Route(
            {"GET": Credential.SECRET, "PUT": Credential.SECRET}
        ),
        "/integration/recommender-settings": Route(
            {"GET": Credential.SECRET, "PUT": Credential.SECRET}
        ),
        "/integration/bundles": Route(
            dict.fromkeys(("GET", "POST", "PUT", "DELETE"), Credential.SECRET)
        ),
        "/integration/tests": Route(
            dict.fromkeys(("GET", "POST", "PUT"), Credential.SECRET)
        ),
        "/integration/engines/init": Route({"POST": Credential.SECRET}),
        "/integration/sync-engines": Route({"POST": Credential.SECRET}),
        "/integration/train": Route({"POST": Credential.SECRET}),
        "/integration/customer-ids": Route({"POST": Credential.SECRET}),
        "/integration/status": Route({"GET": Credential.SECRET}),
        "/integration/report": Route({"GET": Credential.SECRET}),
        "/integration/dashboard-link": Route({"POST": Credential.SECRET}, needs_plan=False),
        "/health/live": Route({"GET": Credential.NONE}, is_rate_limited=False),
        "/health/ready": Route({"GET": Credential.NONE}, is_rate_limited=False),
        "/metrics": Route({"GET": Credential.OPERATOR}, is_rate_limited=False),
        "/openapi.json": Route({"GET": Credential.NONE}),
        "/docs": Route({"GET": Credential.NONE}),
        ASSET_PATH: Route({"GET": Credential.NONE}),
        "/llms.txt": Route({"GET": Credential.NONE}),
        "/llms-full.txt": Route({"GET": Credential.NONE}),
        GUIDE_PATH: Route({"GET": Credential.NONE}),
        "/guides": Route({"GET": Credential.NONE}),
        GUIDE_PAGE_PATH: Route({"GET": Credential.NONE}),
        SCRIPT_PATH: Route({"GET": Credential.NONE}),
        SEARCH_SCRIPT_PATH: Route({"GET": Credential.NONE}),
        LOOK_SCRIPT_PATH: Route({"GET": Credential.NONE}),
        BUILD_PATH: Route({"GET": Credential.NONE}),
        PLUGIN_PATH: Route({"GET": Credential.NONE}),
        OPENCART_PATH: Route({"GET": Credential.NONE}),
        PRESTASHOP_PATH: Route({"GET": Credential.NONE}),
        LOOK_PICTURE_PATH: Route({"GET": Credential.NONE}),
        "/mcp": Route({"POST": Credential.NONE}),
        "/": Route({"GET": Credential.NONE}),
    }
)
# Every page of the dashboard, which authenticates by session: `http/dashboard`.
DASHBOARD_PATH: Final = "/dashboard"
SIGN_IN_PATH: Final = f"{DASHBOARD_PATH}/sign-in"
DASHBOARD: Final = Route({"GET": Credential.NONE, "POST": Credential.NONE})
# The folders of the documentation and of the widgets' scripts, each with its route. One
# that ends in a slash has subfolders, such as one per store.
PAGE_FOLDERS: Final[Mapping[str, Route]] = MappingProxyType(
    {
        path.rpartition("/")[0]: ROUTES[path]
        for path in (GUIDE_PATH, GUIDE_PAGE_PATH, ASSET_PATH, SCRIPT_PATH, BUILD_PATH)
    }
    | {"/look-pictures/": ROUTES[LOOK_PICTURE_PATH]}
)


@dataclass(slots=True)  # made for each request: cheaper than frozen or a NamedTuple
class RequestKeys:
    """The keys of a request, by their place in it."""

    query: str | None
    header: str | None  # X-Pub-Key
    secret: str | None  # X-API-Key, or a bearer token


@dataclass(slots=True)
class Caller:
    """An authenticated store, and the kind of key."""

    store: Store
    credential: Credential
    key_id: str = ""  # of a secret key

    @property
    def rate_limit_key(self) -> str:
        """An identifier of the key that is not the key."""
        return f"{self.credential} of {self.store.store_id}"


def check_operator(headers: Mapping[bytes, bytes], token: str | None) -> None:
    """Check the metrics token of the installation.

    Raises:
        MetricsTokenError: when it is missing or wrong, or the installation has none.
    """
    if token is None:
        message = (
            "metrics are disabled; set PRODUCTRECS_METRICS_TOKEN "
            "(openssl rand -hex 32), and send it as a bearer token"
        )
        raise MetricsTokenError(message)
    scheme, _, sent = headers.get(b"authorization", b"").partition(b" ")
    is_right = secrets.compare_digest(sent.strip(), token.encode())
    if scheme.lower() != b"bearer" or not is_right:
        message = (
            "send PRODUCTRECS_METRICS_TOKEN as a bearer token; keys of stores are not "
            "accepted"
        )
        raise MetricsTokenError(message)


def requires_active_plan(method: str, credential: Credential) -> bool:
    """Return whether a call needs an active plan.

    These are the writes of a merchant's own system except deletions: pushes, uploads and
    integration writes. Events and orders never are.
    """
    return credential is SECRET and method in {"POST", "PUT", "PATCH"}


def keys_of(
    query: bytes, parsed_query: Mapping[str, str] | None, headers: Mapping[bytes, bytes]
) -> RequestKeys:
    """Return the keys of a request; header names are in lower case.

    `parsed_query` is the parsed query; None where it is unusual.
    """
    if parsed_query is not None:
        in_query = parsed_query.get("key")
    else:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        in_query = next((value for name, value in pairs if name == "key"), None)
    pub, secret = headers.get(b"x-pub-key"), headers.get(b"x-api-key")
    if secret is None and (authorization := headers.get(b"authorization")) is not None:
        scheme, _, token = authorization.partition(b" ")
        secret = token.strip() if scheme.lower() == b"bearer" else None
    return RequestKeys(
        query=in_query or None,
        header=pub.decode("latin-1") if pub else None,
        secret=secret.decode("latin-1") if secret else None,
    )


def authenticate(
    keys: RequestKeys, credential: Credential, accounts: AccountDirectory
) -> Caller:
    """Return the caller of a request.

    Raises:
        MissingKeyError: without a key where the route needs one.
        InvalidKeyError: for a key that no store has.
        SecretKeyRequiredError: for a publishable key where the secret one is needed.
        SecretKeyInUrlError: for a secret key in the `key` parameter.
    """
    if keys.query and keys.query.startswith(SECRET_PREFIX):
        message = (
            "a secret key must never be in an address; send it as the header X-API-Key, "
            "and replace it now with `productrecs keys rotate`"
        )
        raise SecretKeyInUrlError(message)
    publishable = keys.query or keys.header
    if credential is SECRET:
        return _by_secret(keys.secret, publishable, accounts)
    if credential is EITHER and keys.secret:
        return _by_secret(keys.secret, publishable, accounts)
    return _by_publishable(publishable, keys.secret, accounts)


def _by_secret(
    secret: str | None, publishable: str | None, accounts: AccountDirectory
) -> Caller:
    if secret is None:
        if publishable is None:
            message = "no key was sent; send the secret key as the header X-API-Key"
            raise MissingKeyError(message)
        message = "this needs the secret key (sk_...) as the header X-API-Key"
        raise SecretKeyRequiredError(message)
    if secret.startswith(PUBLISHABLE_PREFIX):
        message = (
            "a publishable key was sent as X-API-Key; this needs the secret key (sk_...)"
        )
        raise SecretKeyRequiredError(message)
    store = accounts.by_secret_key(secret)
    if store is None:
        message = "no store has this secret key; it may have been rotated"
        raise InvalidKeyError(message)
    return Caller(store, SECRET, key_id_of(hash_secret(secret)))


def _by_publishable(
    publishable: str | None, secret: str | None, accounts: AccountDirectory
) -> Caller:
    if publishable is None:
        message = (
            "no key was sent; send the publishable key (pk_...) as the parameter `key`"
        )
        if secret is not None:
            message = "this needs the publishable key (pk_...) as the parameter `key`"
        raise MissingKeyError(message)
    store = accounts.by_publishable_key(publishable)
    if store is None:
        message = "no store has this publishable key; `productrecs store show` shows it"
        raise InvalidKeyError(message)
    return Caller(store, PUBLISHABLE)


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


class ForeignOriginError(ProductRecsError):
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


def check_origin(origin: str | None, base: str) -> None:
    """Accept programs, which send no Origin, and pages of the service itself.

    The scheme may differ: a proxy may speak TLS in our place.

    Raises:
        ForeignOriginError: for any other origin.
    """
    if origin is not None and urlsplit(base).netloc != origin.partition("://")[2].lower():
        message = (
            "only this service's own pages may send an Origin header here; leave it out in "
            "programs"
        )
        raise ForeignOriginError(message)
