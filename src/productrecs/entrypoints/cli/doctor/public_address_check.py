"""Public address checks: the base URL's answer, and a proxy's headers."""

import http.client
import json
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from productrecs.entrypoints.cli.doctor.check_result import (
    CheckResult,
    notice,
    ok,
    problem,
)
from productrecs.settings import Settings

_PATH: Final = "/health/live?seen=true"
_SECONDS: Final = 5.0
_VARIABLE: Final = "PRODUCTRECS_BASE_URL"

# Forged headers that no proxy sets: a documentation address and an invalid scheme.
_CLAIMED: Final = {"X-Forwarded-For": "192.0.2.99", "X-Forwarded-Proto": "claimed"}
_LONGEST: Final = 10_000


class ObservedRequest(NamedTuple):
    """The doctor's probe request, as the service received it."""

    scheme: str | None
    host: str | None
    client: str | None


class _ProbeResponse(NamedTuple):
    """The response; `observed` is None if another program answered."""

    status: int
    seen: ObservedRequest | None


def check_address(settings: Settings) -> Iterator[CheckResult]:
    """Yield whether the service answers at its base URL, if one is set."""
    base = settings.base_url
    if base is None:
        return
    try:
        response = _send_probe(base)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        remedy = "renew the proxy's certificate, or configure TLS for that address"
        yield problem(
            "address", f"the certificate of {base} is not trusted: {reason}", remedy
        )
    except (OSError, http.client.HTTPException) as error:
        remedy = f"start the service and its proxy, or correct {_VARIABLE}"
        message = f"{base} does not answer ({error})"
        yield notice("address", message, remedy)
    else:
        if response.status != HTTPStatus.OK or response.seen is None:
            remedy = (
                f"configure the proxy to pass {base} to the service, or correct {_VARIABLE}"
            )
            message = (
                f"{base} answers {response.status}, and the answer is not from this program"
            )
            yield problem("address", message, remedy)
            return
        yield ok("address", f"{base} leads to the service")
        yield from check_proxy(base, response.seen)


def check_proxy(base: str, observed: ObservedRequest) -> Iterator[CheckResult]:
    """Yield wrong forwarding headers of the proxy; the service has no TLS itself."""
    parts = urlsplit(base)
    if observed.host is not None and observed.host.lower() != parts.netloc.lower():
        message = f"requests to {base} reach the service with the host {observed.host!r}"
        remedy = "configure the proxy to forward Host (nginx: proxy_set_header Host $host)"
        yield notice("proxy", message, remedy)
    if parts.scheme != "https":
        return
    if observed.scheme != "https":
        message = (
            f"the proxy uses https and tells the service {observed.scheme or 'nothing'}"
        )
        remedy = (
            "configure it to send the scheme (nginx: proxy_set_header X-Forwarded-Proto "
            "$scheme)"
        )
        yield notice("proxy", message, remedy)
    remedy = "let it write the header anew (nginx: proxy_set_header X-Forwarded-For "
    remedy += "$remote_addr)"
    if observed.client is None:
        message = "the proxy does not forward the client's address"
        yield notice("proxy", message, remedy)
    elif observed.client == _CLAIMED["X-Forwarded-For"]:
        message = "the proxy passes X-Forwarded-For on as clients write it: anybody may "
        message += "pretend to be somebody else"
        yield problem("proxy", message, remedy)


def _send_probe(base: str) -> _ProbeResponse:
    parts = urlsplit(base)
    kind = (
        http.client.HTTPSConnection
        if parts.scheme == "https"
        else http.client.HTTPConnection
    )
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}{_PATH}", headers=_CLAIMED)
        reply = connection.getresponse()
        return _ProbeResponse(reply.status, _observed(reply.read(_LONGEST)))
    finally:
        connection.close()


def _observed(body: bytes) -> ObservedRequest | None:
    try:
        fields = json.loads(body)["seen"]
        return ObservedRequest(fields["scheme"], fields["host"], fields["client"])
    except (ValueError, KeyError, TypeError):
        return None
