"""What does a route need? Everything of this process, and everything of this request."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from productrecs.core.clock import Clock
from productrecs.entrypoints.http.activity import RecentActivity
from productrecs.entrypoints.http.authentication import Caller
from productrecs.entrypoints.http.shops import Shops
from productrecs.entrypoints.services import Services
from productrecs.storage.dialects import HotReader
from productrecs.storage.group_commit import GroupCommit, Many
from productrecs.tenancy.accounts.directory import AccountDirectory


@dataclass(frozen=True, slots=True)
class Context:
    """One process's ways to answer."""

    services: Services
    accounts: AccountDirectory
    shops: Shops
    writer: GroupCommit
    write_events: Many
    write_orders: Many
    write_catalog: Many
    write_uploads: Many
    activity: RecentActivity
    reader: HotReader  # for the event loop, or for the one thread of `reading`
    reading: ThreadPoolExecutor | None

    async def look_again(self) -> None:
        """Look whether the stores changed since this process last looked."""
        if self.reading is None:
            self.accounts.refresh(self.reader)
            return
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.reading, self.accounts.refresh, self.reader)

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
    readiness: Callable[[], list[str]]

    @property
    def known_caller(self) -> Caller:
        """The caller of a route that asks for a key."""
        if self.caller is None:
            message = "this route was declared without a credential"
            raise RuntimeError(message)
        return self.caller
