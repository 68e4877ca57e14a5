"""Is this process fit to get requests, and what is less than well around it?

What keeps requests away is a reason. What only makes lists less fresh is a warning: who
took the process out of a proxy for that would lose events and gain nothing.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from productrecs.core.clock import MINUTE_MS, Clock, system_ms
from productrecs.core.errors import StorageError, UnsafeStorageError
from productrecs.storage import migrations
from productrecs.storage.database import Database
from productrecs.storage.job_counts import backlogs

_log = logging.getLogger(__name__)

CHECKS: Final = ("process", "database", "migrations", "models", "writes", "jobs")
"""What is looked at, by name."""
LONGEST_WAIT_MS: Final = 5 * MINUTE_MS
_LOOK_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Fitness:
    """What was found, by the name of a check; a check that is in neither is well."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, str] = field(default_factory=dict)

    def checks(self) -> dict[str, str]:
        """Return each check with `ok` or what is the matter."""
        found = {**self.warnings, **self.reasons}
        return {name: found.get(name, "ok") for name in CHECKS}


class Surroundings:
    """What was last seen of the schema and of the background's queue."""

    def __init__(self, database: Database, clock: Clock = system_ms) -> None:
        """Begin with nothing amiss. The clock is the machine's, by which jobs run."""
        self._database = database
        self._clock = clock
        self._schema = Fitness()
        self._jobs: dict[str, str] = {}

    async def watch(self) -> None:
        """Look now and then, for as long as the process runs."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Look once. A database that does not answer is told of by who reads it always."""
        try:
            self._schema = self._of_schema()
            self._jobs = self._of_jobs()
        except StorageError:
            return
        except Exception:
            _log.exception("the schema and the queue could not be looked at")

    def seen(self) -> Fitness:
        """Return what is amiss."""
        return Fitness(self._schema.reasons, {**self._schema.warnings, **self._jobs})

    def _of_schema(self) -> Fitness:
        try:
            if migrations.is_current(self._database):
                return Fitness()
        except UnsafeStorageError:
            newer = "a newer program migrated the database; replace this one"
            return Fitness(warnings={"migrations": newer})
        behind = "the database is behind this program's schema; productrecs migrate"
        return Fitness({"migrations": behind})

    def _of_jobs(self) -> dict[str, str]:
        now_ms = self._clock()
        with self._database.reading() as connection:
            found = backlogs(connection, now_ms)
        since = min((one.due_since for one in found if one.due_since), default=now_ms)
        if now_ms - since < LONGEST_WAIT_MS:
            return {}
        minutes = (now_ms - since) // MINUTE_MS
        message = f"a job has been due for {minutes} minutes: does productrecs worker run?"
        return {"jobs": message}
