"""Storefront assets: style, script and icon, each at an address with its content's hash."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from productrecs.features.widgets.reserved_height import reserved_height_css
from productrecs.tenancy.accounts.store_settings import StoreSettings

HOME: Final = "/demo"
"""The path of the shop's home page; all its other pages are below."""

_MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {"shop.css": "text/css", "shop.js": "text/javascript", "icon.svg": "image/svg+xml"}
)
_HEADERS: Final = MappingProxyType(
    {
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
    }
)


def asset_url(name: str) -> str:
    """Return the address of a file, which browsers may cache forever."""
    digest = hashlib.sha256(_read(name)).hexdigest()[:12]
    return f"{HOME}/assets/{name}?v={digest}"


async def asset_response(request: Request) -> Response:
    """Return the file that a request names, or 404."""
    name = request.path_params["name"]
    if name not in _MEDIA_TYPES:
        return Response(status_code=404)
    return Response(_read(name), 200, _HEADERS, _MEDIA_TYPES[name])


@cache
def _read(name: str) -> bytes:
    content = (resources.files(__package__) / name).read_bytes()
    if name == "shop.css":  # the shop's policy forbids inline styles
        content += reserved_height_css(StoreSettings(), {}).encode()
    return content
