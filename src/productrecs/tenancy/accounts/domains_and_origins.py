"""Domains and origins: normalised, so that equal ones have equal text."""

import re
from typing import Final
from urllib.parse import urlsplit

import idna

from productrecs.core.errors import ProductRecsError

_RESERVED: Final = ("search-", "look-")
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST_HOST: Final = 253
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class DomainError(ProductRecsError):
    """The text is not a valid domain for a store."""


class OriginError(ProductRecsError):
    """The text is not a full origin such as `https://www.example.com`."""


def normalise_domain(text: str) -> str:
    """Return a store's domain in lower case and IDNA, without scheme, port and path.

    Raises:
        DomainError: when nothing usable is left, or the domain begins with `search-` or
            `look-` (its widget scripts would collide with another store's).
    """
    host = _normalised_host(text if "//" in text else f"//{text.strip()}")
    if host is None:
        message = f"{text!r} is not a domain; write it like shop.example.com"
        raise DomainError(message)
    if host.startswith(_RESERVED):
        message = f"{host!r} starts with search- or look-, which would hide its own scripts"
        raise DomainError(message)
    return host


def validate_new_domain(text: str) -> str:
    """Return the domain of a new store, as `normalise_domain` does.

    Existing stores are found by any domain.

    Raises:
        DomainError: when browsers cannot reach it because of its labels or length.
    """
    host = normalise_domain(text)
    labels = [] if host.startswith("[") else host.split(".")
    broken = [label for label in labels if not _LABEL.fullmatch(label)]
    if broken or len(host) > _LONGEST_HOST:
        shown = broken[0] if broken else host
        message = (
            f"{shown[:80]!r} is not valid in a domain: between dots are 1 to 63 letters, "
            "digits and hyphens, and a hyphen is neither first nor last"
        )
        raise DomainError(message)
    return host


def normalise_origin(text: str) -> str:
    """Return an origin as browsers send it: scheme, host, and a non-default port.

    Raises:
        OriginError: for `null`, a wildcard, a path, or a scheme other than http and https.
    """
    message = (
        f"{text!r} is not an origin; write https:// and the domain, without spaces and "
        "without a path, such as https://www.example.com"
    )
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError as error:
        raise OriginError(message) from error
    scheme, host = parts.scheme.lower(), _normalised_host(text)
    extra = parts.path.rstrip("/") or parts.query or parts.fragment or parts.username
    if scheme not in _DEFAULT_PORTS or host is None or extra:
        raise OriginError(message)
    if port is None or port == _DEFAULT_PORTS[scheme]:
        return f"{scheme}://{host}"
    return f"{scheme}://{host}:{port}"


def _normalised_host(text: str) -> str | None:
    try:
        host = (urlsplit(text.strip()).hostname or "").rstrip(".")
        if ":" in host:
            return f"[{host}]"
        return idna.encode(host, uts46=True).decode() if host else None
    except (ValueError, idna.IDNAError):
        return _ascii_host(text)


def _ascii_host(text: str) -> str | None:
    # Names such as `my_shop.local` are not valid IDNA but exist on intranets.
    try:
        host = (urlsplit(text.strip()).hostname or "").rstrip(".").lower()
    except ValueError:
        return None
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
    return host if host and set(host) <= allowed and ".." not in host else None
