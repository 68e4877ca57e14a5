"""Order uploads: POST /orders/upload imports past orders from a CSV file.

GET /orders/upload/{upload_id} returns the progress.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from fastapi import Path, Request, Response

from productrecs.core.csv_reader import HISTORY_LAYOUT, CsvFormat
from productrecs.core.errors import StorageBrokenError, UnconfirmedWriteError
from productrecs.core.ids import StoreId
from productrecs.http.openapi_responses import (
    error_responses,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.idempotency import (
    REPLAYED_HEADERS,
    IdempotencyKeyHeader,
    run_once_or_replay,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.transport.multipart_parser import (
    FIELDS_LIMIT,
    MultipartFormParser,
    body_chunks,
)
from productrecs.http.transport.request_body import check_body_headers
from productrecs.records.uploads.order_upload import (
    NewOrderUpload,
    OrderUpload,
    OrderUploadStatus,
    UnknownUploadError,
)
from productrecs.records.uploads.order_uploads.repository import (
    OrderUploadRepository,
    check_upload_limit,
    submit_upload,
)
from productrecs.records.uploads.upload_folder import (
    MAX_UPLOAD_BYTES,
    MIB,
    IncomingFile,
    is_upload_id,
    new_upload_id,
)
from productrecs.services import Services
from productrecs.serving.writes.write_messages import WriteKind
from productrecs.storage.sql.group_commit import WriteTransaction
from productrecs.storage.sql.idempotency_keys import IdempotentCall
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("server")

_Result = TypeVar("_Result")
# Written at once, in a thread: the event loop never waits for a disk.
_CHUNK_BYTES: Final = MIB
_BODY_LIMIT: Final = MAX_UPLOAD_BYTES + FIELDS_LIMIT + 64 * 1024
_COUNT: Final = {"type": "integer", "minimum": 0}
_STATUS: Final = {"type": "string", "enum": [status.value for status in OrderUploadStatus]}
_ERRORS: Final = {
    "type": "array",
    "maxItems": 101,
    "items": titled("RowProblem", object_schema(row=_COUNT, message={"type": "string"})),
}
_EXAMPLE_ID: Final = "up_5tR0wqZ8kYb3NcJ1mXv7LdGa"
_ACCEPTED: Final = success_response(
    "The file is stored durably; it is imported in the background.",
    object_schema(
        upload_id={"type": "string"},
        status={"type": "string", "const": OrderUploadStatus.QUEUED.value},
    ),
    {"upload_id": _EXAMPLE_ID, "status": "queued"},
    status=202,
)
_UPLOAD_RESPONSE: Final = success_response(
    "The progress of the upload. `lines_imported` are new, `lines_updated` were "
    "changed; rows that match what is stored change nothing. `errors` lists the first "
    "hundred skipped rows, counted as in a spreadsheet; row 0 is the file itself, when "
    "it failed. `rows_undated` have no readable time, and get the day of the upload; "
    "`undated` lists the first ten of those that have an unreadable one.",
    object_schema(
        upload_id={"type": "string"},
        status=_STATUS,
        rows=_COUNT,
        lines_imported=_COUNT,
        lines_updated=_COUNT,
        rows_skipped=_COUNT,
        errors=_ERRORS,
        rows_undated=_COUNT,
        undated=_ERRORS,
    ),
    {
        "upload_id": _EXAMPLE_ID,
        "status": "done",
        "rows": 12_000,
        "lines_imported": 11_500,
        "lines_updated": 499,
        "rows_skipped": 1,
        "errors": [{"row": 871, "message": "quantity 'two' is not a number"}],
        "rows_undated": 1,
        "undated": [{"row": 9, "message": "'soon' is not a readable date or time"}],
    },
)
_REFUSALS: Final = error_responses(
    *("missing_columns", "upload_stalled", 401, 402, 413, 415, "not_a_form", 422),
    *("too_many_uploads", "idempotency_key_reused", 503),
)
_FORM: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "contentMediaType": "text/csv",
                            "description": "A CSV with the header "
                            f"{HISTORY_LAYOUT.example}; at most 2 GiB.",
                        }
                    },
                },
                "encoding": {"file": {"contentType": "text/csv"}},
                "example": {
                    "file": "order_id,item_id,customer_id,timestamp,quantity,price\n"
                    "A-1001,tent,c-7,2026-02-01T12:30:00Z,1,199.00\n"
                    "A-1001,pegs,c-7,2026-02-01T12:30:00Z,2,4.50\n"
                },
            }
        },
    }
}


@routes.post(
    "/orders/upload",
    SECRET,
    summary="Upload an order history",
    status_code=202,
    responses=_ACCEPTED | _REFUSALS,
    openapi_extra=_FORM,
)
async def upload_orders(
    request: Request, *, idempotency_key: IdempotencyKeyHeader = None
) -> Response:
    """Upload a CSV of past orders; `GET /orders/upload/{upload_id}` returns its progress.

    Rows are overwritten by later ones of the same order and item, in this file and in
    files uploaded later; fields that a file does not have stay unchanged. A retry with
    the `Idempotency-Key` and the file of a call of the last day gets the id of that
    upload again.
    """
    exchange: RequestContext = request.scope["productrecs"]
    headers = request.scope["headers"]
    declared_bytes = check_body_headers(headers, _BODY_LIMIT)
    form = MultipartFormParser(headers, "file")
    context, store_id = exchange.context, exchange.known_caller.store.store_id
    upload_id = new_upload_id()
    async with _reserve_slot_and_open_upload_file(
        context.services, store_id, upload_id, declared_bytes
    ) as (
        file,
        in_thread,
    ):
        async for chunk in body_chunks(request.receive, _BODY_LIMIT):
            form.feed(chunk)
            if form.waiting >= _CHUNK_BYTES:
                await in_thread(file.write, form.pop_file_bytes())
        form.check_complete()
        await in_thread(file.write, form.pop_file_bytes())
        csv_format: CsvFormat = await in_thread(file.finish)
        await in_thread(context.services.upload_folder.move_to_object_store, upload_id)
        new_upload = NewOrderUpload(upload_id, csv_format, context.clock())
        call = None
        if idempotency_key is not None:
            call = IdempotentCall("uploads", idempotency_key, csv_format.digest)
        queued_id: str = await context.write_client.submit_write(
            WriteKind.CHANGE,
            store_id,
            lambda work: _submit_upload_once(
                context.services, work, store_id, new_upload, call
            ),
        )
        if queued_id != upload_id:
            await in_thread(file.discard)  # the call is a repeat: its file is stored
            await in_thread(context.services.upload_folder.remove, upload_id)
    content = {"upload_id": queued_id, "status": OrderUploadStatus.QUEUED}
    headers = None if queued_id == upload_id else REPLAYED_HEADERS
    return json_reply(content, 202, headers)


@routes.get(
    "/orders/upload/{upload_id}",
    SECRET,
    summary="Return the progress of an upload",
    responses=_UPLOAD_RESPONSE | error_responses(401, "upload_unknown", 503),
)
async def get_upload(
    request: Request,
    upload_id: Annotated[
        str,
        Path(description="The id from the reply to the upload.", examples=[_EXAMPLE_ID]),
    ],
) -> Response:
    """Return the progress of an upload, what it changed, and the first skipped rows.

    Unreadable dates are counted: those lines have the date of submission.
    """
    exchange: RequestContext = request.scope["productrecs"]
    services, store_id = exchange.context.services, exchange.known_caller.store.store_id
    upload = await asyncio.to_thread(_find_upload, services, store_id, upload_id)
    if upload is None:
        message = "this store has no upload with this id; POST /orders/upload returns one"
        raise UnknownUploadError(message)
    content = {
        "upload_id": upload.upload_id,
        "status": upload.status,
        "rows": upload.rows,
        "lines_imported": upload.lines_imported,
        "lines_updated": upload.lines_updated,
        "rows_skipped": upload.rows_skipped,
        "errors": [
            {"row": row_error.row, "message": row_error.message}
            for row_error in upload.errors
        ],
        "rows_undated": upload.rows_undated,
        "undated": [
            {"row": row_error.row, "message": row_error.message}
            for row_error in upload.undated
        ],
    }
    return json_reply(content)


def _submit_upload_once(
    services: Services,
    work: WriteTransaction,
    store_id: StoreId,
    new_upload: NewOrderUpload,
    call: IdempotentCall | None,
) -> str:
    """Write an upload whose file is safe, with the job that imports it; return its id.

    A call that came before, by its key, is not written, and has the first one's id.
    """
    log = StoreLogTransaction(work.database, work.connection, store_id)

    def submit() -> str:
        submit_upload(log, services.queue, new_upload)
        return new_upload.upload_id

    return run_once_or_replay(log, call, services.clock(), submit, str)[0]


class _DiskWriteThread:
    """Runs disk writes in one thread, in order."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "upload")

    async def __call__(self, work: Callable[..., _Result], *arguments: object) -> _Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, work, *arguments)

    def run_last_and_stop(self, work: Callable[[], None]) -> None:
        """Run the last write in the background, and stop the thread."""
        self._thread.submit(work)
        self._thread.shutdown(wait=False)


@asynccontextmanager
async def _reserve_slot_and_open_upload_file(
    services: Services,
    store_id: StoreId,
    upload_id: str,
    declared_bytes: int,
) -> AsyncIterator[tuple[IncomingFile, _DiskWriteThread]]:
    """Open a new file, which is deleted unless the block ends without an error."""
    folder, in_thread = services.upload_folder, _DiskWriteThread()
    await asyncio.to_thread(_check_upload_limit, services, store_id)
    with folder.reserve_slot(store_id, declared_bytes):
        file = folder.receive(upload_id)
        try:
            yield file, in_thread
        except (StorageBrokenError, UnconfirmedWriteError):
            # The upload may be stored: keep its file. If it is not, the sweep deletes it.
            in_thread.run_last_and_stop(file.close)
            raise
        except BaseException:
            in_thread.run_last_and_stop(file.discard)
            raise
        in_thread.run_last_and_stop(file.close)


def _check_upload_limit(services: Services, store_id: StoreId) -> None:
    with services.database.reading() as connection:
        check_upload_limit(OrderUploadRepository(connection, store_id))


def _find_upload(
    services: Services, store_id: StoreId, upload_id: str
) -> OrderUpload | None:
    if not is_upload_id(upload_id):
        return None
    with services.database.reading() as connection:
        return OrderUploadRepository(connection, store_id).find(upload_id)
