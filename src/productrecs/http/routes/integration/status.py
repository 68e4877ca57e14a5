"""Status: GET /integration/status returns counts and times of a store."""

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request, Response

from productrecs.core.ids import StoreId
from productrecs.core.timestamps import iso
from productrecs.engines.registry import TRAINED
from productrecs.http.openapi_responses import (
    NULLABLE_TEXT,
    NULLABLE_TIME,
    error_responses,
    object_schema,
    success_response,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.records.pictures.repository import PictureRepository
from productrecs.storage.jobs.job_queue import JobState, count_jobs_by_state
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.shop_connections.repository import (
    ShopConnectionRepository,
)
from productrecs.training.repository import TrainingRepository

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("integration")

_COUNT: Final = {"type": "integer", "minimum": 0}
_IMAGES: Final = {
    "indexed": 1180,
    "pending": 12,
    "failed": 3,
    "usual_failure": "the host answered 404",
}
_TIME_EXAMPLE: Final = "2026-11-21T09:00:00.000Z"
_EXAMPLE: Final = {
    "catalog_items": 1250,
    "last_sync": _TIME_EXAMPLE,
    "last_trained": dict.fromkeys(TRAINED, _TIME_EXAMPLE),
    "platform": "woocommerce",
    "first_connected_at": _TIME_EXAMPLE,
    "events_30d": 48210,
    "orders_30d": 311,
    "jobs": {"queued": 0, "running": 1, "failed": 0},
    "images": _IMAGES,
}


@routes.get(
    "/integration/status",
    SECRET,
    operation_id="status",
    summary="Return the store's status",
    responses=success_response(
        "The store's catalog, engines, connection, recent activity and jobs.",
        object_schema(
            catalog_items=_COUNT,
            last_sync=NULLABLE_TIME,
            last_trained=object_schema(**dict.fromkeys(TRAINED, NULLABLE_TIME)),
            platform=NULLABLE_TEXT,
            first_connected_at=NULLABLE_TIME,
            events_30d=_COUNT,
            orders_30d=_COUNT,
            jobs=object_schema(queued=_COUNT, running=_COUNT, failed=_COUNT),
            images=object_schema(
                indexed=_COUNT, pending=_COUNT, failed=_COUNT, usual_failure=NULLABLE_TEXT
            ),
        ),
        _EXAMPLE,
    )
    | error_responses(401, 503),
)
async def read_status(request: Request) -> Response:
    """Return counts and times; a time is null where nothing happened yet.

    `last_sync` is when the catalog last reached the engines: by a push, a deletion or a
    full push. Where very much is to be counted, `events_30d` and `orders_30d` may be up to
    a minute old.
    """
    exchange: RequestContext = request.scope["productrecs"]
    store_id = exchange.known_caller.store.store_id
    database = exchange.context.services.database
    status_fields = await asyncio.to_thread(
        _status_fields_without_activity, database, store_id
    )
    activity = await asyncio.to_thread(
        exchange.context.activity.cached_or_counted, store_id
    )
    content = status_fields | {
        "events_30d": activity.events,
        "orders_30d": activity.orders,
    }
    ordered_content = {name: content[name] for name in _EXAMPLE}
    return json_reply(ordered_content)


def _status_fields_without_activity(
    database: Database, store_id: StoreId
) -> dict[str, Any]:
    with database.reading() as connection:
        catalog = CatalogRepository(connection, store_id)
        model = TrainingRepository(connection, store_id).serving_model()
        connection_of_shop = ShopConnectionRepository(connection, store_id).find()
        jobs = count_jobs_by_state(connection, store_id)
        pictures = PictureRepository(connection, store_id)
        picture_counts, failure = pictures.counts(), pictures.most_frequent_failure_reason()
        item_count, last_change_ms = catalog.size(), catalog.last_changed_at()
    trained_ms = None if model is None else model.trained_at
    return {
        "catalog_items": item_count,
        "last_sync": _iso_or_none(last_change_ms),
        "last_trained": dict.fromkeys(TRAINED, _iso_or_none(trained_ms)),
        "platform": connection_of_shop.platform,
        "first_connected_at": _iso_or_none(connection_of_shop.first_connected_at),
        "jobs": {
            "queued": jobs[JobState.QUEUED],
            "running": jobs[JobState.RUNNING],
            "failed": jobs[JobState.DEAD],
        },
        "images": {**asdict(picture_counts), "usual_failure": failure},
    }


def _iso_or_none(moment_ms: int | None) -> str | None:
    return None if moment_ms is None else iso(moment_ms)
