"""Installation checks: settings, data folder, database, clock, jobs, public address."""

import http.client
import json
import os
import shutil
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from productrecs.cli.doctor.check_result import CheckResult, notice, ok, problem
from productrecs.cli.doctor.disk_and_clock_checks import (
    MAX_CLOCK_SKEW_MS,
    SET_CLOCK,
)
from productrecs.cli.doctor.repository import (
    count_jobs_due_before,
    dead_jobs_by_kind,
    task_due_at,
)
from productrecs.cli.settings_and_folder_owner import stat_of_folder_owner, user_name
from productrecs.cli.unknown_settings import find_unknown_settings
from productrecs.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, system_ms
from productrecs.core.errors import operator_text
from productrecs.core.private_folders import (
    files_of_others,
    is_readable_by_others,
    is_shared_folder,
)
from productrecs.core.timestamps import iso
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.services import (
    TEXT_MODEL_FOLDER,
    ForeignObjectsError,
    Services,
    claim_or_check_shared_objects,
)
from productrecs.settings import Settings
from productrecs.storage.files.object_store import (
    MissingObjectError,
    ObjectStoreUnavailableError,
)
from productrecs.storage.sql.dialects import ReplicationStatus
from productrecs.tenancy.accounts.store_management import all_stores
from productrecs.training.search.multilingual_text_model import (
    load_or_convert_multilingual_model,
)
from productrecs.training.search.packaged_text_model import (
    load_or_convert_packaged_text_model,
)
from productrecs.training.search.text_embedder import TextModel
from productrecs.worker.scheduled_backups import newest_backup_ms

MIN_FREE_BYTES: Final = 512 * 1024 * 1024
MIN_FREE_SHARE: Final = 0.05
MAX_QUEUE_WAIT_MS: Final = 5 * MINUTE_MS
MAX_BACKUP_AGE_MS: Final = 48 * HOUR_MS
HEARTBEAT: Final = "clean-jobs"
"""A periodic task that a worker runs once an hour."""


def check_configuration(
    settings: Settings, environment: Mapping[str, str]
) -> Iterator[CheckResult]:
    """Yield findings about the environment."""
    yield ok("configuration", f"data folder {settings.data.resolve()}")
    if settings.now_ms is not None:
        message = f"the clock is frozen at {iso(settings.now_ms)}"
        yield notice(
            "configuration", message, "unset PRODUCTRECS_NOW, unless this is a replay"
        )
    for name, remedy in find_unknown_settings(environment):
        yield notice("configuration", f"{name} is not a setting of this program", remedy)


def check_data_folder(folder: Path) -> Iterator[CheckResult]:
    """Yield whether the data folder is writable and has free space."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        remedy = f"give this user (id {os.getuid()}) write access to {folder}"
        yield problem("disk", f"the data folder is not writable: {error}", remedy)
    if is_readable_by_others(folder):
        remedy = f"chmod 700 {folder}"
        if is_shared_folder(folder):
            remedy = "use a folder of the service's own: choose it with --data"
        message = "other users of this machine can read the data folder"
        yield problem("disk", message, remedy)
    usage = shutil.disk_usage(folder)
    free = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB are free"
    if usage.free < MIN_FREE_BYTES:
        yield problem("disk", free, "free some space; without it nothing can be stored")
    elif usage.free < MIN_FREE_SHARE * usage.total:
        yield notice("disk", free, "free some space before the disk is full")
    else:
        yield ok("disk", free)


def check_file_owners(settings: Settings) -> Iterator[CheckResult]:
    """Yield files of other users: the service cannot write to them."""
    owner = stat_of_folder_owner(settings)
    if owner is None:
        return
    others = files_of_others(settings.data, owner.st_uid)
    if not others:
        return
    name, other = user_name(owner.st_uid), user_name(others[0].stat().st_uid)
    count = f"{len(others):,} files" if len(others) > 1 else "a file"
    verb = "belong" if len(others) > 1 else "belongs"
    message = (
        f"{count} in the data folder of {name} {verb} to another user: "
        f"{others[0].relative_to(settings.data)} to {other}"
    )
    remedy = f"sudo chown -R {name.lstrip('#')}: {settings.data.resolve()}"
    yield problem("disk", message, remedy)


def check_database(services: Services) -> Iterator[CheckResult]:
    """Yield the result of the database's own checks."""
    dialect = services.database.dialect
    with services.database.reading() as connection:
        found = dialect.find_problems(connection)
    if (damage := services.database.find_damage()) is not None:
        found.insert(0, damage)
    for trouble in found:
        yield problem("storage", trouble.message, trouble.remedy)
    if not found:
        yield ok("storage", f"{dialect.name} opens safely, is whole and up to date")


def check_object_store(services: Services) -> Iterator[CheckResult]:
    """Yield whether the object store takes, returns and deletes an object."""
    if services.objects is None:
        return
    try:
        services.objects.probe_write()
        claim_or_check_shared_objects(services)
    except ForeignObjectsError as error:
        yield problem("objects", *str(error).split(": ", 1))
    except (ObjectStoreUnavailableError, MissingObjectError) as error:
        remedy = (
            "check that the bucket exists, AWS_ENDPOINT_URL, AWS_REGION, and that the key "
            "may read, write, list and delete"
        )
        yield problem("objects", operator_text(error), remedy)
    else:
        yield ok("objects", f"{services.objects.address} can be read and written")


def check_replication(services: Services) -> Iterator[CheckResult]:
    """Yield whether acknowledged facts survive the loss of the database server."""
    database = services.database
    with database.reading() as connection:
        found = database.dialect.replication_status(connection)
    if found is not None:
        yield replication_result(found)


def replication_result(replication: ReplicationStatus) -> CheckResult:
    """Return what a replication means for acknowledged facts."""
    if replication.synchronous_commit in {"off", "local"}:
        message = f"synchronous_commit is {replication.synchronous_commit}"
        if replication.synchronous_commit == "off":
            message += ": a crash of the database loses acknowledged events and orders"
            return problem("replication", message, "set it to on")
        message += ": a promoted standby may lack acknowledged events and orders"
        return notice("replication", message, "set it to on")
    if replication.synchronous:
        waits_for = f"{replication.synchronous} of {replication.standbys} standbys"
        message = f"each commit waits for {waits_for}"
        return ok("replication", f"{message}; acknowledged facts survive a promotion")
    if replication.standby_names:
        message = "no standby of synchronous_standby_names is connected: writes wait"
        return problem("replication", message, "start the standby, or empty the setting")
    if replication.standbys:
        message = (
            f"{replication.standbys} standbys follow asynchronously: after a promotion "
            "acknowledged events and orders of the last moments may be missing"
        )
        remedy = "name a standby in synchronous_standby_names"
        return notice("replication", message, remedy)
    return ok("replication", "no standby is connected; backups are the only copy")


def check_text_model(services: Services) -> Iterator[CheckResult]:
    """Yield whether semantic search is available, else what is missing."""
    settings, remedy = services.settings, "pip install 'productrecs[meaning]', then restart"
    if settings.search_model is not None:
        try:
            TextModel.read(settings.search_model)
        except ModelFileError as error:
            fix = "put the file there, or correct PRODUCTRECS_SEARCH_MODEL"
            yield problem("search", str(error), fix)
            return
        yield ok("search", f"finds by words and, with {settings.search_model}, by meaning")
    elif not settings.has_packaged_search_model:
        yield ok("search", "finds by words alone, as the setting says")
    else:
        try:
            model = load_or_convert_packaged_text_model(settings.data / TEXT_MODEL_FOLDER)
        except ModelFileError as error:
            yield notice("search", f"finds by words alone: {error}", remedy)
            return
        capability = "finds by words and by meaning"
        missing = f"finds by words alone; to find by meaning too: {remedy}"
        yield ok("search", capability if model is not None else missing)
        yield _multilingual_model_result(settings.data / TEXT_MODEL_FOLDER)


_EVERYDAY_NAMES: Final = "finds everyday names in 7 languages (9 of 10 nouns measured)"


def _multilingual_model_result(folder: Path) -> CheckResult:
    remedy = "pip install 'productrecs[languages]', then restart"
    try:
        model = load_or_convert_multilingual_model(folder)
    except ModelFileError as error:
        return notice("search", f"{_EVERYDAY_NAMES} only: {error}", remedy)
    if model is None:
        missing = f"{_EVERYDAY_NAMES}; to find more, in 16 languages: {remedy}"
        return ok("search", missing)
    return ok("search", f"{_EVERYDAY_NAMES}, and similar products in 16 languages")


def check_background_jobs(services: Services) -> Iterator[CheckResult]:
    """Yield whether the workers run jobs."""
    with services.database.reading() as connection:
        failed = dead_jobs_by_kind(connection)
        waiting = count_jobs_due_before(connection, system_ms() - MAX_QUEUE_WAIT_MS)
        next_due = task_due_at(connection, HEARTBEAT)
    for job in failed:
        message = f"{job.count} {job.kind} jobs failed for good: {job.error or 'no reason'}"
        remedy = "fix the cause; the next job starts from scratch"
        yield problem("background", message, remedy)
    if waiting:
        message = f"{waiting} jobs have waited for more than 5 minutes: no worker runs"
        yield problem(
            "background", message, "start productrecs serve or productrecs worker"
        )
    is_overdue = next_due is not None and next_due < system_ms() - MAX_QUEUE_WAIT_MS
    if next_due is not None and is_overdue:
        message = (
            f"the hourly task that was due at {iso(next_due)} did not run: no worker runs"
        )
        yield problem(
            "background", message, "start productrecs serve or productrecs worker"
        )
    if not failed and not waiting and not is_overdue:
        yield ok("background", "no job waits and none failed for good")


def check_backups(services: Services) -> Iterator[CheckResult]:
    """Yield whether the last scheduled backup is younger than two nights."""
    place = services.backups
    if place is None:
        yield ok("backups", "none are scheduled; PRODUCTRECS_BACKUP names a place for them")
        return
    try:
        newest = newest_backup_ms(place)
    except ObjectStoreUnavailableError as error:
        yield problem("backups", operator_text(error), "check PRODUCTRECS_BACKUP")
        return
    remedy = "run `productrecs backup`, which says why if it fails"
    if not all_stores(services.database):
        yield ok("backups", "the first one is made when there is a store")
    elif newest is None:
        yield problem("backups", f"there is no backup in {place.address}", remedy)
    elif newest < system_ms() - MAX_BACKUP_AGE_MS:
        yield problem("backups", f"the last backup is from {iso(newest)}", remedy)
    else:
        yield ok("backups", f"the last backup is from {iso(newest)}")


_PATH: Final = "/health/live?seen=true"
_SECONDS: Final = 5.0
_VARIABLE: Final = "PRODUCTRECS_BASE_URL"

# Forged headers that no proxy sets: a documentation address and an invalid scheme.
_CLAIMED: Final = {"X-Forwarded-For": "192.0.2.99", "X-Forwarded-Proto": "claimed"}
_LONGEST: Final = 10_000


class ObservedProbeRequest(NamedTuple):
    """The doctor's probe request, as the service received it."""

    scheme: str | None
    host: str | None
    client: str | None


class _ProbeResponse(NamedTuple):
    """The response; `observed` is None if another program answered."""

    status: int
    observed: ObservedProbeRequest | None
    date_ms: int | None = None  # by the clock of whoever answered


def check_address_and_proxy(settings: Settings) -> Iterator[CheckResult]:
    """Yield whether the service answers at its base URL, if one is set."""
    base = settings.base_url
    if base is None:
        return
    try:
        response = _probe_service(base)
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason or "no TLS"
        remedy = "renew the proxy's certificate, or configure TLS for that address"
        yield problem(
            "address", f"the certificate of {base} is not trusted: {reason}", remedy
        )
    except (OSError, http.client.HTTPException) as error:
        remedy = f"start the service and its proxy, or correct {_VARIABLE}"
        message = f"{base} does not answer ({error})"
        yield notice("address", message, remedy)
    else:
        if response.status != HTTPStatus.OK or response.observed is None:
            remedy = (
                f"configure the proxy to pass {base} to the service, or correct {_VARIABLE}"
            )
            message = (
                f"{base} answers {response.status}, and the answer is not from this program"
            )
            yield problem("address", message, remedy)
            return
        yield ok("address", f"{base} leads to the service")
        yield from check_forwarded_headers(base, response.observed)
        yield from _check_proxy_clock(base, response.date_ms)


def check_forwarded_headers(
    base: str, observed: ObservedProbeRequest
) -> Iterator[CheckResult]:
    """Yield wrong forwarding headers of the proxy; the service has no TLS itself."""
    parts = urlsplit(base)
    if observed.host is not None and observed.host.lower() != parts.netloc.lower():
        message = f"requests to {base} reach the service with the host {observed.host!r}"
        remedy = (
            "configure the proxy to forward Host (nginx: proxy_set_header Host $http_host)"
        )
        yield notice("proxy", message, remedy)
    if parts.scheme != "https":
        return
    if observed.scheme != "https":
        message = (
            f"the proxy uses https and tells the service {observed.scheme or 'nothing'}"
        )
        remedy = (
            "configure it to send the scheme (nginx: proxy_set_header X-Forwarded-Proto "
            "$scheme)"
        )
        yield notice("proxy", message, remedy)
    remedy = "let it write the header anew (nginx: proxy_set_header X-Forwarded-For "
    remedy += "$remote_addr)"
    if observed.client is None:
        message = "the proxy does not forward the client's address"
        yield notice("proxy", message, remedy)
    elif observed.client == _CLAIMED["X-Forwarded-For"]:
        message = "the proxy passes X-Forwarded-For on as clients write it: anybody may "
        message += "pretend to be somebody else"
        yield problem("proxy", message, remedy)


def _check_proxy_clock(base: str, date_ms: int | None) -> Iterator[CheckResult]:
    """Yield a clock that differs from the proxy's, which may be another machine."""
    if date_ms is None or abs(system_ms() - date_ms) <= MAX_CLOCK_SKEW_MS:
        return
    message = f"the clock says {iso(system_ms())}, but that of {base} {iso(date_ms)}"
    yield problem("clock", message, SET_CLOCK)


def _probe_service(base_url: str) -> _ProbeResponse:
    parts = urlsplit(base_url)
    connection_type = (
        http.client.HTTPSConnection
        if parts.scheme == "https"
        else http.client.HTTPConnection
    )
    connection = connection_type(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}{_PATH}", headers=_CLAIMED)
        reply = connection.getresponse()
        observed = _parse_observed_request(reply.read(_LONGEST))
        return _ProbeResponse(
            reply.status, observed, _parse_date_header(reply.getheader("date"))
        )
    finally:
        connection.close()


def _parse_date_header(header: str | None) -> int | None:
    try:
        return int(parsedate_to_datetime(header or "").timestamp()) * SECOND_MS
    except ValueError:
        return None


def _parse_observed_request(body: bytes) -> ObservedProbeRequest | None:
    try:
        fields = json.loads(body)["seen"]
        return ObservedProbeRequest(fields["scheme"], fields["host"], fields["client"])
    except (ValueError, KeyError, TypeError):
        return None
