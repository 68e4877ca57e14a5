"""Cookies: their names and attributes; with `__Host-` and Secure over TLS.

Browsers reject such cookies over plain HTTP, which is meant for local use, so they have
plain names there.
"""

from collections.abc import Mapping
from typing import Final

SESSION: Final = "session"
VISITOR: Final = "visitor"
FLASH: Final = "flash"
_FLASH_SECONDS: Final = 60
_LONGEST: Final = 400


def cookie_name(name: str, base_url: str) -> str:
    """Return a cookie's name for pages under `base_url`."""
    prefix = "__Host-" if base_url.startswith("https://") else ""
    return f"{prefix}productrecs_{name}"


def read_cookie(cookies: Mapping[str, str], name: str, base_url: str) -> str:
    """Return a cookie's value; "" if there is none."""
    return cookies.get(cookie_name(name, base_url), "")[:_LONGEST]


def set_cookie(name: str, value: str | None, base_url: str) -> str:
    """Return the Set-Cookie header's value; None deletes the cookie."""
    parts = [f"{cookie_name(name, base_url)}={value or ''}", "Path=/", "HttpOnly"]
    if base_url.startswith("https://"):
        parts.append("Secure")
    parts.append("SameSite=Lax")
    if value is None:
        parts.append("Max-Age=0")
    elif name == FLASH:
        parts.append(f"Max-Age={_FLASH_SECONDS}")
    return "; ".join(parts)
