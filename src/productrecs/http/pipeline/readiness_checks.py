"""Readiness checks: the reasons why a process should get no requests, and warnings.

A reason makes the process unready. A warning does not: a process with stale lists stays in
the load balancer, because removing it would only lose events.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from productrecs.core.clock import MINUTE_MS, Clock, system_ms
from productrecs.core.errors import (
    DamagedDatabaseError,
    StorageError,
    UnconfirmedWriteError,
    UnsafeStorageError,
)
from productrecs.storage.files.object_store import ObjectStore
from productrecs.storage.jobs.job_queue import job_backlogs
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.integrity_check import DamageReportFile
from productrecs.storage.sql.migrations import schema_upgrade

_log = logging.getLogger(__name__)

CHECKS: Final = ("process", "database", "migrations", "models", "objects", "writes", "jobs")
"""The names of the checks."""
MAX_JOB_WAIT_MS: Final = 5 * MINUTE_MS
UNFIT_SECONDS: Final = 30.0
"""Writes that have failed for so long make the process unready."""
_CHECK_SECONDS: Final = 5.0
_RECHECK_SECONDS: Final = 1.0
"""The interval while writes fail, to notice a recovery within a second."""
_FULL_BYTES: Final = 1 << 16
DAMAGED: Final = (
    "a part of the database cannot be read; productrecs doctor shows which and what to do"
)

OBJECTS_UNAVAILABLE: Final = (
    "the object store does not answer: new models wait; productrecs doctor shows why"
)
UNCONFIRMED: Final = "a write was not confirmed in time: check the writer process"


@dataclass(frozen=True, slots=True)
class Readiness:
    """Problems by the name of the check; a check without a problem is ok."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)

    def results_by_check(self) -> dict[str, str]:
        """Return each check with `ok` or its problem."""
        found = {**self.warnings, **self.reasons}
        return {name: found.get(name, "ok") for name in CHECKS}


class DependencyMonitor:
    """Monitors the database, its schema, its disk and the job queue."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        clock: Clock = system_ms,
        objects: ObjectStore | None = None,
    ) -> None:
        """Start without problems. `clock` is the system clock, which jobs use."""
        self._objects = objects
        self._database = database
        self._folder = folder
        self._damage_file = DamageReportFile(folder)
        self._clock = clock
        self._schema = Readiness()
        self._jobs: dict[str, str] = {}
        self._disk: str | None = None
        self._damage: str | None = None

    async def run_checks_periodically(self) -> None:
        """Run the checks periodically until cancelled."""
        while True:
            await asyncio.to_thread(self.run_checks)
            is_writable = self._write_problem() is None
            await asyncio.sleep(_CHECK_SECONDS if is_writable else _RECHECK_SECONDS)

    def run_checks(self) -> None:
        """Run the checks once; the reader reports a database that does not answer."""
        self._check_storage()
        if self._objects is not None:
            self._objects.find_trouble()  # notes the outcome
        try:
            self._schema = self._schema_readiness()
            self._jobs = self._job_warnings()
        except StorageError:
            return
        except Exception:
            _log.exception("readiness check failed")

    def current_readiness(self) -> Readiness:
        """Return the current problems: failed reads and writes count at once."""
        warnings = {**self._schema.warnings, **self._jobs}
        if (unwritable := self._write_problem()) is not None:
            warnings["writes"] = unwritable
        if self._objects is not None and self._objects.trouble is not None:
            warnings["objects"] = OBJECTS_UNAVAILABLE
        if self._damage is not None or self._database.failures.failed_read is not None:
            warnings["database"] = DAMAGED
        reasons = dict(self._schema.reasons)
        is_lasting = self._database.failures.failed_write_seconds >= UNFIT_SECONDS
        if unwritable is not None and is_lasting:
            reasons["writes"] = unwritable
        return Readiness(reasons, warnings)

    def _write_problem(self) -> str | None:
        """Return why writes fail: the last failed write, or a problem of the disk."""
        failed = self._database.failures.failed_write
        if isinstance(failed, UnconfirmedWriteError):
            return UNCONFIRMED
        return self._disk if failed is None else f"the database rejects writes: {failed}"

    def _check_storage(self) -> None:
        """Probe a write, and check the disk and the integrity of the database."""
        with contextlib.suppress(StorageError):  # recorded in `failures`
            self._database.probe_write()
        self._disk = disk_problem(self._folder)
        before, self._damage = self._damage, self._damage_file.read()
        if self._damage is not None and before is None:
            _log.critical("database damaged", extra={"damage": self._damage})

    def _schema_readiness(self) -> Readiness:
        try:
            if schema_upgrade.is_current(self._database):
                return Readiness()
        except DamagedDatabaseError:
            return self._schema
        except UnsafeStorageError:
            newer = "a newer program migrated the database; replace this one"
            return Readiness(warnings={"migrations": newer})
        outdated = "the database is behind this program's schema; run productrecs migrate"
        return Readiness({"migrations": outdated})

    def _job_warnings(self) -> dict[str, str]:
        now_ms = self._clock()
        with self._database.reading() as connection:
            found = job_backlogs(connection, now_ms)
        since = min(
            (backlog.due_since for backlog in found if backlog.due_since), default=now_ms
        )
        if now_ms - since < MAX_JOB_WAIT_MS:
            return {}
        minutes = (now_ms - since) // MINUTE_MS
        message = (
            f"a job has been due for {minutes} minutes: check that productrecs worker runs"
        )
        return {"jobs": message}


def disk_problem(folder: Path) -> str | None:
    """Return why the data folder's disk is not writable; None if it is."""
    try:
        disk = os.statvfs(folder)
    except OSError as error:
        return f"the data folder cannot be reached: {error.strerror}"
    if disk.f_flag & os.ST_RDONLY:
        return "the disk of the data folder is read-only: nothing can be stored"
    free = disk.f_bavail if os.geteuid() else disk.f_bfree
    if disk.f_blocks and free * disk.f_frsize < _FULL_BYTES:
        return "the disk of the data folder is full; free some space, nothing is lost"
    return None
