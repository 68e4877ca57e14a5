"""Do shops and browsers reach the service where they are told to?"""

import http.client
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from productrecs.entrypoints.cli.doctor.findings import Finding, note, ok, wrong
from productrecs.settings import Settings

_PATH: Final = "/health/live"
_SECONDS: Final = 5.0
_VARIABLE: Final = "PRODUCTRECS_BASE_URL"


def check_address(settings: Settings) -> Iterator[Finding]:
    """Yield whether the service answers at its base URL; nothing where there is none."""
    base = settings.base_url
    if base is None:
        return
    try:
        status, has_our_id = _asked(base)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        remedy = "renew the proxy's certificate, or let it speak TLS at that address"
        yield wrong("address", f"{base} cannot be trusted: {reason}", remedy)
    except (OSError, http.client.HTTPException) as error:
        remedy = f"start the service and its proxy, or correct {_VARIABLE}"
        message = f"nobody answers at {base} ({error})"
        yield note("address", message, remedy)
    else:
        if status != http.HTTPStatus.OK or not has_our_id:
            remedy = f"let the proxy pass {base} to the service, or correct {_VARIABLE}"
            message = f"{base}{_PATH} is answered {status}, and not by this program"
            yield wrong("address", message, remedy)
        else:
            yield ok("address", f"{base} leads to the service")


def _asked(base: str) -> tuple[int, bool]:
    """Return the status of a call there, and whether the reply looks like ours."""
    parts = urlsplit(base)
    kind = (
        http.client.HTTPSConnection
        if parts.scheme == "https"
        else http.client.HTTPConnection
    )
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}{_PATH}")
        reply = connection.getresponse()
        return reply.status, reply.getheader("x-request-id") is not None
    finally:
        connection.close()
