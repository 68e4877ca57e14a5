"""Application: builds the HTTP application of one API process, and starts and stops it."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Lifespan

from productrecs.core.errors import ProductRecsError
from productrecs.core.memory_budget import MIB, ByteBudget
from productrecs.dashboard.application import add_dashboard
from productrecs.engines.registry import ENGINES
from productrecs.features.guides.developer_guide_rendering import engines_missing_in_guides
from productrecs.http.dispatch.dispatcher import Dispatcher
from productrecs.http.dispatch.http_exchange import INTERFACE_VERSION
from productrecs.http.limits.bot_detection import BotDetector
from productrecs.http.limits.connection_limits import ConnectionLimiter
from productrecs.http.limits.customer_ids_per_network import CustomerIdsPerNetworkLimit
from productrecs.http.limits.rate_limits import RateLimits
from productrecs.http.limits.usage_metering import UsageMetering
from productrecs.http.pipeline.error_responses import (
    ROUTER_CODES,
    error_code_of,
    error_response,
    invalid_input_body,
    retry_after_of,
)
from productrecs.http.pipeline.live_view_recorder import LiveViewRecorder
from productrecs.http.pipeline.mail_picture_pool import MailPicturePool
from productrecs.http.pipeline.photo_worker_pool import PhotoWorkerPool
from productrecs.http.pipeline.process_metrics import (
    CounterMetric,
    GaugeMetric,
    ProcessMetrics,
)
from productrecs.http.pipeline.readiness_checks import DependencyMonitor, Readiness
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.pipeline.search_count_recorder import SearchCountRecorder
from productrecs.http.pipeline.search_thread_pool import SearchThreadPool
from productrecs.http.pipeline.signed_out_form_pool import SignedOutFormPool
from productrecs.http.route_table import ALL_ROUTES
from productrecs.http.routes.public import health, widget_scripts
from productrecs.http.transport.error_body import (
    INTERNAL_ERROR,
    INTERNAL_ERROR_DETAIL,
    ErrorCode,
)
from productrecs.processes.process_slot_and_shared_memory import (
    PeerConnectionCounts,
    ProcessSlot,
)
from productrecs.schemas.validation_errors import (
    InvalidInputError,
    problems_from_details,
)
from productrecs.services import Services, remove_copies_of_deleted_stores
from productrecs.serving.activity_counts import ActivityCounter
from productrecs.serving.arm_assigner import ArmAssigner
from productrecs.serving.open_stores import OpenStores
from productrecs.serving.writes.write_client import WriteClient
from productrecs.serving.writes.write_handlers import write_handlers
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.users.login_attempt_limits import LoginAttemptLimits

_log = logging.getLogger(__name__)

_CHECK_SECONDS: Final = 1.0
_MAX_UNFIT_SECONDS: Final = 5
"""The unready checks in a row after which the process logs the reasons, once."""
_SWITCH_SECONDS: Final = 0.0001
"""The longest time that the event loop waits for another thread's Python code."""
_DASHBOARD_THREADS: Final = 2  # more threads would take CPU time from shoppers' requests
_LOGIN_BURST: Final = 10
_LOGIN_SECONDS: Final = 90.0  # after ten failures, one login per interval


def create_application(
    services: Services,
    draining: object,
    slot: ProcessSlot | None = None,
    admission: ConnectionLimiter | None = None,
    write_socket: Path | None = None,
) -> Dispatcher:
    """Return the ASGI application of one process.

    `draining` becomes true when the process is about to stop. Metrics and connection counts
    go to `slot`. Events and orders go to the writer process at `write_socket`, if there
    is one.
    """
    _check_engine_guides()
    process = _ApiProcess(
        services,
        draining,
        slot or ProcessSlot.standalone("api"),
        admission or ConnectionLimiter(),
        write_socket,
    )
    return process.dispatcher


def _check_engine_guides() -> None:
    """Refuse to start if an engine has no guide.

    Raises:
        ValueError: when the guide of an engine does not name it.
    """
    undocumented = engines_missing_in_guides(
        (engine.name, engine.guide) for engine in ENGINES
    )
    if undocumented:
        message = (
            f"the guides of these engines do not mention them: {', '.join(undocumented)}"
        )
        raise ValueError(message)


def create_declared_application(lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return the FastAPI application of all declared routes; `lifespan` is its lifespan."""
    application = FastAPI(
        title="ProductRecs",
        version=INTERFACE_VERSION,
        summary="Recommendations for online stores, self-hosted.",
        description="The version here is the API's. The program has a version of its own, "
        "which `GET /` shows.",
        openapi_url=None,  # routes/public/api_reference.py serves it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    for routes in ALL_ROUTES:
        application.include_router(routes.router)
    add_dashboard(application)
    application.add_exception_handler(RequestValidationError, _validation_error_response)
    application.add_exception_handler(ProductRecsError, _expected_error_response)
    application.add_exception_handler(HTTPException, _router_error_response)
    application.add_exception_handler(Exception, _unexpected_error_response)
    return application


class _ApiProcess:
    """The lifecycle of one API process."""

    def __init__(
        self,
        services: Services,
        draining: object,
        slot: ProcessSlot,
        admission: ConnectionLimiter,
        write_socket: Path | None,
    ) -> None:
        self._services = services
        self._rates = RateLimits.of(services.settings, slot.memory.buckets)
        self._named_customers = slot.memory.named_customers
        self._write_socket = write_socket
        self._draining = draining
        self._process_metrics = ProcessMetrics(slot)
        self._admission = admission
        self._peers = PeerConnectionCounts(slot)
        admission.set_peers(self._peers)
        self._context: ProcessContext | None = None
        self._preloaded = False
        self.dispatcher = Dispatcher(
            create_declared_application(self._lifespan),
            self._readiness,
            draining,
            self._process_metrics,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _application: FastAPI) -> AsyncIterator[None]:
        # Threads must yield the GIL to the event loop sooner than Python's default of 5 ms.
        sys.setswitchinterval(_SWITCH_SECONDS)
        services, database = self._services, self._services.database
        write_client = WriteClient(database, write_handlers(services), self._write_socket)
        background = write_client.background
        on_loop = database.dialect.can_read_on_event_loop
        accounts = await asyncio.to_thread(
            AccountDirectory, database, services.system_clock
        )
        context = self._context = ProcessContext(
            services=services,
            clock=services.clock,
            accounts=accounts,
            stores=OpenStores(services, accounts),
            metering=UsageMetering(services),
            write_client=write_client,
            activity=ActivityCounter(services),
            arm_assigner=ArmAssigner(background.add, services.clock),
            process_metrics=self._process_metrics,
            reader=database.raw_reader(),
            parser_pool=ThreadPoolExecutor(1, "parsing"),
            budget=ByteBudget(services.settings.request_memory * MIB),
            reading=None if on_loop else ThreadPoolExecutor(1, "histories"),
            search_pool=SearchThreadPool(),
            searches=SearchCountRecorder(background, accounts, services.clock),
            photo_pool=PhotoWorkerPool(
                services.settings.image_detectors,
                services.find_or_convert_picture_encoders(),
                services.text_reader_folder(),
            ),
            mail_pictures=MailPicturePool(services.settings.image_hosts),
            dependencies=DependencyMonitor(
                database,
                services.settings.data,
                services.system_clock,
                services.objects,
            ),
            dashboard_pool=ThreadPoolExecutor(_DASHBOARD_THREADS, "dashboard"),
            signed_out_form_pool=SignedOutFormPool(),
            login_limits=LoginAttemptLimits(
                database, services.system_clock, _LOGIN_BURST, _LOGIN_SECONDS
            ),
            live_view_recorder=LiveViewRecorder(database, background, services.clock),
            bots=BotDetector(background.add, services.clock),
            named_customers=CustomerIdsPerNetworkLimit(self._named_customers),
            rates=self._rates,
        )
        context.stores.start()
        context.metering.start()
        await context.write_client.start()
        self.dispatcher.open(context)
        preloading = asyncio.create_task(
            self._archive_builds_purge_copies_and_preload(context)
        )
        watchers = asyncio.gather(
            self._publish_gauges_and_readiness(context),
            self.dispatcher.load_shedder.measure_lag_periodically(),
            context.dependencies.run_checks_periodically(),
        )
        try:
            async with context.live_view_recorder.polling_watched_stores():
                yield
        finally:
            preloading.cancel()
            await _cancel_and_wait(watchers)
            await context.write_client.close()
            await asyncio.to_thread(context.metering.close)
            await asyncio.to_thread(context.stores.close)
            if context.reading is not None:
                context.reading.shutdown()
            await asyncio.to_thread(_close_pools, context)
            context.reader.close()
            services.close()

    async def _archive_builds_purge_copies_and_preload(
        self, context: ProcessContext
    ) -> None:
        builds = context.services.widget_build_folder, context.services.objects
        await asyncio.to_thread(widget_scripts.archive_and_exchange_builds, *builds)
        await asyncio.to_thread(remove_copies_of_deleted_stores, context.services)
        try:
            await context.stores.preload()
        except Exception:
            _log.exception("store preload failed")
        self._preloaded = True

    async def _publish_gauges_and_readiness(self, context: ProcessContext) -> None:
        """Publish gauges, metrics and readiness of this process once a second."""
        unfit_checks = 0
        while True:
            self._process_metrics.set(
                GaugeMetric.WRITES_WAITING, context.write_client.depth
            )
            self._process_metrics.set(GaugeMetric.OPEN_STORES, context.stores.count)
            self._process_metrics.set(GaugeMetric.CONNECTIONS, self._admission.count)
            self._process_metrics.move_durations_to_histogram()
            refused_connections = self._admission.pop_refused_count()
            self._process_metrics.add(
                CounterMetric.CONNECTIONS_REFUSED, refused_connections
            )
            reasons = self._readiness().reasons
            self._process_metrics.set(GaugeMetric.READY, not reasons)
            self._peers.publish(self._admission.count, is_ready=not reasons)
            unfit_checks = unfit_checks + 1 if reasons else 0
            if unfit_checks == _MAX_UNFIT_SECONDS:
                _log.warning("readiness failing", extra={"reasons": reasons})
            await asyncio.sleep(_CHECK_SECONDS)

    def _readiness(self) -> Readiness:
        if self._context is None:
            return Readiness({"process": "still starting"})
        return health.determine_readiness(
            self._context, draining=bool(self._draining), preloaded=self._preloaded
        )


async def _cancel_and_wait(task: asyncio.Future[tuple[None, None, None]]) -> None:
    """Cancel a task, and retrieve its exception so that asyncio does not log it."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _close_pools(context: ProcessContext) -> None:
    """Wait for the running body parsing, searches and photos."""
    context.parser_pool.shutdown()
    context.dashboard_pool.shutdown()
    context.signed_out_form_pool.close()
    context.search_pool.close()
    context.photo_pool.close()
    context.mail_pictures.close()


async def _validation_error_response(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    problems = problems_from_details(list(error.errors()), ())
    body = invalid_input_body(request.scope, problems)
    return Response(body, 422, media_type="application/json")


async def _expected_error_response(request: Request, error: Exception) -> Response:
    if isinstance(error, InvalidInputError):
        body = invalid_input_body(request.scope, error.problems)
        return Response(body, 422, media_type="application/json")
    if not isinstance(error, ProductRecsError):
        raise error
    reply = error_response(request, error_code_of(error), str(error))
    wait = retry_after_of(error)
    if wait is not None:
        reply.headers["retry-after"] = str(wait)
    return reply


async def _unexpected_error_response(request: Request, _error: Exception) -> Response:
    return error_response(request, INTERNAL_ERROR, INTERNAL_ERROR_DETAIL)


async def _router_error_response(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    code = ROUTER_CODES.get(error.status_code, ErrorCode(error.status_code, "refused"))
    return error_response(request, code, str(error.detail))
