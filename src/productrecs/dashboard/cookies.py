"""Cookies of the dashboard, and the CSRF token made from one of them.

Over TLS they have `__Host-` and Secure. Browsers reject such cookies over plain HTTP, which
is meant for local use, so they have plain names there.
"""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Final

SESSION: Final = "session"
VISITOR: Final = "visitor"
FLASH: Final = "flash"
UNDO_MARK: Final = "|"  # in the flash cookie, before the id of what can be undone
_FLASH_SECONDS: Final = 60
_LONGEST: Final = 400


def cookie_name(name: str, base_url: str) -> str:
    """Return a cookie's name for pages under `base_url`."""
    prefix = "__Host-" if base_url.startswith("https://") else ""
    return f"{prefix}productrecs_{name}"


def read_cookie(cookies: Mapping[str, str], name: str, base_url: str) -> str:
    """Return a cookie's value; "" if there is none."""
    return cookies.get(cookie_name(name, base_url), "")[:_LONGEST]


def set_cookie_header(name: str, value: str | None, base_url: str) -> str:
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


def csrf_digest(secret: str, salt: str) -> str:
    """Return the part of a CSRF token that proves the session."""
    return hashlib.sha256(f"csrf {secret} {salt}".encode()).hexdigest()[:32]


def is_csrf_token(secret: str, token: str) -> bool:
    """Return whether a token belongs to a session (or to a visitor without one)."""
    if not secret or not token.isascii():
        return False
    expected = csrf_digest(secret, token[:16])
    return secrets.compare_digest(expected, token[16:])
