"""Compressed scripts: a widget script with its settings, in the caller's encoding.

The scripts are built from `widgets/` and ship with the package. Each ends in a call of
itself with its settings. The rest is the same for all stores and is compressed once: gzip
at start, brotli at build time.
"""

import hashlib
import re
import zlib
from functools import lru_cache
from importlib import resources
from typing import Final

from fastapi import Request, Response

from productrecs.entrypoints.http.pipeline.conditional_response import matches_etag
from productrecs.entrypoints.http.routes.public.gzip_encoding import (
    GZIP_LEVEL,
    GZIP_WINDOW_BITS,
    accepts_gzip,
)

SCRIPT: Final = "text/javascript; charset=utf-8"
HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "vary": "Accept-Encoding",
}
_CALL: Final = b"(null);"
_BROTLI: Final = re.compile(
    r"(?:^|,)\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?=,|$)"
)


class CompressedScript:
    """A script up to its last call, as it is and compressed."""

    def __init__(self, name: str) -> None:
        folder = resources.files(__package__) / "assets" / "widgets"
        built = (folder / f"{name}.js").read_bytes().rstrip()
        if not built.endswith(_CALL):
            message = f"{name}.js does not end with its call; build it again (widgets/)"
            raise RuntimeError(message)
        self._body = built.removesuffix(_CALL)
        self._in_brotli = (folder / f"{name}.js.br").read_bytes()
        self._digest = hashlib.sha256(self._body)
        self._compressor = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_WINDOW_BITS)
        self._compressed = self._compressor.compress(self._body)

    def plain(self, variables: bytes) -> bytes:
        """Return the script, called with `variables`."""
        return b"%b(%b);\n" % (self._body, variables)

    def compressed(self, variables: bytes) -> bytes:
        """Return the script in gzip; only its end is compressed again."""
        rest = self._compressor.copy()
        return self._compressed + rest.compress(b"(%b);\n" % variables) + rest.flush()

    def in_brotli(self, variables: bytes) -> bytes:
        """Return the same in brotli: its end follows as it is (RFC 7932, section 9.2)."""
        end = b"(%b);\n" % variables
        # A meta-block that is not compressed: not the last (1 bit), the length in 4 nibbles
        # (2 bits of 0), the length less 1 (16 bits), not compressed (1 bit), whole bytes.
        head = (len(end) - 1) << 3 | 1 << 19
        return self._in_brotli + head.to_bytes(3, "little") + end + b"\x03"  # empty, last

    def tag(self, variables: bytes, coding: str) -> str:
        """Return the ETag of this script in this encoding."""
        digest = self._digest.copy()
        digest.update(variables)
        return f'"{digest.hexdigest()[:20]}{coding}"'


@lru_cache
def load_script(name: str) -> CompressedScript:
    """Return one of the scripts in the package."""
    return CompressedScript(name)


def send_script(
    request: Request, script: CompressedScript, variables: bytes, cache: str
) -> Response:
    """Return a script, called with `variables`, in the best accepted encoding."""
    wanted = request.headers.get("accept-encoding", "").lower()
    coding = "br" if _BROTLI.search(wanted) else "gzip" if accepts_gzip(request) else ""
    tag = script.tag(variables, f"-{coding}" if coding else "")
    headers = {**HEADERS, "etag": tag, "cache-control": cache}
    if matches_etag(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    if not coding:
        return Response(script.plain(variables), media_type=SCRIPT, headers=headers)
    headers["content-encoding"] = coding
    body = script.in_brotli(variables) if coding == "br" else script.compressed(variables)
    return Response(body, media_type=SCRIPT, headers=headers)
