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
from productrecs.entrypoints.board import Place
from productrecs.entrypoints.http.activity import RecentActivity
from productrecs.entrypoints.http.admission import Admission
from productrecs.entrypoints.http.context import Context
from productrecs.entrypoints.http.error_body import INTERNAL, INTERNAL_WORDS, Answer
from productrecs.entrypoints.http.errors import ROUTER_CODES, answer_to, refused, wait_after
from productrecs.entrypoints.http.exploring import Exploring
from productrecs.entrypoints.http.fitness import Fitness, Surroundings
from productrecs.entrypoints.http.gate import Gate
from productrecs.entrypoints.http.holdouts import Holdouts
from productrecs.entrypoints.http.integration import (
    connection,
    engines,
    recommender_settings,
    report,
    status,
    widget_config,
)
from productrecs.entrypoints.http.metering import Metering
from productrecs.entrypoints.http.public import (
    builds,
    guides,
    health,
    index,
    look_pictures,
    mcp,
    metrics,
    reference,
    widgets,
)
from productrecs.entrypoints.http.rates import Rates
from productrecs.entrypoints.http.schemas.problems import (
    BodyError,
    from_details,
    validation_reply,
)
from productrecs.entrypoints.http.searches import Searches
from productrecs.entrypoints.http.searching import Searching
from productrecs.entrypoints.http.seeing import Seeing
from productrecs.entrypoints.http.server import items, orders, uploads
from productrecs.entrypoints.http.shops import Shops
from productrecs.entrypoints.http.sightings import Sightings
from productrecs.entrypoints.http.traffic import Count, Gauge, Traffic
from productrecs.entrypoints.http.version import INTERFACE
from productrecs.entrypoints.http.widget import (
    config,
    events,
    forecast,
    looks,
    photo_analysis,
    photos,
    recommendations,
    search,
)
from productrecs.entrypoints.http.writing.broken import stop_at_once
from productrecs.entrypoints.http.writing.desk import Desk, OwnDesk, SharedDesk
from productrecs.entrypoints.http.writing.facts import writings_of
from productrecs.entrypoints.services import Services
from productrecs.features.recommendations.warming import warm_up
from productrecs.storage.byte_budget import MIB, ByteBudget
from productrecs.storage.group_commit import GroupCommit
from productrecs.tenancy.accounts.directory import AccountDirectory

_log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
_LONG_UNFIT: Final = 5
"""After so many looks without being ready a process says why, once."""
_SWITCH_SECONDS: Final = 0.0005


def create_application(
    services: Services,
    draining: object,
    place: Place | None = None,
    admission: Admission | None = None,
    office: Path | None = None,
) -> Gate:
    """Return the ASGI application of one process.

    `draining` becomes true when the process is about to stop; it counts in `place`, also
    whom `admission` lets in. Events and orders go to the process that listens at `office`,
    if there is one.
    """
    place = place or Place.alone("api")
    rates = Rates.of(services.settings, place.board.common)
    traffic = Traffic(place)
    process = _Process(services, draining, traffic, admission or Admission(), office, rates)
    return process.gate


def declared_routes(life: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return every route as it is declared and described; `life` opens what they need."""
    application = FastAPI(
        title="ProductRecs",
        version=INTERFACE,
        summary="Recommendations for online stores, self-hosted.",
        openapi_url=None,  # public/reference.py answers it
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    for router in (
        recommendations.router,
        search.router,
        photos.router,
        looks.router,
        photo_analysis.router,
        config.router,
        forecast.router,
        events.router,
        orders.router,
        items.router,
        uploads.router,
        connection.router,
        widget_config.router,
        recommender_settings.router,
        engines.router,
        status.router,
        report.router,
        health.router,
        metrics.router,
        reference.router,
        guides.router,
        widgets.router,
        builds.router,
        look_pictures.router,
        mcp.router,
        index.router,
    ):
        application.include_router(router)
    application.add_exception_handler(RequestValidationError, _unfit)
    application.add_exception_handler(ProductRecsError, _expected)
    application.add_exception_handler(HTTPException, _unrouted)
    application.add_exception_handler(Exception, _unexpected)
    return application


class _Process:
    """One API process from its start to its end."""

    def __init__(
        self,
        services: Services,
        draining: object,
        traffic: Traffic,
        admission: Admission,
        office: Path | None,
        rates: Rates | None,
    ) -> None:
        self._services = services
        self._rates = rates
        self._office = office
        self._draining = draining
        self._traffic = traffic
        self._admission = admission
        admission.meet(traffic)
        self._context: Context | None = None
        self._preloaded = False
        self.gate = Gate(declared_routes(self._life), self._fitness, draining, traffic)

    @contextlib.asynccontextmanager
    async def _life(self, _application: FastAPI) -> AsyncIterator[None]:
        # The loop must not wait Python's usual 5 ms for the writer's thread to give way.
        sys.setswitchinterval(_SWITCH_SECONDS)
        services, database = self._services, self._services.database
        writer = GroupCommit(database, stop_at_once)
        on_loop = database.dialect.reads_on_the_loop
        accounts = await asyncio.to_thread(AccountDirectory, database)
        context = self._context = Context(
            services=services,
            accounts=accounts,
            shops=Shops(services, accounts),
            metering=Metering(services),
            desk=self._desk(writer),
            writer=writer,
            write_catalog=items.CatalogWriting(services),
            write_uploads=uploads.UploadWriting(services),
            activity=RecentActivity(services),
            holdouts=Holdouts(database, services.clock),
            exploring=Exploring(database),
            traffic=self._traffic,
            reader=database.hot_reader(),
            parsing=ThreadPoolExecutor(1, "parsing"),
            budget=ByteBudget(services.settings.request_memory * MIB),
            reading=None if on_loop else ThreadPoolExecutor(1, "histories"),
            searching=Searching(),
            searches=Searches(database, accounts, services.clock),
            seeing=Seeing(services.settings.image_detector, services.settings.image_model),
            surroundings=Surroundings(database, services.settings.data),
            sightings=Sightings(database, services.clock),
            rates=self._rates,
        )
        context.shops.start()
        context.metering.start()
        await context.desk.start()
        self.gate.open(context)
        preloading = asyncio.create_task(self._preload(context))
        # Answers do not wait for the compiled kernel: until then numpy gives the same.
        looking = asyncio.gather(
            self._look_at_itself(context),
            self.gate.pressure.watch(),
            context.surroundings.watch(),
        )
        warming = asyncio.create_task(asyncio.to_thread(warm_up))
        try:
            async with _storing(context):
                yield
        finally:
            preloading.cancel()
            warming.cancel()
            await _end(looking)
            await context.desk.close()
            await asyncio.to_thread(context.writer.close)
            await asyncio.to_thread(context.metering.close)
            await asyncio.to_thread(context.shops.close)
            if context.reading is not None:
                context.reading.shutdown()
            await asyncio.to_thread(_close, context)
            context.reader.close()
            services.close()

    def _desk(self, writer: GroupCommit) -> Desk:
        if self._office is not None:
            return SharedDesk(self._office, self._services.database.outcomes)
        self._services.database.checkpoint_apart()
        return OwnDesk(writer, writings_of(self._services))

    async def _preload(self, context: Context) -> None:
        await asyncio.to_thread(builds.keep, context.services.builds)
        try:
            await context.shops.preload()
        except Exception:
            _log.exception(
                "a store could not be read ahead; it will be on its first request"
            )
        self._preloaded = True

    async def _look_at_itself(self, context: Context) -> None:
        """Note what stands, for whichever process is asked for the figures of all."""
        unfit = 0
        while True:
            waiting = context.writer.depth
            if self._office is not None:
                waiting += context.desk.depth
            self._traffic.set(Gauge.WRITES_WAITING, waiting)
            self._traffic.set(Gauge.OPEN_STORES, context.shops.count)
            self._traffic.tell(self._admission.count)
            self._traffic.settle()
            refused = self._admission.take_refused()
            self._traffic.add(Count.CONNECTIONS_REFUSED, refused)
            reasons = self._fitness().reasons
            self._traffic.set(Gauge.READY, not reasons)
            unfit = unfit + 1 if reasons else 0
            if unfit == _LONG_UNFIT:
                _log.warning("not ready for seconds", extra={"reasons": reasons})
            await asyncio.sleep(_LOOK_SECONDS)

    def _fitness(self) -> Fitness:
        if self._context is None:
            return Fitness({"process": "still starting"})
        return health.fitness_of(
            self._context, draining=bool(self._draining), preloaded=self._preloaded
        )


@contextlib.asynccontextmanager
async def _storing(context: Context) -> AsyncIterator[None]:
    """Store in the background what replies leave behind."""
    async with (
        context.holdouts.storing.going_on(),
        context.exploring.storing.going_on(),
        context.sightings.storing.going_on(),
        context.searches.keeping(),
    ):
        yield


async def _end(task: asyncio.Future[tuple[None, None, None]]) -> None:
    """Cancel what goes on beside, and hear that it ended: else that is logged."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _close(context: Context) -> None:
    """Wait for the bodies, the searches and the photos in hand."""
    context.parsing.shutdown()
    context.searching.close()
    context.seeing.close()


async def _unfit(_request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    body = validation_reply(from_details(list(error.errors()), ()))
    return Response(body, 422, media_type="application/json")


async def _expected(request: Request, error: Exception) -> Response:
    if isinstance(error, BodyError):
        return Response(
            validation_reply(error.problems), 422, media_type="application/json"
        )
    if not isinstance(error, ProductRecsError):
        raise error
    reply = refused(request, answer_to(error), str(error))
    wait = wait_after(error)
    if wait is not None:
        reply.headers["retry-after"] = str(wait)
    return reply


async def _unexpected(request: Request, _error: Exception) -> Response:
    return refused(request, INTERNAL, INTERNAL_WORDS)


async def _unrouted(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    why = ROUTER_CODES.get(error.status_code, Answer(error.status_code, "refused"))
    return refused(request, why, str(error.detail))
