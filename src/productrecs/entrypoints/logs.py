"""Log output: one line for each event, as JSON or as text for a terminal.

Keys, passwords and e-mail addresses are removed from every line.
"""

import json
import logging
import re
import sys
from typing import Final

from productrecs.core.clock import iso, system_ms
from productrecs.core.log_event_names import LIBRARY_MESSAGE, LOG_EVENTS

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_OURS: Final = "productrecs"
_SECRETS: Final = (
    (re.compile(r"\b([ps]k_)[A-Za-z0-9_]+"), r"\1..."),
    (re.compile(r"(\w://)[^\s/@]+@"), r"\1...@"),
    (re.compile(r"\w[\w.+-]*@[\w-]+(\.[\w-]+)+"), "...@..."),
)


def configure_logging(log_format: str) -> None:
    """Write the log to stderr as `json` or `text`; `auto` is `text` on a terminal."""
    text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Words() if text else _Json())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def redact_secrets(text: str) -> str:
    """Return `text` without keys, passwords in addresses, and e-mail addresses."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _event(record: logging.LogRecord) -> str:
    known = record.name.startswith(_OURS) and record.msg in LOG_EVENTS
    return record.msg if known else LIBRARY_MESSAGE


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    if _event(record) == LIBRARY_MESSAGE:
        fields["message"] = record.getMessage()
    return fields


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": iso(system_ms()),
            "level": record.levelname.lower(),
            "event": _event(record),
            "process": record.process,
            "logger": record.name,
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return redact_secrets(json.dumps(line, default=str, ensure_ascii=False))


class _Words(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in _fields(record).items())
        line = f"{iso(system_ms())[11:19]} {record.levelname.lower():8} {_event(record)}"
        line = f"{line} {fields}" if fields else line
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return redact_secrets(line)
