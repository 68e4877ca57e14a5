"""Integrity check: a worker reads the whole database regularly and reports bad pages.

A damaged page goes unnoticed until it is read, and by then backups may be old. The result
is written to a file next to the database: a damaged database may reject writes, and API
processes need the worker's result.
"""

import contextlib
import logging
import threading
import time
from pathlib import Path
from typing import Final

from productrecs.core.errors import DamagedDatabaseError, StorageError
from productrecs.storage.sql.database import Database

_log = logging.getLogger(__name__)

_NAME: Final = "damaged"
_MIN_PAUSE_SECONDS: Final = 60.0
_PAUSE_PER_SECOND: Final = 200.0
"""The pause after a check, which limits checks to half a percent of the disk's time."""
_LOG_AGAIN_SECONDS: Final = 3_600.0


class DamageReportFile:
    """The file that reports damage of a data folder's database."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`; no file is opened yet."""
        self._path = folder / _NAME

    def read(self) -> str | None:
        """Return the reported damage, or None."""
        try:
            return self._path.read_text("utf-8", "replace")
        except OSError:
            return None

    def write(self, message: str | None) -> None:
        """Store the damage; None removes an earlier report.

        Raises:
            OSError: when the disk rejects the write.
        """
        if message is None:
            self._path.unlink(missing_ok=True)
        else:
            self._path.write_text(message, "utf-8")


class IntegrityChecker:
    """Checks the whole database regularly."""

    def __init__(self, database: Database, folder: Path) -> None:
        """Check `database`; store the damage file in `folder`."""
        self._database = database
        self._damage_file = DamageReportFile(folder)
        self._logged_damage = ""
        self._logged_at = 0.0

    def start(self) -> None:
        """Check now, then regularly at low cost, until the process ends."""
        threading.Thread(target=self._run, name="damage", daemon=True).start()

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            with contextlib.suppress(StorageError):  # unavailable: reported elsewhere
                self.check_and_report()
            took = time.monotonic() - began
            time.sleep(max(_MIN_PAUSE_SECONDS, _PAUSE_PER_SECOND * took))

    def check_and_report(self) -> None:
        """Check once; report damage in the log and in the damage file.

        Raises:
            StorageError: one of its kinds, when the check could not run.
        """
        try:
            problem = self._database.find_damage()
            damage = None if problem is None else f"{problem.message}; {problem.remedy}"
        except DamagedDatabaseError as error:
            damage = str(error)
        try:
            if damage != self._damage_file.read():
                self._damage_file.write(damage)
        except OSError as error:
            _log.warning("damage marker write failed", extra={"error": str(error)})
        if damage is not None:
            self._log_damage_at_most_hourly(damage)

    def _log_damage_at_most_hourly(self, damage: str) -> None:
        now = time.monotonic()
        if damage != self._logged_damage or now - self._logged_at > _LOG_AGAIN_SECONDS:
            self._logged_damage, self._logged_at = damage, now
            _log.critical("database damaged", extra={"damage": damage})
