"""Metrics: GET /metrics for Prometheus, its families and their meaning."""

import asyncio
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import Request, Response
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import choose_encoder

from productrecs import __version__
from productrecs.core.clock import SECOND_MS
from productrecs.core.errors import StorageError, operator_text
from productrecs.core.ids import INSTALLATION
from productrecs.core.program_version import REVISION
from productrecs.features.webhooks.repository import webhook_backlog
from productrecs.features.webhooks.webhook import WebhookBacklog
from productrecs.http.pipeline.route_context import ProcessContext, RequestContext
from productrecs.http.pipeline.route_declaration import OPERATOR, Routes
from productrecs.http.routes.public.page_response import text_response
from productrecs.processes.process_slot_and_shared_memory import PROCESS_ID
from productrecs.storage.backup.create_backup import estimate_copy_size
from productrecs.storage.jobs.job_queue import (
    JobAttemptOutcome,
    JobKindBacklog,
    JobKindTotals,
    JobState,
    job_backlogs,
    job_totals_by_kind,
)
from productrecs.storage.sql.storage_usage import newest_sizes
from productrecs.training.repository import ModelFreshness, model_freshness

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_AFTER_NAME: Final = 2  # the fields of /proc/PID/stat that stand before those counted here
_USER, _SYSTEM, _RESIDENT = 13, 14, 23


class ProcessStats(NamedTuple):
    """The memory, the total CPU time and the open files of a process."""

    resident_bytes: int
    cpu_seconds: float
    open_files: int


def read_process_stats(pid: int) -> ProcessStats | None:
    """Return the process `pid`'s resources; None when it has ended, or outside Linux."""
    folder = Path(f"/proc/{pid}")
    try:
        words = (folder / "stat").read_text().rpartition(")")[2].split()
        files = sum(1 for _ in (folder / "fd").iterdir())
    except OSError:
        return None
    user, system, pages = (
        int(words[field - _AFTER_NAME]) for field in (_USER, _SYSTEM, _RESIDENT)
    )
    return ProcessStats(pages * _PAGE, (user + system) / _TICKS, files)


_log = logging.getLogger(__name__)

Rows = Iterable[tuple[tuple[str, ...], float]]

_PREFIX: Final = "productrecs_"


class MetricsCollector:
    """All figures of one moment, as prometheus_client collects them."""

    def __init__(self, context: ProcessContext) -> None:
        """Collect the metrics of `context`."""
        self._context = context

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        build = (__version__, REVISION, self._context.services.database.dialect.name)
        labels = ("version", "revision", "database")
        yield _gauge("build_info", "Always 1.", [(build, 1)], *labels)
        for family in self._context.process_metrics.collect():
            if family.name == PROCESS_ID:
                yield from _process_metrics(family)
            else:
                yield family
        yield from self._disk_metrics()
        yield from self._database_metrics()

    def _disk_metrics(self) -> Iterator[Metric]:
        settings = self._context.services.settings
        free = shutil.disk_usage(settings.data).free
        yield _gauge(
            "disk_free_bytes", "Free space on the data folder's disk.", _single_value(free)
        )
        if settings.database_url is None:
            log = Path(f"{settings.database_file}-wal")
            size = log.stat().st_size if log.exists() else 0
            yield _gauge(
                "database_log_bytes",
                ("The size of SQLite's write-ahead log."),
                _single_value(size),
            )

    def _database_metrics(self) -> Iterator[Metric]:
        services = self._context.services
        up_description = (
            "1 while the database answers; without it the metrics below are missing."
        )
        try:
            with services.database.reading() as connection:
                size = estimate_copy_size(services.database, connection)
                backlogs = job_backlogs(connection, services.system_clock())
                job_totals = job_totals_by_kind(connection)
                freshness_rows = model_freshness(connection, services.clock())
                sizes = newest_sizes(connection, INSTALLATION)
                webhooks = webhook_backlog(connection)
        except StorageError as error:
            _log.warning("metrics incomplete", extra={"error": operator_text(error)})
            yield _gauge("database_up", up_description, _single_value(0))
            return
        yield _gauge("database_up", up_description, _single_value(1))
        yield _gauge("database_bytes", "The size of the database.", _single_value(size))
        description = "What each kind of data takes, measured once a day."
        bytes_by_part = [((data_size.part,), float(data_size.bytes)) for data_size in sizes]
        yield _gauge("data_bytes", description, bytes_by_part, "part")
        yield from _job_backlog_metrics(backlogs, services.system_clock())
        yield from _job_attempt_metrics(job_totals)
        yield from _webhook_metrics(webhooks, services.system_clock())
        yield from _model_metrics(freshness_rows)
        yield from _metrics_by_store(freshness_rows[: services.settings.metrics_stores])


def _process_metrics(pids: Metric) -> Iterator[Metric]:
    stats_by_role = [
        ((sample.labels["process"],), stats)
        for sample in pids.samples
        if (stats := read_process_stats(int(sample.value)))
    ]
    memory = [(role, float(stats.resident_bytes)) for role, stats in stats_by_role]
    seconds = [(role, stats.cpu_seconds) for role, stats in stats_by_role]
    files = [(role, float(stats.open_files)) for role, stats in stats_by_role]
    yield _gauge("process_memory_bytes", "Resident memory.", memory, "process")
    words = "CPU time since a process started."
    yield _counter("process_cpu_seconds", words, seconds, "process")
    yield _gauge("process_open_files", "Open file descriptors.", files, "process")


def _job_backlog_metrics(
    job_backlogs: list[JobKindBacklog], now_ms: int
) -> Iterator[Metric]:
    counts = [
        ((backlog.kind, state.value), backlog.counts.get(state, 0))
        for backlog in job_backlogs
        for state in (JobState.QUEUED, JobState.RUNNING, JobState.DEAD)
    ]
    yield _gauge("jobs", "Background jobs by state.", counts, "kind", "state")
    waits = [
        (
            (backlog.kind,),
            (now_ms - backlog.due_since) / SECOND_MS if backlog.due_since else 0,
        )
        for backlog in job_backlogs
    ]
    words = "How long the oldest waiting job has been due."
    yield _gauge("job_wait_seconds", words, waits, "kind")


def _job_attempt_metrics(totals: list[JobKindTotals]) -> Iterator[Metric]:
    attempts = [
        ((total.kind, outcome.value), getattr(total, outcome.value))
        for total in totals
        for outcome in JobAttemptOutcome
    ]
    description = "Attempts at jobs, by all workers, since the installation was created."
    yield _counter("job_attempts", description, attempts, "kind", "outcome")
    durations = SummaryMetricFamily(
        f"{_PREFIX}job_duration_seconds", "The duration of attempts.", labels=("kind",)
    )
    for total in totals:
        count = total.done + total.retried + total.dead
        durations.add_metric((total.kind,), count, total.milliseconds / SECOND_MS)
    yield durations
    completion_times = [
        ((total.kind,), (total.done_at or 0) / SECOND_MS) for total in totals
    ]
    description = "When a job of the kind last succeeded; 0 if every attempt failed."
    yield _gauge(
        "job_last_success_timestamp_seconds", description, completion_times, "kind"
    )


def _webhook_metrics(backlog: WebhookBacklog, now_ms: int) -> Iterator[Metric]:
    states = [((state.value,), float(count)) for state, count in backlog.endpoints.items()]
    words = "Addresses for webhooks by state; gone: the receiver answered 410."
    yield _gauge("webhook_endpoints", words, states, "state")
    words = "Webhook messages that wait for addresses that are on."
    yield _gauge("webhooks_waiting", words, _single_value(backlog.waiting))
    wait = (now_ms - backlog.since_ms) / SECOND_MS if backlog.since_ms else 0
    words = "How long the oldest of them has waited; it grows while a receiver fails."
    yield _gauge("webhook_wait_seconds", words, _single_value(wait))


def _model_metrics(models: list[ModelFreshness]) -> Iterator[Metric]:
    trained = [model.trained_at for model in models if model.trained_at is not None]
    lag = max((model.behind_ms for model in models), default=0) / SECOND_MS
    yield _gauge("stores", "Stores registered.", _single_value(len(models)))
    yield _gauge(
        "stores_with_model", "Stores with a trained model.", _single_value(len(trained))
    )
    words = "When the oldest serving model was trained."
    oldest = [((), trained_ms / SECOND_MS) for trained_ms in sorted(trained)[:1]]
    yield _gauge("oldest_model_timestamp_seconds", words, oldest)
    words = "How long the oldest live event or order has waited for training."
    yield _gauge("learning_lag_seconds", words, _single_value(lag))


def _metrics_by_store(models: list[ModelFreshness]) -> Iterator[Metric]:
    if not models:
        return
    trained = [
        ((model.store_id,), model.trained_at / SECOND_MS)
        for model in models
        if model.trained_at
    ]
    words = "When the store's model was trained."
    yield _gauge("store_model_timestamp_seconds", words, trained, "store")
    lags = [((model.store_id,), model.behind_ms / SECOND_MS) for model in models]
    words = "How long the store's oldest live record has waited for training."
    yield _gauge("store_learning_lag_seconds", words, lags, "store")


def _single_value(value: float) -> Rows:
    return [((), value)]


def _gauge(name: str, description: str, rows: Rows, *labels: str) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, description, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family


def _counter(name: str, description: str, rows: Rows, *labels: str) -> Metric:
    family = CounterMetricFamily(_PREFIX + name, description, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family


routes = Routes("public")

_EXAMPLE: Final = """# HELP productrecs_events_received_total Events that were stored.
# TYPE productrecs_events_received_total counter
productrecs_events_received_total 1027.0
"""


@routes.get(
    "/metrics",
    OPERATOR,
    is_rate_limited=False,
    summary="Return the installation's metrics",
    responses=text_response("text/plain", "The metrics, as text.", _EXAMPLE),
)
async def metrics(request: Request) -> Response:
    """Return metrics in the format of Prometheus, or in OpenMetrics if accepted.

    Requires the operator's token; no metric is about a shopper or a product.
    """
    exchange: RequestContext = request.scope["productrecs"]
    exchange.context.process_metrics.move_durations_to_histogram()
    accept = request.headers.get("accept", "")
    body, kind = await asyncio.to_thread(_render_metrics, exchange.context, accept)
    return Response(body, headers={"content-type": kind})


def _render_metrics(context: ProcessContext, accept: str) -> tuple[bytes, str]:
    encode, kind = choose_encoder(accept)
    return encode(MetricsCollector(context)), kind
