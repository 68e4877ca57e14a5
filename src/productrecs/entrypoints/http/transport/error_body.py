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
        """Whether the same request may succeed a little later: Retry-After says when."""
        return self.status in {429, 503}


ERROR_GUIDE: Final = "/docs-md/errors.md"
JSON: Final = b"application/json"
PROBLEM_JSON: Final = b"application/problem+json"
_NEVER: Final = re.compile(rb"\bq\s*=\s*0(\.0*)?\s*(;|$)")
OVERLOADED: Final = ErrorCode(503, "overloaded")
# What the server itself refuses, before there is a request.
BAD_REQUEST: Final = ErrorCode(400, "bad_request")
HEADERS_TOO_LARGE: Final = ErrorCode(431, "headers_too_large")
INTERNAL_ERROR: Final = ErrorCode(500, "internal")
INTERNAL_ERROR_DETAIL: Final = (
    "something went wrong on our side; the request id finds it in our log"
)


class FailedRequest(NamedTuple):
    """What a refusal should know of its request: its id, and where and how it came."""

    request_id: str
    base: str = ""
    path: str = ""
    accept: bytes = b""


class ErrorBody(NamedTuple):
    """A refusal as it is sent."""

    body: bytes
    content_type: bytes


def build_error_body(
    why: ErrorCode,
    detail: str,
    asked: FailedRequest,
    more: Mapping[str, object] | None = None,
) -> ErrorBody:
    """Return the form of every error but 422; `more` are further members of it.

    Who accepts `application/problem+json` gets that of RFC 9457, with the same members.
    """
    told: dict[str, object] = {
        "detail": detail,
        "code": why.code,
        "doc_url": f"{asked.base}{ERROR_GUIDE}#{why.code}",
        "request_id": asked.request_id,
        **(more or {}),
    }
    if not _accepts_problems(asked.accept):
        return ErrorBody(_encode(told), JSON)
    problem = {
        "type": told["doc_url"],
        "title": HTTPStatus(why.status).phrase,
        "status": why.status,
        "instance": asked.path,
    }
    return ErrorBody(_encode(problem | told), PROBLEM_JSON)


def _accepts_problems(accept: bytes) -> bool:
    kinds = (one.partition(b";") for one in accept.lower().split(b","))
    return any(
        kind.strip() == PROBLEM_JSON and not _NEVER.search(rest) for kind, _, rest in kinds
    )


def random_retry_after(rng: random.Random) -> bytes:
    """Return how many seconds to wait after a refusal, spread over some of them."""
    return str(rng.randint(1, 5)).encode()
