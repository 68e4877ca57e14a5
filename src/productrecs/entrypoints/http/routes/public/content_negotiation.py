"""Content negotiation: HTML, markdown or JSON, by the caller's Accept header."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from fastapi import Request

HTML: Final = "text/html"
JSON: Final = "application/json"
MARKDOWN: Final = "text/markdown"
_SHARE: Final = re.compile(r"\bq\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)")


class _Wish(NamedTuple):
    """How much a kind is wished for: its share, then how early it was named."""

    share: float  # 0 (not at all) to 1
    earliness: int


def preferred_media_type(request: Request, offered: Sequence[str]) -> str:
    """Return which of the media types `offered` the caller prefers, by its Accept.

    The first offered without a preference, or if none can be met. Ties: the first named
    in Accept, then the first offered.
    """
    ranges = _ranges(request.headers.get("accept", "").lower())
    wishes = {kind: _wish(kind, ranges) for kind in offered}
    chosen = max(offered, key=wishes.__getitem__)
    return chosen if wishes[chosen].share else offered[0]


def _ranges(accept: str) -> dict[str, _Wish]:
    found = {}
    for place, part in enumerate(accept.split(",")):
        kind, _, rest = part.partition(";")
        share = _SHARE.search(rest)
        found[kind.strip()] = _Wish(float(share[1]) if share else 1.0, -place)
    return found


def _wish(kind: str, ranges: dict[str, _Wish]) -> _Wish:
    """Return the wish for a kind; what names it most closely counts."""
    group = f"{kind.partition('/')[0]}/*"
    close = (ranges[one] for one in (kind, group, "*/*") if one in ranges)
    return next(close, _Wish(0.0, 0))
