"""gzip encoding: whether a caller accepts it, and compressed bodies."""

import zlib
from functools import lru_cache
from typing import Final

from fastapi import Request

GZIP_LEVEL: Final = 9
GZIP_WINDOW_BITS: Final = 31  # zlib's window of 32 KiB, in gzip's clothes


def accepts_gzip(request: Request) -> bool:
    """Return whether a caller says that it does."""
    return "gzip" in request.headers.get("accept-encoding", "").lower()


@lru_cache(maxsize=32)
def gzip_body(body: bytes) -> bytes:
    """Return a body in gzip; recent ones are cached."""
    return zlib.compress(body, GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)
