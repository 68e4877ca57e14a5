"""Does the caller have this reply already? What tells one content from another."""

import hashlib

from fastapi import Request, Response


def digest(body: bytes) -> str:
    """Return what tells one content from another."""
    return hashlib.sha256(body).hexdigest()[:20]


def tag_of(body: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{digest(body)}"'


def has_already(sent: str | None, tag: str) -> bool:
    """Return whether an If-None-Match names `tag`, weakly compared, or anything."""
    if sent is None:
        return False
    return sent.strip() == "*" or tag in [
        one.strip().removeprefix("W/") for one in sent.split(",")
    ]


def kept_for(seconds: int) -> bytes:
    """Return the Cache-Control of what one browser may keep so long; 0: ask each time."""
    return b"private, max-age=%d" % seconds if seconds else b"private, no-cache"


def kept_reply(request: Request, body: bytes, seconds: int) -> Response:
    """Return a reply that one browser may keep; 304 without a body when it has it."""
    tag = tag_of(body)
    headers = {"etag": tag, "cache-control": kept_for(seconds).decode()}
    if has_already(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)
