"""Storefront assets: style, script and icon, each at an address with its content's hash."""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

from demo_store.storefront.http_messages import HOME, ShopReply
from productrecs.features.widgets.reserved_height import reserve_css
from productrecs.tenancy.accounts.store_settings import StoreSettings

_KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "shop.css": "text/css; charset=utf-8",
        "shop.js": "text/javascript; charset=utf-8",
        "icon.svg": "image/svg+xml",
    }
)
_CACHE_FOREVER: Final = ("cache-control", "public, max-age=31536000, immutable")


def address_of(name: str) -> str:
    """Return the address of a file, which browsers may cache forever."""
    digest = hashlib.sha256(_read(name)).hexdigest()[:12]
    return f"{HOME}/assets/{name}?v={digest}"


def asset(name: str) -> ShopReply | None:
    """Return a file; None if there is no file with this name."""
    if name not in _KINDS:
        return None
    kind = ("content-type", _KINDS[name])
    safe = ("x-content-type-options", "nosniff")
    return ShopReply(200, _read(name), [kind, _CACHE_FOREVER, safe])


@cache
def _read(name: str) -> bytes:
    found = (resources.files(__package__) / name).read_bytes()
    if name == "shop.css":  # the shop's policy forbids inline styles
        found += reserve_css(StoreSettings(), {}).encode()
    return found
