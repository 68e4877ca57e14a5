"""URL decoding: strict decoding of paths and query strings; the service's base URL."""

import re
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import Request
from starlette.convertors import PathConvertor, register_url_convertor

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext
    from productrecs.settings import Settings

_ITEM_PREFIX: Final = b"/v1/items/"
ORDER_PREFIX: Final = b"/v1/orders/"
FORECAST_PREFIX: Final = b"/v1/forecast/items/"

_DEPENDS_ON_HOST: Final = "productrecs.names_host"
_HOST: Final = re.compile(
    r"[A-Za-z0-9._-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?"
)


class _AnyTextConvertor(PathConvertor):
    """The rest of a path, including line breaks, where starlette's converter stops."""

    regex = r"[\s\S]*"


register_url_convertor("text", _AnyTextConvertor())


class BadPathError(ProductRecsError):
    """The path is not percent-encoded UTF-8."""


def decode_id_in_path(raw_path: bytes, prefix: bytes = _ITEM_PREFIX) -> str | None:
    """Return the id after `prefix`, which may hold any Unicode and `/`.

    None for another path, and for an empty id.

    Raises:
        BadPathError: when the percent-encoding is not UTF-8.
    """
    path = raw_path.split(b"?", 1)[0]
    if not path.startswith(prefix) or path == prefix:
        return None
    try:
        return unquote_to_bytes(path[len(prefix) :]).decode()
    except UnicodeDecodeError as error:
        message = "the id in the path is not UTF-8; percent-encode it as UTF-8"
        raise BadPathError(message) from error


def raw_path_of(scope: MutableMapping[str, Any]) -> str:
    """Return the raw path of a request, without its query, which may contain a key."""
    path: bytes = scope["raw_path"]
    return path.partition(b"?")[0].decode("latin-1")


def base_url_for_reply(request: Request) -> str:
    """Return the base URL that the caller used, without a trailing slash.

    The setting `PRODUCTRECS_BASE_URL` decides where it is set; else the Host header and,
    behind a proxy with TLS, X-Forwarded-Proto. Shared caches may not store such a reply:
    one caller's Host header would reach the others.
    """
    exchange: RequestContext = request.scope["productrecs"]
    settings = exchange.context.services.settings
    request.scope[_DEPENDS_ON_HOST] = settings.base_url is None
    return base_url_by_headers(dict(request.scope["headers"]), settings)


def depends_on_host_header(request: Request) -> bool:
    """Return whether the reply holds an address that the caller's headers gave."""
    return bool(request.scope.get(_DEPENDS_ON_HOST))


def base_url_by_headers(headers: Mapping[bytes, bytes], settings: "Settings") -> str:
    """Return the base URL, as `base_url_for_reply` does, from a request's headers."""
    if settings.base_url:
        return settings.base_url
    protocol = headers.get(b"x-forwarded-proto", b"").split(b",")[-1].strip().lower()
    scheme = "https" if protocol == b"https" else "http"
    host = headers.get(b"host", b"").decode("latin-1")
    if not _HOST.fullmatch(host):
        host = f"localhost:{settings.port}"
    return f"{scheme}://{host.lower()}"
