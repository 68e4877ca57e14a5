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


def matches_etag(if_none_match: str | None, tag: str) -> bool:
    """Return whether an If-None-Match header matches `tag` (weak comparison)."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in [
        sent_tag.strip().removeprefix("W/") for sent_tag in if_none_match.split(",")
    ]


class ConditionalResponse(NamedTuple):
    """A privately cacheable reply: 200 with a body, or 304 without."""

    status: int
    body: bytes
    tag: str
    cache: bytes


def conditional_response(
    body: bytes, max_age_seconds: int, if_none_match: str | None
) -> ConditionalResponse:
    """Return the reply for a body that may be cached.

    With 0 seconds the browser always revalidates.
    """
    tag = etag_of(body)
    cache = (
        b"private, max-age=%d" % max_age_seconds
        if max_age_seconds
        else b"private, no-cache"
    )
    if matches_etag(if_none_match, tag):
        return ConditionalResponse(304, b"", tag, cache)
    return ConditionalResponse(200, body, tag, cache)


def conditional_reply(request: Request, body: bytes, max_age_seconds: int) -> Response:
    """Return the same as a FastAPI response."""
    response = conditional_response(
        body, max_age_seconds, request.headers.get("if-none-match")
    )
    headers = {"etag": response.tag, "cache-control": response.cache.decode()}
    return Response(
        response.body,
        response.status,
        headers,
        "application/json" if response.body else None,
    )
