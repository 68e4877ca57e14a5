"""`productrecs worker`: the background jobs without the API."""

import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from productrecs.cli.open_services import DATABASE_WAIT_SECONDS, open_and_migrate_services
from productrecs.cli.options import data_option
from productrecs.cli.processes.listening_options import settings_from_options
from productrecs.cli.processes.serve import (
    slot_option,
    supervise_background,
)
from productrecs.logs import configure_logging
from productrecs.processes.child_process import stop_at_signals
from productrecs.processes.process_messages import ParentConnection
from productrecs.processes.process_slot_and_shared_memory import ProcessSlot

if TYPE_CHECKING:
    from productrecs.services import Services
    from productrecs.worker.parallel_loops import BackgroundLoop

NICENESS: Final = 5
"""The nice value: under load, API processes get three times the worker's CPU share."""

LEARNING, INDEXES, UPLOADS = "learning", "indexes", "uploads"
WRITING: Final = "writing"
PICTURES: Final = "pictures"
_PROMPT: Final = frozenset({WRITING, UPLOADS})
"""Lanes with normal priority. Requests wait for the writer. An import holds the write lock:
if it waits for a CPU in the middle of a transaction, it blocks every event."""


@click.command
@data_option
@click.option(
    "--lane",
    type=click.Choice([LEARNING, INDEXES, UPLOADS, WRITING, PICTURES]),
    hidden=True,
)
@click.option("--fd", "listen_fd", type=int, hidden=True)
@click.option("--parent", "parent_fd", type=int, hidden=True)
@slot_option
def worker(
    data: Path | None,
    lane: str | None,
    listen_fd: int | None,
    parent_fd: int | None,
    slot: ProcessSlot | None,
) -> None:
    """Run background jobs and their schedule; several may run side by side.

    Stop it with SIGTERM or Ctrl-C: the current job is finished or given back first.

    Example: DATABASE_URL=postgresql://... productrecs worker
    """
    if lane is None:
        sys.exit(supervise_background(settings_from_options(data=data)))
    if lane not in _PROMPT:
        os.nice(NICENESS)
    if slot is not None:
        slot.store_metrics_in_folder()
    settings = settings_from_options(data=data)
    configure_logging(settings.log_format, settings.log_level)
    with open_and_migrate_services(settings, DATABASE_WAIT_SECONDS) as services:
        worker_thread = _prepare_background_loop(lane, services, listen_fd)
        stop_at_signals(worker_thread.stop)
        if parent_fd is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the supervisor decides
            supervisor = ParentConnection.inherited(parent_fd)
            supervisor.stop_with_parent(worker_thread.stop)
            supervisor.report_ready()
            supervisor.start_alive_reports(
                getattr(worker_thread, "is_responsive", lambda: True)
            )
        worker_thread.run()


def _prepare_background_loop(
    lane: str, services: "Services", listen_fd: int | None
) -> "BackgroundLoop":
    # Imported per lane: an import process does not need the training libraries.
    if lane == WRITING:
        from productrecs.serving.writes.write_server import WriteServer  # noqa: PLC0415

        return WriteServer(services, socket.socket(fileno=listen_fd))
    if lane == INDEXES:
        from productrecs.worker.search_indexer import SearchIndexerLoop  # noqa: PLC0415

        return SearchIndexerLoop(services)
    if lane == PICTURES:
        from productrecs.worker.parallel_loops import ParallelLoops  # noqa: PLC0415
        from productrecs.worker.picture_jobs import build_picture_worker  # noqa: PLC0415
        from productrecs.worker.webhook_sender import WebhookSender  # noqa: PLC0415

        # Both wait for other hosts; the second is idle nearly always.
        return ParallelLoops(build_picture_worker(services), WebhookSender(services))
    if lane == UPLOADS:
        from productrecs.worker.child_process_jobs import build_command_job_worker  # noqa: PLC0415
        from productrecs.worker.file_import_jobs import build_order_upload_worker  # noqa: PLC0415
        from productrecs.worker.parallel_loops import ParallelLoops  # noqa: PLC0415
        from productrecs.worker.scheduled_backups import (  # noqa: PLC0415
            build_backup_worker,
            check_backup_place,
        )

        # The forecaster only waits for child processes, so it shares this process.
        loops = ParallelLoops(
            _build_file_workers(services), build_command_job_worker(services)
        )
        if services.backups is not None:
            place = services.backups
            threading.Thread(target=check_backup_place, args=(place,), daemon=True).start()
            loops = ParallelLoops(build_backup_worker(services), loops)
        return ParallelLoops(build_order_upload_worker(services), loops)
    from productrecs.storage.sql.integrity_check import IntegrityChecker  # noqa: PLC0415
    from productrecs.worker.missing_snapshots import request_missing_snapshots  # noqa: PLC0415
    from productrecs.worker.store_jobs import build_store_job_worker  # noqa: PLC0415

    request_missing_snapshots(services)
    IntegrityChecker(services.database, services.settings.data).start()
    return build_store_job_worker(services)


def _build_file_workers(services: "Services") -> "BackgroundLoop":
    from productrecs.features.imports.dashboard_file_import import (  # noqa: PLC0415
        DashboardFileImporter,
    )
    from productrecs.worker.file_import_jobs import (  # noqa: PLC0415
        build_file_check_worker,
        build_file_import_worker,
    )
    from productrecs.worker.parallel_loops import ParallelLoops  # noqa: PLC0415
    from productrecs.worker.scheduled_feed_jobs import build_feed_worker  # noqa: PLC0415

    files = DashboardFileImporter(services.imports)
    return ParallelLoops(
        ParallelLoops(
            build_file_check_worker(services, files),
            build_file_import_worker(services, files),
        ),
        build_feed_worker(services),
    )
