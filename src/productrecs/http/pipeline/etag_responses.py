"""ETag responses: conditional replies by ETag, If-None-Match and 304."""

import hashlib
from typing import NamedTuple

from fastapi import Request, Response


def content_digest(body: bytes) -> str:
    """Return a digest of the content."""
    return hashlib.sha256(body).hexdigest()[:20]


def etag_of(body: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{content_digest(body)}"'


def matches_etag(sent: str | None, tag: str) -> bool:
    """Return whether an If-None-Match header matches `tag` (weak comparison)."""
    if sent is None:
        return False
    return sent.strip() == "*" or tag in [
        sent_tag.strip().removeprefix("W/") for sent_tag in sent.split(",")
    ]


class ConditionalResponse(NamedTuple):
    """A privately cacheable reply: 200 with a body, or 304 without."""

    status: int
    body: bytes
    tag: str
    cache: bytes


def conditional_response(
    body: bytes, seconds: int, sent: str | None
) -> ConditionalResponse:
    """Return the reply for a body that may be cached; `sent` is the If-None-Match.

    With 0 seconds the browser always revalidates.
    """
    tag = etag_of(body)
    cache = b"private, max-age=%d" % seconds if seconds else b"private, no-cache"
    if matches_etag(sent, tag):
        return ConditionalResponse(304, b"", tag, cache)
    return ConditionalResponse(200, body, tag, cache)


def conditional_reply(request: Request, body: bytes, seconds: int) -> Response:
    """Return the same as a FastAPI response."""
    response = conditional_response(body, seconds, request.headers.get("if-none-match"))
    headers = {"etag": response.tag, "cache-control": response.cache.decode()}
    return Response(
        response.body,
        response.status,
        headers,
        "application/json" if response.body else None,
    )
