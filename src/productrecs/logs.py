"""Log output: one line for each event, as JSON or as text for a terminal.

Keys, passwords and e-mail addresses are removed from every line.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from productrecs.core.clock import system_ms
from productrecs.core.timestamps import iso

LIBRARY_MESSAGE: Final = "library message"
"""The event of a record that a library wrote; its text is the field `message`."""

LOG_EVENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # processes
        "process started": "The supervisor started a process.",
        "process ready": "A process is ready to work.",
        "process crashed": "A forked process ended with an exception.",
        "process died": "A process ended without being asked to; it is restarted.",
        "process hung": "A process does nothing any more; it is killed and restarted.",
        "process killed": "A process did not stop in time and was killed.",
        "service stopping": "The supervisor asks every process to stop.",
        # requests
        "request answered": "A request was answered (with `PRODUCTRECS_ACCESS_LOG`).",
        "request rejected": "A request was answered with a 5xx on purpose: the first of "
        "a route and one a minute (level `debug`: the others, and health checks).",
        "requests accepted again": "A route that answered with 5xx has not for 5 seconds.",
        "request refused": "A request was answered with 401, 402, 403, 413, 415 or 422: "
        "the first of a store, route and code, and one a minute.",
        "request failed": "A request was answered with a 500.",
        "requests cancelled": "Requests were running when the drain time was over.",
        "connection failed": "A connection was closed because of an exception.",
        "connection accept failed": "No file descriptor was left for a connection.",
        "server draining": "The process answers its open requests, then stops.",
        "secret key leaked": "A request had the store's secret key in its address.",
        # readiness
        "setting unknown": "A variable is no setting; `remedy` may name the right one.",
        "readiness failing": "The process has not been ready for seconds.",
        "readiness check failed": "The check of the schema and the queue failed.",
        "metrics incomplete": "`/metrics` was answered without the database.",
        # reading
        "database read failed": "Store data could not be refreshed; memory serves.",
        "database read again": "Store data is refreshed again.",
        "store refresh failed": "The changes of one store could not be read.",
        "store preload failed": "A store is opened by its first request instead.",
        "shopper history read failed": "A list was made without a history.",
        "widget settings read failed": "A widget got the settings read last.",
        "holdout lookup failed": "A test arm was computed without the database.",
        "stored data unreadable": "SQLite reports that stored data cannot be read.",
        # writing
        "writer unavailable": "The writer process does not answer.",
        "write failed": "The writer process failed at a write.",
        "writes failing": "The database refuses writes.",
        "writes recovered": "The database takes writes again.",
        "writes unconfirmed": "A write was not confirmed in time; see `error`.",
        "writes confirmed again": "The process that writes answers in time again.",
        "disk sync failed": "The disk could not make a write durable; the process stops.",
        "live view lookup failed": "Which live views are open could not be read.",
        "live views read again": "Which live views are open is read again.",
        "write-behind flush failed": "Buffered records could not be stored; they wait.",
        "write-behind flushed again": "Buffered records are stored again.",
        "write-behind records lost": "A full buffer dropped records.",
        "usage write failed": "Metered calls could not be stored; they are kept.",
        "usage written again": "Metered calls are stored again.",
        "widget build write failed": "The widgets' scripts could not be stored.",
        # storage
        "database awaited": "The database server does not answer yet; see `error`.",
        "clock corrected": "The machine's clock differs from the database server's.",
        "database damaged": "A check found damaged pages.",
        "damage marker write failed": "The note of the damage could not be written.",
        "checkpoint failed": "The write-ahead log could not be copied to the database.",
        # jobs
        "worker started": "A worker looks for jobs.",
        "worker stopped": "A worker has ended.",
        "periodic job enqueued": "The schedule enqueued jobs that are due (level `debug`).",
        "job finished": "A job ended (level `debug` if it was done within 10 s).",
        "job failed": "A job failed and is tried again.",
        "job abandoned": "A job failed for the last time.",
        "job queue unavailable": "The job queue could not be read.",
        "job queue available again": "The job queue is read again.",
        "job lease renewal failed": "A running job's lease was not renewed.",
        "background loop crashed": "Forecasts, backups or webhooks wait until the process "
        "restarts.",
        "training request failed": "An API process could not enqueue a training.",
        "pictures indexed": "Pictures were fetched and indexed.",
        "feed fetched": "A store's scheduled feed was fetched, or a fetch failed.",
        "webhooks not sent": "Webhooks wait, because the database could not be used.",
        "webhooks sent again": "Webhooks are sent again.",
        "webhook failed": "A webhook met an unexpected error; it is tried again.",
        "visual model built": "A store's visual model was built.",
        "picture encoder switched": "A store's lists come from another picture model.",
        "upload imported": "An uploaded file was imported.",
        "stale uploads deleted": "Files of unfinished uploads were deleted.",
        "old events purged": "Events older than the retention were deleted.",
        "shopper erased": "A shopper's records were erased.",
        "mail not sent": "The mail server refused an e-mail or was not reached.",
        "confirmation not sent": "A link to confirm an e-mail could not be made or mailed.",
        "reset link not sent": "A link to a new password could not be made or mailed.",
        "plan ending": "A store's plan ends soon.",
        "plan requested": "A store's user asked for a plan in the dashboard.",
        "store deleted": "A store was deleted in the dashboard, or by the command "
        "that writes this line to its standard error.",
        "plan ended": "A store's plan has ended; its pages get nothing.",
        # models and indexes
        "model rejected": "It failed its check; the previous one serves.",
        "mail click not stored": "The reader was sent on; the click counts in no report.",
        "feed fetch not counted": "The feed was sent; the dashboard counts one less.",
        "picture encoder rejected": "It cannot be used; pictures wait for the operator's.",
        "text reader rejected": "It cannot be used; printed words in photos are not read.",
        "visual model rejected": "It failed its check; the previous one serves.",
        "product texts embedded": "Searches by meaning know a catalog up to here.",
        "semantic space rejected": "Its file is damaged; it is computed again.",
        "semantic space write failed": "Embedded texts could not be stored; tried again.",
        "word pieces not written": "Searches by meaning stay slower, and API processes "
        "take 40 MB more; tried again.",
        "text model rejected": "It cannot be used; searches go without it.",
        "text model unavailable": "Search runs without the text model.",
        "catalog read failed": "The indexer could not read the catalogs.",
        "catalog read again": "The indexer reads the catalogs again.",
        "search index started": "A search index is being built.",
        "search index built": "A search index was built.",
        "search index rebuilt": "A search index is built from scratch; `error` says why.",
        "search index write failed": "A search index cannot be written; once a minute.",
        "search index written again": "Search indexes can be written again.",
        "search index rejected": "It failed its check; the previous one serves.",
        "search index copy failed": "An index is read from its files, not from a copy.",
        "object store unavailable": "It does not answer; readers serve what they have.",
        "object store available again": "It answers again; what waited is tried again.",
        "object rejected": "An object does not match its checksum; it is fetched again.",
        "backup place unusable": "PRODUCTRECS_BACKUP takes no files; `error` says why.",
        "backup stored": "The backup of the night is in PRODUCTRECS_BACKUP.",
        "objects purged": "Objects that no machine needs were deleted.",
        "snapshot rejected": "It is lost or damaged; it is trained or built again.",
        "snapshot write failed": "The data folder does not take a fetched snapshot.",
        LIBRARY_MESSAGE: "A library wrote the record; `message` is its text.",
    }
)


_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_OWN_LOGGERS: Final = "productrecs"
_SECRETS: Final = (
    (re.compile(r"\b([ps]k_)[A-Za-z0-9_]+"), r"\1..."),
    (re.compile(r"(\w://)[^\s/@]+@"), r"\1...@"),
    (re.compile(r"\w[\w.+-]*@[\w-]+(\.[\w-]+)+"), "...@..."),
)


def configure_logging(log_format: str, level: str = "info") -> None:
    """Write the log from `level` up to stderr, as `json` or `text`.

    `auto` is `text` on a terminal. Libraries say at most what `info` shows.
    """
    is_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_TextFormatter() if is_text else _JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    level_name = level.upper()
    root.setLevel(max(logging.INFO, logging.getLevelName(level_name)))
    logging.getLogger(_OWN_LOGGERS).setLevel(level_name)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def redact_secrets(text: str) -> str:
    """Return `text` without keys, passwords in addresses, and e-mail addresses."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _event_name(record: logging.LogRecord) -> str:
    is_known = record.name.startswith(_OWN_LOGGERS) and record.msg in LOG_EVENTS
    return record.msg if is_known else LIBRARY_MESSAGE


def _record_fields(record: logging.LogRecord) -> dict[str, object]:
    fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if _event_name(record) == LIBRARY_MESSAGE:
        fields["message"] = record.getMessage()
    return fields


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": iso(system_ms()),
            "level": record.levelname.lower(),
            "event": _event_name(record),
            "process": record.process,
            "logger": record.name,
            **_record_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return redact_secrets(json.dumps(line, default=str, ensure_ascii=False))


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(
            f"{name}={value}" for name, value in _record_fields(record).items()
        )
        line = (
            f"{iso(system_ms())[11:19]} {record.levelname.lower():8} {_event_name(record)}"
        )
        line = f"{line} {fields}" if fields else line
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return redact_secrets(line)
