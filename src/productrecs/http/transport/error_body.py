"""Error bodies: one JSON form for every refusal, RFC 9457 for clients that accept it.

The 422 of a body that does not fit its schema is in `schemas/validation_errors.py`.
"""

import random
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

_encode: Final = msgspec.json.Encoder().encode


class ErrorCode(NamedTuple):
    """The status of an error, and its code for programs."""

    status: int
    code: str

    @property
    def is_transient(self) -> bool:
        """Whether a retry may succeed; the reply then has Retry-After."""
        return self.status in {429, 503}


ERROR_GUIDE: Final = "/docs-md/errors.md"
JSON: Final = b"application/json"
PROBLEM_JSON: Final = b"application/problem+json"
_QUALITY_ZERO: Final = re.compile(rb"\bq\s*=\s*0(\.0*)?\s*(;|$)")
OVERLOADED: Final = ErrorCode(503, "overloaded")
# Errors of the server itself, before there is a request.
BAD_REQUEST: Final = ErrorCode(400, "bad_request")
HEADERS_TOO_LARGE: Final = ErrorCode(431, "headers_too_large")
INTERNAL_ERROR: Final = ErrorCode(500, "internal")
INTERNAL_ERROR_DETAIL: Final = (
    "internal error; the request id identifies it in the service's log"
)


class FailedRequest(NamedTuple):
    """The request that an error body describes; fields that are unknown are empty."""

    request_id: str
    base: str = ""
    path: str = ""
    accept: bytes = b""


class ErrorBody(NamedTuple):
    """An encoded error body."""

    body: bytes
    content_type: bytes


def build_error_body(
    code: ErrorCode,
    detail: str,
    request: FailedRequest,
    extra_fields: Mapping[str, object] | None = None,
) -> ErrorBody:
    """Return the body of any error but 422; `extra_fields` are further members.

    A client that accepts `application/problem+json` gets RFC 9457 with the same members.
    """
    members: dict[str, object] = {
        "detail": detail,
        "code": code.code,
        "doc_url": f"{request.base}{ERROR_GUIDE}#{code.code}",
        "request_id": request.request_id,
        **(extra_fields or {}),
    }
    if not _accepts_problem_json(request.accept):
        return ErrorBody(_encode(members), JSON)
    problem = {
        "type": members["doc_url"],
        "title": HTTPStatus(code.status).phrase,
        "status": code.status,
        "instance": request.path,
    }
    return ErrorBody(_encode(problem | members), PROBLEM_JSON)


def _accepts_problem_json(accept: bytes) -> bool:
    kinds = (media_range.partition(b";") for media_range in accept.lower().split(b","))
    return any(
        kind.strip() == PROBLEM_JSON and not _QUALITY_ZERO.search(parameters)
        for kind, _, parameters in kinds
    )


def random_retry_after(rng: random.Random) -> bytes:
    """Return a random Retry-After in seconds, which spreads retries."""
    return str(rng.randint(1, 5)).encode()
