"""What does the address say? Paths and query strings, decoded strictly."""

from typing import Final
from urllib.parse import unquote_to_bytes

from productrecs.core.errors import ProductRecsError

_ITEM_PREFIX: Final = b"/v1/items/"
FORECAST_PREFIX: Final = b"/v1/forecast/items/"


class BadPathError(ProductRecsError):
    """The path holds something that is no text; percent-encode it as UTF-8."""


def item_in_path(raw_path: bytes, prefix: bytes = _ITEM_PREFIX) -> str | None:
    """Return the item id after `prefix`, which may hold any Unicode and `/`.

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
        message = "the item id in the path is not UTF-8; percent-encode it as UTF-8"
        raise BadPathError(message) from error


def plain_query(query: bytes) -> dict[str, str] | None:
    """Return the parameters of a query string; None for anything out of the ordinary.

    Out of the ordinary: a name given twice, or text that is not UTF-8. The declared route
    then decides, so that this need not.
    """
    found: dict[str, str] = {}
    if not query:
        return found
    try:
        text = query.decode("ascii")
    except UnicodeDecodeError:
        return None
    for pair in text.split("&"):
        name, separator, value = pair.partition("=")
        if not separator or name in found or "%" in name or "+" in name:
            return None
        if "%" in value or "+" in value:
            try:
                value = unquote_to_bytes(value.replace("+", " ")).decode()
            except UnicodeDecodeError:
                return None
        found[name] = value
    return found
