"""Context: what a route gets, of its process (`Context`) and its request (`Exchange`)."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

from productrecs.core.clock import Clock
from productrecs.core.errors import StorageBusyError
from productrecs.entrypoints.http.activity import RecentActivity
from productrecs.entrypoints.http.authentication import Caller
from productrecs.entrypoints.http.exploring import Exploring
from productrecs.entrypoints.http.fitness import Fitness, Surroundings
from productrecs.entrypoints.http.holdouts import Holdouts
from productrecs.entrypoints.http.metering import Metering
from productrecs.entrypoints.http.rates import Rates
from productrecs.entrypoints.http.searches import Searches
from productrecs.entrypoints.http.searching import Searching
from productrecs.entrypoints.http.seeing import Seeing
from productrecs.entrypoints.http.shops import Shops
from productrecs.entrypoints.http.sightings import Sightings
from productrecs.entrypoints.http.traffic import Traffic
from productrecs.entrypoints.http.writing.desk import Desk
from productrecs.entrypoints.services import Services
from productrecs.storage.byte_budget import ByteBudget, Claim
from productrecs.storage.dialects import HotReader
from productrecs.storage.group_commit import GroupCommit, Many
from productrecs.tenancy.accounts.directory import AccountDirectory

READ_SECONDS: Final = 0.5
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Context:
    """One process's ways to answer."""

    services: Services
    accounts: AccountDirectory
    shops: Shops
    metering: Metering
    desk: Desk  # for events and orders
    writer: GroupCommit  # for all else
    write_catalog: Many
    write_uploads: Many
    activity: RecentActivity
    holdouts: Holdouts
    exploring: Exploring
    traffic: Traffic
    reader: HotReader  # for the event loop, or for the one thread of `reading`
    reading: ThreadPoolExecutor | None
    parsing: ThreadPoolExecutor  # large bodies, one at a time
    budget: ByteBudget  # of bodies and of what waits to be written
    searching: Searching
    searches: Searches
    seeing: Seeing
    surroundings: Surroundings
    sightings: Sightings
    rates: Rates | None  # none where the installation limits no rate

    async def look_again(self) -> None:
        """Look whether the stores changed since this process last looked.

        Raises:
            StorageError: when the database could not answer, or not in time.
        """
        await self.read(self.accounts.refresh)

    async def read(self, what: Callable[[HotReader], Result]) -> Result:
        """Return what a short read finds; no request waits long for a database that hangs.

        Raises:
            StorageError: when the database could not answer, or not in time.
        """
        if self.reading is None:
            return what(self.reader)
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self.reading, what, self.reader)
        try:
            return await asyncio.wait_for(reading, READ_SECONDS)
        except TimeoutError as error:
            message = "the database does not answer; send the request again"
            raise StorageBusyError(message) from error

    @property
    def clock(self) -> Clock:
        """The business clock."""
        return self.services.clock


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request that was let in."""

    context: Context
    caller: Caller | None
    request_id: str
    fitness: Callable[[], Fitness]
    claim: Claim  # what its body takes of the process's budget

    @property
    def known_caller(self) -> Caller:
        """The caller of a route that asks for a key."""
        if self.caller is None:
            message = "this route was declared without a credential"
            raise RuntimeError(message)
        return self.caller
