"""Conditional responses: ETag, If-None-Match and 304."""

import hashlib
from typing import NamedTuple

from fastapi import Request, Response


def content_digest(body: bytes) -> str:
    """Return what tells one content from another."""
    return hashlib.sha256(body).hexdigest()[:20]


def etag_of(body: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{content_digest(body)}"'


def matches_etag(sent: str | None, tag: str) -> bool:
    """Return whether an If-None-Match names `tag`, weakly compared, or anything."""
    if sent is None:
        return False
    return sent.strip() == "*" or tag in [
        one.strip().removeprefix("W/") for one in sent.split(",")
    ]


def _kept_for(seconds: int) -> bytes:
    """Return the Cache-Control of what one browser may keep so long; 0: ask each time."""
    return b"private, max-age=%d" % seconds if seconds else b"private, no-cache"


class ConditionalResponse(NamedTuple):
    """A reply that one browser may keep: without a body for one that has it already."""

    status: int
    body: bytes
    tag: str
    cache: bytes


def conditional_response(
    body: bytes, seconds: int, sent: str | None
) -> ConditionalResponse:
    """Return what to answer to who may keep a body so long, and `sent` an If-None-Match."""
    tag, cache = etag_of(body), _kept_for(seconds)
    if matches_etag(sent, tag):
        return ConditionalResponse(304, b"", tag, cache)
    return ConditionalResponse(200, body, tag, cache)


def conditional_reply(request: Request, body: bytes, seconds: int) -> Response:
    """Return the same as a route's reply."""
    it = conditional_response(body, seconds, request.headers.get("if-none-match"))
    headers = {"etag": it.tag, "cache-control": it.cache.decode()}
    return Response(it.body, it.status, headers, "application/json" if it.body else None)
