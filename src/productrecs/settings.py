"""Installation settings: the name, default and meaning of each.

A setting is given on the command line or in the environment (`PRODUCTRECS_` and the name
in capitals; `DATABASE_URL` has its own name). A store's own settings are in
`tenancy/accounts`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from productrecs.core.clock import Clock, fixed_clock, system_ms
from productrecs.core.errors import ProductRecsError
from productrecs.core.memory_budget import DEFAULT_MIB, MIN_MIB
from productrecs.core.timestamps import parse_timestamp
from productrecs.tenancy.accounts.store_settings import (
    MAX_RETENTION_DAYS,
    MIN_RETENTION_DAYS,
)
from productrecs.tenancy.billing.plans_and_subscriptions import (
    DEFAULT_PLANS,
    TRIAL,
    Plans,
    PlansError,
    parse_plans,
)


class SettingsError(ProductRecsError):
    """A setting has an impossible value; the message names it and what it may be."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The server that sends the service's e-mails."""

    host: str
    port: int
    security: str  # starttls, tls or none
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)


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
    log_level: str = "info"
    access_log: bool = False
    base_url: str | None = None
    connections: int = 4_096
    connections_per_address: int = 200
    request_memory: int = DEFAULT_MIB
    rate_per_key: int = 0
    rate_per_address: int = 0
    metrics_token: str | None = None
    metrics_stores: int = 0
    plans: Plans = field(default_factory=lambda: DEFAULT_PLANS)
    image_hosts: frozenset[str] = frozenset()
    feed_hosts: frozenset[str] = frozenset()
    webhook_hosts: frozenset[str] = frozenset()
    image_detectors: tuple[Path, ...] = ()
    image_model: Path | None = None
    has_packaged_encoder: bool = False  # used where it is installed and no model is named
    has_packaged_text_reader: bool = False  # reads printed text where it is installed
    search_model: Path | None = None
    has_packaged_search_model: bool = False  # as with pictures
    registration: str = "invitation"
    hsts_seconds: int = 0
    dashboard_key: str | None = field(default=None, repr=False)
    new_store_plan: str = TRIAL.name
    smtp: SmtpServer | None = None
    objects: str | None = None
    retention_days: int = 0
    backup: str | None = None
    backups_kept: int = 14

    @property
    def database_file(self) -> Path:
        """Where the embedded database is, unless `database_url` names a server."""
        return self.data / "productrecs.db"

    @property
    def clock(self) -> Clock:
        """The business clock: the machine's, or the frozen one of a replay."""
        return system_ms if self.now_ms is None else fixed_clock(self.now_ms)


@dataclass(frozen=True, slots=True)
class SettingDescription:
    """One line of the list of settings.

    What `is_secret` is shown to nobody, and may lie in a file: NAME_FILE is its path.
    """

    environment: str
    default: str
    meaning: str
    is_secret: bool = False


SETTING_DESCRIPTIONS: Final = (
    SettingDescription(
        "PRODUCTRECS_DATA", "./data", "the folder of the embedded database and the models"
    ),
    SettingDescription(
        "PRODUCTRECS_OBJECTS",
        "",
        "where models, indexes and uploads are shared by several machines: "
        "s3://bucket/prefix or a folder; empty keeps them in the data folder",
    ),
    SettingDescription(
        "PRODUCTRECS_BACKUP",
        "",
        "where the service stores a backup each night: a folder or s3://bucket/prefix; "
        "empty makes none",
    ),
    SettingDescription(
        "PRODUCTRECS_BACKUP_KEEP",
        "14",
        "how many backups stay there, at least 1; older ones are deleted",
    ),
    SettingDescription(
        "DATABASE_URL",
        "",
        "a PostgreSQL address; empty stores everything in SQLite in the data folder",
        is_secret=True,
    ),
    SettingDescription("PRODUCTRECS_HOST", "127.0.0.1", "the address to listen on"),
    SettingDescription(
        "PRODUCTRECS_PORT", "8000", "the port to listen on; 0 takes a free one"
    ),
    SettingDescription("PRODUCTRECS_WORKERS", "1", "how many API processes to run"),
    SettingDescription(
        "PRODUCTRECS_BASE_URL",
        "",
        "the address that shops and browsers use; if empty, it is taken from each request",
    ),
    SettingDescription(
        "PRODUCTRECS_CONNECTIONS",
        "4096",
        "the most connections that an API process keeps open; 0: no limit",
    ),
    SettingDescription(
        "PRODUCTRECS_CONNECTIONS_PER_ADDRESS",
        "200",
        "the most connections from one public address, for IPv6 from one /64 network; "
        "0: no limit",
    ),
    SettingDescription(
        "PRODUCTRECS_REQUEST_MEMORY",
        "160",
        "the most MiB of request bodies and waiting writes in a process; at least 128",
    ),
    SettingDescription(
        "PRODUCTRECS_RATE_PER_KEY",
        "0",
        "the most calls per second with a store's key, in bursts of up to ten seconds' "
        "worth; 0: no limit",
    ),
    SettingDescription(
        "PRODUCTRECS_RATE_PER_ADDRESS",
        "0",
        "the most calls per second from one public address, in bursts of up to ten "
        "seconds' worth; 0: no limit",
    ),
    SettingDescription(
        "PRODUCTRECS_METRICS_TOKEN",
        "",
        "the bearer token for /metrics; empty disables /metrics",
        is_secret=True,
    ),
    SettingDescription(
        "PRODUCTRECS_METRICS_STORES",
        "0",
        "how many stores, oldest first, have their own series in /metrics",
    ),
    SettingDescription(
        "PRODUCTRECS_PLANS",
        "",
        "a TOML file of plans; plans that it does not define are those of the guide",
    ),
    SettingDescription(
        "PRODUCTRECS_IMAGE_HOSTS",
        "",
        "comma-separated hosts whose pictures may be fetched although their address is "
        "private",
    ),
    SettingDescription(
        "PRODUCTRECS_FEED_HOSTS",
        "",
        "comma-separated hosts that product feeds may be fetched from although their "
        "address is private",
    ),
    SettingDescription(
        "PRODUCTRECS_WEBHOOK_HOSTS",
        "",
        "comma-separated hosts that webhooks may be sent to although their address is "
        "private, also by http",
    ),
    SettingDescription(
        "PRODUCTRECS_IMAGE_MODEL",
        "",
        "an ONNX file that turns pictures into vectors, with its .json beside it; empty "
        "uses the encoder of productrecs[vision] where that is installed, none uses the "
        "built-in descriptors",
    ),
    SettingDescription(
        "PRODUCTRECS_IMAGE_DETECTOR",
        "",
        "an ONNX file of the YOLOX kind, with its .json beside it, that detects "
        "products in photos; empty uses an installed detector, or the built-in method",
    ),
    SettingDescription(
        "PRODUCTRECS_PHOTO_TEXT",
        "auto",
        "auto reads the words printed on what a photo shows where productrecs[text] is "
        "installed, none never does",
    ),
    SettingDescription(
        "PRODUCTRECS_SEARCH_MODEL",
        "",
        "an ONNX file that turns texts into vectors, with its .json and its tokenizer "
        "beside it, to search by meaning; empty uses the models of productrecs[meaning] "
        "and productrecs[languages] where they are installed, none searches by words alone",
    ),
    SettingDescription(
        "PRODUCTRECS_NOW",
        "",
        "a time such as 2026-03-01T09:00:00Z at which the clock is frozen, for replays",
    ),
    SettingDescription(
        "PRODUCTRECS_LOG_FORMAT",
        "auto",
        "json, text, or auto: text in a terminal, else json",
    ),
    SettingDescription("PRODUCTRECS_LOG_LEVEL", "info", "debug, info, warning or error"),
    SettingDescription(
        "PRODUCTRECS_ACCESS_LOG",
        "false",
        "true logs a line for each request, which costs about a third of the throughput",
    ),
    SettingDescription(
        "PRODUCTRECS_HSTS_SECONDS",
        "0",
        "how long browsers that saw the dashboard stay with HTTPS (HSTS); 0: no header",
    ),
    SettingDescription(
        "PRODUCTRECS_DASHBOARD_KEY",
        "",
        "the key that encrypts the secrets of two-factor login, the same on every machine; "
        "make one with openssl rand -hex 32; empty: with SQLite the file dashboard.key in "
        "the data folder, with PostgreSQL the secrets are not encrypted",
        is_secret=True,
    ),
    SettingDescription(
        "PRODUCTRECS_REGISTRATION",
        "invitation",
        "who may register a store: open, invitation or closed; a service that starts in a "
        "terminal prints the link of its first store, whose owner can add others in the "
        "dashboard; `productrecs account invite` prints links for other people",
    ),
    SettingDescription(
        "PRODUCTRECS_NEW_STORE_PLAN",
        TRIAL.name,
        "the plan of a store that is registered where registration is open; the first "
        "store of an installation, one by an invitation and one of `productrecs store "
        "create` is unlimited",
    ),
    SettingDescription(
        "PRODUCTRECS_RETENTION_DAYS",
        "0",
        "after how many days, at least 90, events are purged each night, searches and "
        "impressions too; reports keep their daily sums, and orders stay; 0: never. A "
        "store's setting retention_days can make it shorter",
    ),
    SettingDescription(
        "PRODUCTRECS_SMTP_HOST",
        "",
        "the SMTP server for reset links and invitations, which needs "
        "PRODUCTRECS_BASE_URL too; empty: no e-mails are sent",
    ),
    SettingDescription("PRODUCTRECS_SMTP_PORT", "587", "the port of the SMTP server"),
    SettingDescription(
        "PRODUCTRECS_SMTP_SECURITY",
        "starttls",
        "starttls, tls (from the first byte, often port 465), or none",
    ),
    SettingDescription(
        "PRODUCTRECS_SMTP_USER", "", "the login of the SMTP server; empty: no login"
    ),
    SettingDescription(
        "PRODUCTRECS_SMTP_PASSWORD",
        "",
        "the password of that login",
        is_secret=True,
    ),
    SettingDescription(
        "PRODUCTRECS_SMTP_FROM",
        "",
        "the sender of e-mails: an address, or a name and an address in angle brackets",
    ),
)


LOG_LEVELS: Final = ("info", "debug", "warning", "error")
"""The levels of the log; the first is the default."""

REGISTRATION: Final = ("invitation", "open", "closed")
"""Who may register a store in the dashboard; the first is the default."""

NO_MODEL: Final = "none"
"""In place of a picture model's path: no model, not even the packaged one."""

_FILE: Final = "_FILE"
_MIN_TOKEN_CHARS: Final = 20


def from_environment(environment: Mapping[str, str], data: Path | None = None) -> Settings:
    """Return the settings that `environment` describes; `data` overrides its folder.

    Raises:
        SettingsError: when a value cannot be read.
    """
    defaults = Settings()
    image_model = environment.get("PRODUCTRECS_IMAGE_MODEL")
    detector = _path_or_none(environment.get("PRODUCTRECS_IMAGE_DETECTOR"))
    search_model = environment.get("PRODUCTRECS_SEARCH_MODEL")
    plans = _read_plans(environment.get("PRODUCTRECS_PLANS"))
    return Settings(
        data=data or Path(environment.get("PRODUCTRECS_DATA") or defaults.data),
        database_url=_read_secret(environment, "DATABASE_URL"),
        now_ms=_parse_frozen_time(environment.get("PRODUCTRECS_NOW")),
        host=environment.get("PRODUCTRECS_HOST") or defaults.host,
        port=_read_int(environment, "PRODUCTRECS_PORT", defaults.port, 0, 65_535),
        workers=_read_int(environment, "PRODUCTRECS_WORKERS", defaults.workers, 1, 64),
        log_format=_read_choice(
            environment, "PRODUCTRECS_LOG_FORMAT", ("auto", "json", "text")
        ),
        log_level=_read_choice(environment, "PRODUCTRECS_LOG_LEVEL", LOG_LEVELS),
        access_log=_read_choice(environment, "PRODUCTRECS_ACCESS_LOG", ("false", "true"))
        == "true",
        base_url=_parse_base_url(environment.get("PRODUCTRECS_BASE_URL")),
        connections=_read_int(environment, "PRODUCTRECS_CONNECTIONS", defaults.connections),
        connections_per_address=_read_int(
            environment,
            "PRODUCTRECS_CONNECTIONS_PER_ADDRESS",
            defaults.connections_per_address,
        ),
        request_memory=_read_request_memory(environment, defaults.request_memory),
        rate_per_key=_read_int(
            environment, "PRODUCTRECS_RATE_PER_KEY", defaults.rate_per_key
        ),
        rate_per_address=_read_int(
            environment, "PRODUCTRECS_RATE_PER_ADDRESS", defaults.rate_per_address
        ),
        metrics_token=_read_token(environment, "PRODUCTRECS_METRICS_TOKEN"),
        metrics_stores=_read_int(
            environment, "PRODUCTRECS_METRICS_STORES", defaults.metrics_stores
        ),
        plans=plans,
        image_model=None if image_model == NO_MODEL else _path_or_none(image_model),
        has_packaged_encoder=not image_model,
        has_packaged_text_reader=_read_choice(
            environment, "PRODUCTRECS_PHOTO_TEXT", ("auto", NO_MODEL)
        )
        != NO_MODEL,
        search_model=None if search_model == NO_MODEL else _path_or_none(search_model),
        has_packaged_search_model=not search_model,
        image_detectors=() if detector is None else (detector,),
        image_hosts=_read_hosts(environment, "PRODUCTRECS_IMAGE_HOSTS"),
        feed_hosts=_read_hosts(environment, "PRODUCTRECS_FEED_HOSTS"),
        webhook_hosts=_read_hosts(environment, "PRODUCTRECS_WEBHOOK_HOSTS"),
        registration=_read_choice(environment, "PRODUCTRECS_REGISTRATION", REGISTRATION),
        hsts_seconds=_read_int(
            environment, "PRODUCTRECS_HSTS_SECONDS", defaults.hsts_seconds
        ),
        dashboard_key=_read_token(environment, "PRODUCTRECS_DASHBOARD_KEY"),
        new_store_plan=_read_choice(
            environment,
            "PRODUCTRECS_NEW_STORE_PLAN",
            tuple(dict.fromkeys((TRIAL.name, *plans))),
        ),
        smtp=_read_smtp_server(environment),
        objects=environment.get("PRODUCTRECS_OBJECTS") or None,
        retention_days=_read_retention_days(environment),
        backup=environment.get("PRODUCTRECS_BACKUP") or None,
        backups_kept=_read_int(
            environment, "PRODUCTRECS_BACKUP_KEEP", defaults.backups_kept, 1
        ),
    )


def _read_retention_days(environment: Mapping[str, str]) -> int:
    name = "PRODUCTRECS_RETENTION_DAYS"
    days = _read_int(environment, name, 0)
    if days and not MIN_RETENTION_DAYS <= days <= MAX_RETENTION_DAYS:
        message = (
            f"{name} is {days}; use 0 for never, or {MIN_RETENTION_DAYS} to "
            f"{MAX_RETENTION_DAYS} days"
        )
        raise SettingsError(message)
    return days


def _read_request_memory(environment: Mapping[str, str], default: int) -> int:
    name = "PRODUCTRECS_REQUEST_MEMORY"
    mib = _read_int(environment, name, default)
    if mib < MIN_MIB:
        message = f"{name} is {mib}; one push of 32 MiB needs {MIN_MIB} or more"
        raise SettingsError(message)
    return mib


def _read_choice(environment: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """Return one of `values`; the first if it is not set."""
    value = environment.get(name) or values[0]
    if value not in values:
        message = f"{name} is {value!r}; use {', '.join(values[:-1])} or {values[-1]}"
        raise SettingsError(message)
    return value


def _read_secret(environment: Mapping[str, str], name: str) -> str | None:
    """Return a value that may also lie in a file, which `NAME_FILE` names."""
    value, path = environment.get(name), environment.get(f"{name}{_FILE}")
    if not path:
        return value or None
    if value:
        message = f"{name} and {name}{_FILE} are both set; unset one of them"
        raise SettingsError(message)
    try:
        return Path(path).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name}{_FILE} is {path!r}, which cannot be read: {error}"
        raise SettingsError(message) from error


def _read_token(environment: Mapping[str, str], name: str) -> str | None:
    value = _read_secret(environment, name)
    if value is not None and (len(value) < _MIN_TOKEN_CHARS or not value.isascii()):
        message = (
            f"{name} is too easy to guess: use at least {_MIN_TOKEN_CHARS} letters and "
            "digits; make one with: openssl rand -hex 32"
        )
        raise SettingsError(message)
    return value


def _parse_frozen_time(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return parse_timestamp(text)
    except ValueError as error:
        message = f"PRODUCTRECS_NOW is {text!r}; write a time such as 2011-12-09T12:00:00Z"
        raise SettingsError(message) from error


def _parse_base_url(text: str | None) -> str | None:
    if not text:
        return None
    if not re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~/-]*)?", text):
        message = f"PRODUCTRECS_BASE_URL is {text!r}; write an address like https://recs.example.com"
        raise SettingsError(message)
    return text.rstrip("/")


def _read_plans(path: str | None) -> Plans:
    if not path:
        return DEFAULT_PLANS
    try:
        return parse_plans(Path(path).read_text("utf-8"))
    except OSError as error:
        message = f"PRODUCTRECS_PLANS is {path!r}: {error.strerror}"
        raise SettingsError(message) from error
    except (PlansError, UnicodeDecodeError) as error:
        message = f"PRODUCTRECS_PLANS is {path!r}: {error}"
        raise SettingsError(message) from error


def _read_smtp_server(environment: Mapping[str, str]) -> SmtpServer | None:
    host = environment.get("PRODUCTRECS_SMTP_HOST")
    if not host:
        return None
    security = _read_choice(
        environment, "PRODUCTRECS_SMTP_SECURITY", ("starttls", "tls", "none")
    )
    sender = environment.get("PRODUCTRECS_SMTP_FROM") or ""
    message = None
    if "@" not in sender or not sender.isprintable():
        message = "PRODUCTRECS_SMTP_FROM must name the sender, like recs@example.com"
    elif not environment.get("PRODUCTRECS_BASE_URL"):
        # A link made from the request's Host header could lead to another site.
        message = "PRODUCTRECS_SMTP_HOST needs PRODUCTRECS_BASE_URL, for links in e-mails"
    if message is not None:
        raise SettingsError(message)
    return SmtpServer(
        host=host,
        port=_read_int(environment, "PRODUCTRECS_SMTP_PORT", 587),
        security=security,
        sender=sender,
        user=environment.get("PRODUCTRECS_SMTP_USER") or None,
        password=_read_secret(environment, "PRODUCTRECS_SMTP_PASSWORD"),
    )


def _path_or_none(text: str | None) -> Path | None:
    return Path(text) if text else None


def _read_hosts(environment: Mapping[str, str], name: str) -> frozenset[str]:
    names = frozenset(
        host_name.strip().lower()
        for host_name in environment.get(name, "").split(",")
        if host_name.strip()
    )
    odd = sorted(
        host_name for host_name in names if not re.fullmatch(r"[a-z0-9.:_-]+", host_name)
    )
    if odd:
        message = (
            f"{name} holds {odd[0]!r}; write host names such as "
            "shop.example.internal, separated by commas"
        )
        raise SettingsError(message)
    return names


def _read_int(
    environment: Mapping[str, str],
    name: str,
    default: int,
    least: int = 0,
    most: int | None = None,
) -> int:
    text = environment.get(name)
    if not text:
        return default
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if number < least or (most is not None and number > most):
        limits = f"from {least}" if most is None else f"from {least} to {most}"
        message = f"{name} is {text!r}; it must be a whole number {limits}"
        raise SettingsError(message)
    return number
