"""Every knob of the installation: name, default, meaning. Only entrypoints read it.

Each can be given on the command line or in the environment (`PRODUCTRECS_` and the name
in capitals; `DATABASE_URL` has its own name). A store's own settings are in
`tenancy/accounts`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.clock import Clock, frozen_at, parse_moment, system_ms
from productrecs.core.errors import ProductRecsError


class SettingsError(ProductRecsError):
    """A knob has an impossible value; the message names it and what it may be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How this process is set up."""

    data: Path = Path("data")
    database_url: str | None = None
    now_ms: int | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    log_format: str = "auto"
    base_url: str | None = None

    @property
    def database_file(self) -> Path:
        """Where the embedded database is, unless `database_url` names a server."""
        return self.data / "productrecs.db"

    @property
    def clock(self) -> Clock:
        """The business clock: the machine's, or the frozen one of a replay."""
        return system_ms if self.now_ms is None else frozen_at(self.now_ms)


@dataclass(frozen=True, slots=True)
class Knob:
    """One line of the list of knobs."""

    environment: str
    default: str
    meaning: str


KNOBS: Final = (
    Knob(
        "PRODUCTRECS_DATA", "./data", "the folder for the embedded database and the models"
    ),
    Knob(
        "DATABASE_URL",
        "",
        "a PostgreSQL address; empty keeps all in SQLite under the folder",
    ),
    Knob("PRODUCTRECS_HOST", "127.0.0.1", "the address to listen on"),
    Knob("PRODUCTRECS_PORT", "8000", "the port to listen on; 0 takes a free one"),
    Knob("PRODUCTRECS_WORKERS", "1", "how many API processes to run"),
    Knob(
        "PRODUCTRECS_BASE_URL",
        "",
        "the address that shops and browsers use; empty takes it from each request",
    ),
    Knob("PRODUCTRECS_NOW", "", "an ISO time at which the clock stands still, for replays"),
    Knob("PRODUCTRECS_LOG_FORMAT", "auto", "json, text, or auto: text on a terminal"),
)


def from_environment(environment: Mapping[str, str], data: Path | None = None) -> Settings:
    """Return the settings that `environment` describes; `data` overrides its folder.

    Raises:
        SettingsError: when a value cannot be read.
    """
    defaults = Settings()
    log_format = environment.get("PRODUCTRECS_LOG_FORMAT") or defaults.log_format
    if log_format not in {"auto", "json", "text"}:
        message = f"PRODUCTRECS_LOG_FORMAT is {log_format!r}; it may be json, text or auto"
        raise SettingsError(message)
    return Settings(
        data=data or Path(environment.get("PRODUCTRECS_DATA") or defaults.data),
        database_url=environment.get("DATABASE_URL") or None,
        now_ms=_moment(environment.get("PRODUCTRECS_NOW")),
        host=environment.get("PRODUCTRECS_HOST") or defaults.host,
        port=_whole(environment, "PRODUCTRECS_PORT", defaults.port),
        workers=_whole(environment, "PRODUCTRECS_WORKERS", defaults.workers),
        log_format=log_format,
        base_url=_address(environment.get("PRODUCTRECS_BASE_URL")),
    )


def _moment(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        message = (
            f"PRODUCTRECS_NOW is {text!r}; write an ISO time like 2011-12-09T12:00:00Z"
        )
        raise SettingsError(message) from error


def _address(text: str | None) -> str | None:
    if not text:
        return None
    if not re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~/-]*)?", text):
        message = f"PRODUCTRECS_BASE_URL is {text!r}; write an address like https://recs.example.com"
        raise SettingsError(message)
    return text.rstrip("/")


def _whole(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name)
    if not text:
        return default
    if not text.isdecimal():
        message = f"{name} is {text!r}; it must be a whole number"
        raise SettingsError(message)
    return int(text)
