"""`productrecs worker`: the half of the service that works in the background."""

import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from productrecs.entrypoints.board import UNCOUNTED, Place
from productrecs.entrypoints.cli.lifeline import Lifeline, place_option, stop_at_signals
from productrecs.entrypoints.cli.listening import settings_of
from productrecs.entrypoints.cli.serve import supervise_background
from productrecs.entrypoints.cli.session import data_option, opened
from productrecs.entrypoints.logs import configure_logging

if TYPE_CHECKING:
    from productrecs.entrypoints.services import Services
    from productrecs.entrypoints.worker.forecasts import Working

NICENESS: Final = 5
"""On a busy machine the API's processes get three times the worker's share."""

LEARNING, INDEXES, UPLOADS = "learning", "indexes", "uploads"
WRITING: Final = "writing"
PICTURES: Final = "pictures"
_PROMPT: Final = frozenset({WRITING, UPLOADS})
"""Shoppers wait for the one, and for the lock that the other holds: an import that has to
wait for a core in the middle of a transaction keeps every event waiting."""


@click.command
@data_option
@click.option(
    "--lane",
    type=click.Choice([LEARNING, INDEXES, UPLOADS, WRITING, PICTURES]),
    hidden=True,
)
@click.option("--fd", type=int, hidden=True)
@click.option("--lifeline", type=int, hidden=True)
@place_option
def worker(
    data: Path | None,
    lane: str | None,
    fd: int | None,
    lifeline: int | None,
    place: Place | None,
) -> None:
    """Run background jobs and their timetable; any number may run beside one another.

    Stop it with SIGTERM or Ctrl-C: the job in hand is finished or given back first.

    Example: DATABASE_URL=postgresql://... productrecs worker
    """
    if lane is None:
        sys.exit(supervise_background(settings_of(data=data)))
    if lane not in _PROMPT:
        os.nice(NICENESS)
    if place is not None:
        place.board.take(place.number, UNCOUNTED)
    with opened(data) as services:
        configure_logging(services.settings.log_format)
        working = _build(lane, services, fd)
        stop_at_signals(working.stop)
        if lifeline is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor decides
            line = Lifeline(lifeline)
            line.watch(working.stop)
            line.ready()
        working.run()


def _build(lane: str, services: "Services", fd: int | None) -> "Working":
    # Imported here: who imports files needs nothing of what learning takes.
    if lane == WRITING:
        from productrecs.entrypoints.http.writing.office import Office  # noqa: PLC0415

        return Office(services, socket.socket(fileno=fd))
    if lane == INDEXES:
        from productrecs.entrypoints.worker.indexing import Indexing  # noqa: PLC0415

        return Indexing(services)
    if lane == PICTURES:
        from productrecs.entrypoints.worker.pictures import (  # noqa: PLC0415
            build_picture_worker,
        )

        return build_picture_worker(services)
    if lane == UPLOADS:
        from productrecs.entrypoints.worker.forecasts import (  # noqa: PLC0415
            Together,
            build_forecaster,
        )
        from productrecs.entrypoints.worker.uploads import build_importer  # noqa: PLC0415

        # Who starts forecasts does nothing but wait for them: no process for that alone.
        return Together(build_importer(services), build_forecaster(services))
    from productrecs.entrypoints.worker.registry import build_worker  # noqa: PLC0415
    from productrecs.storage.damage import DamageWatch  # noqa: PLC0415

    DamageWatch(services.database, services.settings.data).start()
    return build_worker(services)
