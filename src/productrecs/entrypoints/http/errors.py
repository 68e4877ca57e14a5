"""Error responses: status and code of every error class, and a declared route's reply."""

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

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
from productrecs.entrypoints.http.error_body import (
    INTERNAL,
    OVERLOADED,
    Answer,
    Asked,
    refusal,
)
from productrecs.entrypoints.http.multipart import NotAFormError, UploadStalledError
from productrecs.entrypoints.http.origins import ForeignOriginError
from productrecs.entrypoints.http.paths import (
    BadPathError,
    UnknownBuildError,
    address_of,
    base_url,
)
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

if TYPE_CHECKING:
    from productrecs.entrypoints.http.context import Exchange

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


def answer_to(error: ProductRecsError) -> Answer:
    """Return the status and code of an expected error; 500 for one the table has not."""
    for kind in type(error).__mro__:
        if kind in ANSWERS:
            return ANSWERS[kind]
    return INTERNAL


def wait_after(error: ProductRecsError) -> int | None:
    """Return after how many seconds a refused call may come again, where that is known."""
    return error.after if isinstance(error, TooManyRequestsError) else None


def refused(
    request: Request, why: Answer, detail: str, more: Mapping[str, object] | None = None
) -> Response:
    """Return the refusal in the form that the caller asks for; `more` is told with it."""
    exchange: Exchange = request.scope["productrecs"]
    asked = Asked(
        exchange.request_id,
        base_url(request),
        address_of(request.scope),
        request.headers.get("accept", "").encode("latin-1"),
    )
    form = refusal(why, detail, asked, more)
    headers = {"content-type": form.content_type.decode()}
    if why.is_passing:
        headers["retry-after"] = str(random.randint(1, 5))  # noqa: S311 - spreads retries
    return Response(form.body, why.status, headers=headers)
