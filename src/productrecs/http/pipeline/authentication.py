"""Authentication: the store that a request's key belongs to, and the kind of the key.

A request is authenticated before any of its body is read.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from productrecs.core.errors import ProductRecsError
from productrecs.http.pipeline.route_declaration import (
    EITHER,
    PUBLISHABLE,
    SECRET,
    CredentialKind,
)
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.api_keys import (
    PUBLISHABLE_PREFIX,
    SECRET_PREFIX,
    hash_secret,
    key_id_of,
)
from productrecs.tenancy.accounts.store import Store


class MissingKeyError(ProductRecsError):
    """A call without a key or an access token to a route that needs one."""


class UnknownKeyError(ProductRecsError):
    """No store has this key or access token."""


class SecretKeyRequiredError(ProductRecsError):
    """A call with a publishable key to a route that needs the secret key."""


class SecretKeyInUrlError(ProductRecsError):
    """A secret key was in a URL, where logs and browser histories store it."""


class MetricsTokenError(ProductRecsError):
    """The metrics token is missing or wrong; only the operator may read metrics."""


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
    credential: CredentialKind
    key_id: str = ""  # of a secret key

    @property
    def rate_limit_key(self) -> str:
        """An identifier of the key that is not the key."""
        return f"{self.credential} of {self.store.store_id}"


def check_metrics_token(headers: Mapping[bytes, bytes], token: str | None) -> None:
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


def requires_active_plan(method: str, credential: CredentialKind) -> bool:
    """Return whether a call needs an active plan.

    These are the writes of a merchant's own system except deletions: pushes, uploads and
    integration writes. Events and orders never are.
    """
    return credential is SECRET and method in {"POST", "PUT", "PATCH"}


def keys_of(
    query_string: bytes,
    parsed_query: Mapping[str, str] | None,
    headers: Mapping[bytes, bytes],
) -> RequestKeys:
    """Return the keys of a request; header names are in lower case.

    `parsed_query` is the parsed query; None where it is unusual.
    """
    if parsed_query is not None:
        query_key = parsed_query.get("key")
    else:
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
        query_key = next((value for name, value in pairs if name == "key"), None)
    header_key, secret = headers.get(b"x-pub-key"), headers.get(b"x-api-key")
    if secret is None and (authorization := headers.get(b"authorization")) is not None:
        scheme, _, token = authorization.partition(b" ")
        secret = token.strip() if scheme.lower() == b"bearer" else None
    return RequestKeys(
        query=query_key or None,
        header=header_key.decode("latin-1") if header_key else None,
        secret=secret.decode("latin-1") if secret else None,
    )


def authenticate(
    keys: RequestKeys, credential: CredentialKind, accounts: AccountDirectory
) -> Caller:
    """Return the caller of a request.

    Raises:
        MissingKeyError: without a key where the route needs one.
        UnknownKeyError: for a key that no store has.
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
        return _caller_by_secret_key(keys.secret, publishable, accounts)
    if credential is EITHER and keys.secret:
        return _caller_by_secret_key(keys.secret, publishable, accounts)
    return _caller_by_publishable_key(publishable, keys.secret, accounts)


def _caller_by_secret_key(
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
        raise UnknownKeyError(message)
    return Caller(store, SECRET, key_id_of(hash_secret(secret)))


def _caller_by_publishable_key(
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
        raise UnknownKeyError(message)
    return Caller(store, PUBLISHABLE)
