"""How is the log written? One line an event: JSON for machines, words on a terminal.

No line holds a key, an e-mail address or a shopper's id.
"""

import json
import logging
import re
import sys
from typing import Final

from productrecs.core.clock import iso, system_ms

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_SECRETS: Final = (
    (re.compile(r"\b([ps]k_)[A-Za-z0-9_]+"), r"\1..."),
    (re.compile(r"(\w://)[^\s/@]+@"), r"\1...@"),
    (re.compile(r"\w[\w.+-]*@[\w-]+(\.[\w-]+)+"), "...@..."),
)


def configure_logging(log_format: str) -> None:
    """Write every log line to stderr as `json` or `text`; `auto` looks for a terminal."""
    text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Words() if text else _Json())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def redact_secrets(text: str) -> str:
    """Return `text` with keys, passwords in addresses and e-mail addresses cut out."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def _facts(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": iso(system_ms()),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "process": record.process,
            "logger": record.name,
            **_facts(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return redact_secrets(json.dumps(line, default=str, ensure_ascii=False))


class _Words(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = " ".join(f"{name}={value}" for name, value in _facts(record).items())
        line = (
            f"{iso(system_ms())[11:19]} {record.levelname.lower():8} {record.getMessage()}"
        )
        line = f"{line} {facts}" if facts else line
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return redact_secrets(line)
