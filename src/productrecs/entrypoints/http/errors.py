"""Which status does an error have? The one table, and the one shape of an error's body."""

import random
import re
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from productrecs.core.errors import (
    ProductRecsError,
    QueueFullError,
    StorageBrokenError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    UnconfirmedWriteError,
    UnknownItemError,
)
from productrecs.core.report import ReportError
from productrecs.engines.text.failures import BrokenIndexError
from productrecs.entrypoints.http.authentication import (
    InvalidKeyError,
    MetricsTokenError,
    MissingKeyError,
    SecretInAddressError,
    SecretKeyRequiredError,
)
from productrecs.entrypoints.http.bodies import (
    BodyTooLargeError,
    ClientGoneError,
    EncodedBodyError,
)
from productrecs.entrypoints.http.multipart import NotAFormError, UploadStalledError
from productrecs.entrypoints.http.origins import ForeignOriginError
from productrecs.entrypoints.http.paths import BadPathError, UnknownBuildError
from productrecs.entrypoints.http.pressure import TooMuchAtOnceError
from productrecs.entrypoints.http.rates import TooManyRequestsError
from productrecs.entrypoints.http.schemas.items import TooManyItemsError
from productrecs.features.guides.library import UnknownGuideError
from productrecs.features.looks.look import UnknownPictureError
from productrecs.features.widgets.config import (
    TooManyWidgetTypesError,
    WidgetConfigTooLargeError,
)
from productrecs.records.catalog.push import CatalogLimitError
from productrecs.records.orders.csv_format import MissingColumnsError
from productrecs.records.orders.uploads.files import FileTooLargeError
from productrecs.records.orders.uploads.upload import (
    TooManyUploadsError,
    UnknownUploadError,
)
from productrecs.records.pictures.decoding import PictureTooLargeError
from productrecs.records.repeats.named import NameTakenError
from productrecs.storage.index_files import DamagedFilesError
from productrecs.storage.store_log import StoreGoneError
from productrecs.tenancy.billing.subscription import BillingInactiveError
from productrecs.training.visual.lookout import LookoutError

_encode: Final = msgspec.json.Encoder().encode


class Answer(NamedTuple):
    """The status of an error, and its code for programs."""

    status: int
    code: str

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed a little later: Retry-After says when."""
        return self.status in {429, 503}


GUIDE: Final = "/docs-md/errors.md"
JSON: Final = b"application/json"
PROBLEM: Final = b"application/problem+json"
_NEVER: Final = re.compile(rb"\bq\s*=\s*0(\.0*)?\s*(;|$)")
OVERLOADED: Final = Answer(503, "overloaded")

# BodyError is not here: it is 422 in the shape of interface 2.12.
ANSWERS: Final[Mapping[type[ProductRecsError], Answer]] = MappingProxyType(
    {
        BadPathError: Answer(400, "bad_path"),
        TooManyItemsError: Answer(400, "too_many_items"),
        TooManyWidgetTypesError: Answer(400, "too_many_widget_types"),
        WidgetConfigTooLargeError: Answer(400, "widget_config_too_large"),
        MissingColumnsError: Answer(400, "missing_columns"),
        ReportError: Answer(400, "report_impossible"),
        UploadStalledError: Answer(400, "upload_stalled"),
        ClientGoneError: Answer(400, "client_closed"),
        MissingKeyError: Answer(401, "key_missing"),
        InvalidKeyError: Answer(401, "key_invalid"),
        SecretKeyRequiredError: Answer(401, "secret_key_required"),
        SecretInAddressError: Answer(401, "secret_key_in_address"),
        StoreGoneError: Answer(401, "key_invalid"),
        MetricsTokenError: Answer(401, "metrics_token_invalid"),
        BillingInactiveError: Answer(402, "billing_inactive"),
        CatalogLimitError: Answer(402, "plan_limit_catalog"),
        ForeignOriginError: Answer(403, "origin_refused"),
        UnknownItemError: Answer(404, "item_unknown"),
        UnknownGuideError: Answer(404, "guide_unknown"),
        UnknownPictureError: Answer(404, "picture_unknown"),
        UnknownBuildError: Answer(404, "build_unknown"),
        UnknownUploadError: Answer(404, "upload_unknown"),
        NameTakenError: Answer(409, "idempotency_key_reused"),
        BodyTooLargeError: Answer(413, "body_too_large"),
        FileTooLargeError: Answer(413, "body_too_large"),
        PictureTooLargeError: Answer(413, "image_too_large"),
        EncodedBodyError: Answer(415, "body_encoded"),
        NotAFormError: Answer(415, "not_a_form"),
        TooManyRequestsError: Answer(429, "too_many_requests"),
        TooManyUploadsError: Answer(429, "too_many_uploads"),
        QueueFullError: OVERLOADED,
        TooMuchAtOnceError: OVERLOADED,
        LookoutError: OVERLOADED,
        BrokenIndexError: Answer(503, "search_rebuilding"),
        DamagedFilesError: Answer(503, "search_rebuilding"),
        StorageBusyError: Answer(503, "storage_busy"),
        StorageFullError: Answer(503, "storage_full"),
        StorageBrokenError: Answer(503, "storage_broken"),
        UnconfirmedWriteError: Answer(503, "write_unconfirmed"),
        StorageError: Answer(503, "storage_unavailable"),
    }
)

# Statuses that the router itself gives.
ROUTER_CODES: Final[Mapping[int, Answer]] = MappingProxyType(
    {
        404: Answer(404, "not_found"),
        405: Answer(405, "method_not_allowed"),
    }
)
# What the server itself refuses, before there is a request.
BAD_REQUEST: Final = Answer(400, "bad_request")
HEADERS_TOO_LARGE: Final = Answer(431, "headers_too_large")
INTERNAL: Final = Answer(500, "internal")
INTERNAL_WORDS: Final = (
    "something went wrong on our side; the request id finds it in our log"
)


def answer_to(error: ProductRecsError) -> Answer:
    """Return the status and code of an expected error; 500 for one the table has not."""
    for kind in type(error).__mro__:
        if kind in ANSWERS:
            return ANSWERS[kind]
    return INTERNAL


def wait_after(error: ProductRecsError) -> int | None:
    """Return after how many seconds a refused call may come again, where that is known."""
    return error.after if isinstance(error, TooManyRequestsError) else None


class Asked(NamedTuple):
    """What a refusal should know of its request: its id, and where and how it came."""

    request_id: str
    base: str = ""
    path: str = ""
    accept: bytes = b""


class Form(NamedTuple):
    """A refusal as it is sent."""

    body: bytes
    content_type: bytes


def refusal(
    why: Answer, detail: str, asked: Asked, more: Mapping[str, object] | None = None
) -> Form:
    """Return the form of every error but 422; `more` are further members of it.

    Who accepts `application/problem+json` gets that of RFC 9457, with the same members.
    """
    told: dict[str, object] = {
        "detail": detail,
        "code": why.code,
        "doc_url": f"{asked.base}{GUIDE}#{why.code}",
        "request_id": asked.request_id,
        **(more or {}),
    }
    if not _accepts_problems(asked.accept):
        return Form(_encode(told), JSON)
    problem = {
        "type": told["doc_url"],
        "title": HTTPStatus(why.status).phrase,
        "status": why.status,
        "instance": asked.path,
    }
    return Form(_encode(problem | told), PROBLEM)


def _accepts_problems(accept: bytes) -> bool:
    kinds = (one.partition(b";") for one in accept.lower().split(b","))
    return any(
        kind.strip() == PROBLEM and not _NEVER.search(rest) for kind, _, rest in kinds
    )


def retry_after(rng: random.Random) -> bytes:
    """Return how many seconds to wait after a refusal, spread over some of them."""
    return str(rng.randint(1, 5)).encode()
