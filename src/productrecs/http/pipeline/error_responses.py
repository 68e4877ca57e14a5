"""Error responses: status and code of every error class, and a declared route's reply."""

import random
from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response

from productrecs.core.csv_reader import MissingColumnsError
from productrecs.core.errors import (
    ProductRecsError,
    QueueFullError,
    StorageBrokenError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    UnconfirmedWriteError,
    UnknownItemError,
    UnknownOrderError,
    UnknownWidgetBuildError,
)
from productrecs.core.report import ReportQueryError
from productrecs.engines.text.index_schema import BrokenIndexError
from productrecs.features.assistants.catalog_calls import (
    InvalidCatalogCallError,
    TooManyLookupIdsError,
)
from productrecs.features.assistants.ucp_profile import UnknownAssistantCatalogError
from productrecs.features.guides.developer_guide_rendering import UnknownGuideError
from productrecs.features.looks.look import UnknownLookPictureError
from productrecs.features.mail_slots.mail_slot import UnknownMailSlotError
from productrecs.features.product_feed_export.feed_entries import UnknownExportedFeedError
from productrecs.features.widgets.widget_config import (
    TooManyWidgetTypesError,
    WidgetConfigTooLargeError,
)
from productrecs.http.limits.load_shedding import OverloadedError
from productrecs.http.limits.rate_limits import TooManyRequestsError
from productrecs.http.pipeline.authentication import (
    MetricsTokenError,
    MissingKeyError,
    SecretKeyInUrlError,
    SecretKeyRequiredError,
    UnknownKeyError,
)
from productrecs.http.pipeline.cors import NotOwnPageOriginError
from productrecs.http.pipeline.url_decoding_and_base_url import (
    BadPathError,
    base_url_for_reply,
    raw_path_of,
)
from productrecs.http.transport.error_body import (
    INTERNAL_ERROR,
    OVERLOADED,
    ErrorCode,
    FailedRequest,
    build_error_body,
)
from productrecs.http.transport.multipart_parser import (
    NotMultipartError,
    UploadStalledError,
)
from productrecs.http.transport.request_body import (
    BodyTooLargeError,
    ClientDisconnectedError,
    EncodedBodyError,
)
from productrecs.records.catalog.catalog_push import CatalogLimitError
from productrecs.records.catalog.price_lists import TooManyPriceListsError
from productrecs.records.experiments.experiment import UnknownExperimentError
from productrecs.records.pictures.decode_picture import PictureTooLargeError
from productrecs.records.placements.bundle import BundleChangedError, UnknownBundleError
from productrecs.records.placements.placement import UnknownPlacementError
from productrecs.records.uploads.order_upload import UnknownUploadError
from productrecs.records.uploads.upload_folder import FileTooLargeError, TooManyUploadsError
from productrecs.schemas.items import TooManyItemsError
from productrecs.schemas.validation_errors import ValidationProblem, validation_error_body
from productrecs.storage.files.search_index_files import DamagedIndexError
from productrecs.storage.sql.idempotency_keys import IdempotencyConflictError
from productrecs.storage.sql.sequence_and_item_numbers import StoreDeletedError
from productrecs.tenancy.billing.plans_and_subscriptions import BillingInactiveError
from productrecs.training.visual.photo_worker_owner import PhotoWorkerError

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

# InvalidInputError is not here: it is 422 in the shape of interface 2.12.
ERROR_CODES: Final[Mapping[type[ProductRecsError], ErrorCode]] = MappingProxyType(
    {
        BadPathError: ErrorCode(400, "bad_path"),
        TooManyItemsError: ErrorCode(400, "too_many_items"),
        TooManyPriceListsError: ErrorCode(400, "too_many_price_lists"),
        TooManyWidgetTypesError: ErrorCode(400, "too_many_widget_types"),
        WidgetConfigTooLargeError: ErrorCode(400, "widget_config_too_large"),
        MissingColumnsError: ErrorCode(400, "missing_columns"),
        ReportQueryError: ErrorCode(400, "report_impossible"),
        InvalidCatalogCallError: ErrorCode(400, "catalog_call_invalid"),
        TooManyLookupIdsError: ErrorCode(400, "request_too_large"),
        UploadStalledError: ErrorCode(400, "upload_stalled"),
        ClientDisconnectedError: ErrorCode(400, "client_closed"),
        MissingKeyError: ErrorCode(401, "key_missing"),
        UnknownKeyError: ErrorCode(401, "key_invalid"),
        SecretKeyRequiredError: ErrorCode(401, "secret_key_required"),
        SecretKeyInUrlError: ErrorCode(401, "secret_key_in_address"),
        StoreDeletedError: ErrorCode(401, "key_invalid"),
        MetricsTokenError: ErrorCode(401, "metrics_token_invalid"),
        BillingInactiveError: ErrorCode(402, "billing_inactive"),
        CatalogLimitError: ErrorCode(402, "plan_limit_catalog"),
        NotOwnPageOriginError: ErrorCode(403, "origin_refused"),
        UnknownItemError: ErrorCode(404, "item_unknown"),
        UnknownOrderError: ErrorCode(404, "order_unknown"),
        UnknownGuideError: ErrorCode(404, "guide_unknown"),
        UnknownPlacementError: ErrorCode(404, "placement_unknown"),
        UnknownBundleError: ErrorCode(404, "bundle_unknown"),
        UnknownExperimentError: ErrorCode(404, "test_unknown"),
        UnknownLookPictureError: ErrorCode(404, "picture_unknown"),
        UnknownExportedFeedError: ErrorCode(404, "feed_unknown"),
        UnknownMailSlotError: ErrorCode(404, "mail_slot_unknown"),
        UnknownAssistantCatalogError: ErrorCode(404, "assistant_catalog_unknown"),
        UnknownWidgetBuildError: ErrorCode(404, "build_unknown"),
        UnknownUploadError: ErrorCode(404, "upload_unknown"),
        IdempotencyConflictError: ErrorCode(409, "idempotency_key_reused"),
        BundleChangedError: ErrorCode(409, "bundle_changed"),
        BodyTooLargeError: ErrorCode(413, "body_too_large"),
        FileTooLargeError: ErrorCode(413, "body_too_large"),
        PictureTooLargeError: ErrorCode(413, "image_too_large"),
        EncodedBodyError: ErrorCode(415, "body_encoded"),
        NotMultipartError: ErrorCode(415, "not_a_form"),
        TooManyRequestsError: ErrorCode(429, "too_many_requests"),
        TooManyUploadsError: ErrorCode(429, "too_many_uploads"),
        QueueFullError: OVERLOADED,
        OverloadedError: OVERLOADED,
        PhotoWorkerError: OVERLOADED,
        BrokenIndexError: ErrorCode(503, "search_rebuilding"),
        DamagedIndexError: ErrorCode(503, "search_rebuilding"),
        StorageBusyError: ErrorCode(503, "storage_busy"),
        StorageFullError: ErrorCode(503, "storage_full"),
        StorageBrokenError: ErrorCode(503, "storage_broken"),
        UnconfirmedWriteError: ErrorCode(503, "write_unconfirmed"),
        StorageError: ErrorCode(503, "storage_unavailable"),
    }
)

# Errors of the router itself.
ROUTER_CODES: Final[Mapping[int, ErrorCode]] = MappingProxyType(
    {
        404: ErrorCode(404, "not_found"),
        405: ErrorCode(405, "method_not_allowed"),
    }
)


def error_code_of(error: ProductRecsError) -> ErrorCode:
    """Return the status and code of an error; 500 for one that is not in the table."""
    for kind in type(error).__mro__:
        if kind in ERROR_CODES:
            return ERROR_CODES[kind]
    return INTERNAL_ERROR


def retry_after_of(error: ProductRecsError) -> int | None:
    """Return the Retry-After in seconds; None if the error has none."""
    return error.after_seconds if isinstance(error, TooManyRequestsError) else None


ERROR_FIELDS: Final = "productrecs.error_fields"
"""Where a request's scope has a function that returns further members of error bodies."""


LOGGED_ERROR: Final = "productrecs.logged_error"
"""Where a request's scope has the fields of its error for the access log."""
_LONGEST_LOGGED: Final = 100  # characters of a field's path


def record_error_code(scope: MutableMapping[str, Any], code: ErrorCode) -> None:
    """Record an error's code for the access log."""
    scope[LOGGED_ERROR] = {"code": code.code}


def invalid_input_body(
    scope: MutableMapping[str, Any], problems: Sequence[ValidationProblem]
) -> bytes:
    """Return the body of a 422; its first problem is recorded for the access log."""
    if problems:
        path = ".".join(str(step) for step in problems[0].loc)[:_LONGEST_LOGGED]
        scope[LOGGED_ERROR] = {"code": problems[0].type, "field": path}
    return validation_error_body(problems)


def error_response(
    request: Request,
    code: ErrorCode,
    detail: str,
    extra_fields: Mapping[str, object] | None = None,
) -> Response:
    """Return an error response in the caller's format; `extra_fields` are extra members."""
    exchange: RequestContext = request.scope["productrecs"]
    record_error_code(request.scope, code)
    request_fields = FailedRequest(
        exchange.request_id,
        base_url_for_reply(request),
        raw_path_of(request.scope),
        request.headers.get("accept", "").encode("latin-1"),
    )
    if ERROR_FIELDS in request.scope:
        extra_fields = request.scope[ERROR_FIELDS](code.code, detail)
    error_body = build_error_body(code, detail, request_fields, extra_fields)
    headers = {"content-type": error_body.content_type.decode()}
    if code.is_transient:
        headers["retry-after"] = str(random.randint(1, 5))  # noqa: S311 - spreads retries
    return Response(error_body.body, code.status, headers=headers)
