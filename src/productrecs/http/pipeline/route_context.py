"""Route context: the process's services and the request that a route gets."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from productrecs.core.clock import Clock
from productrecs.core.errors import StorageBusyError
from productrecs.core.memory_budget import ByteBudget, ByteClaim
from productrecs.http.limits.bot_detection import BotDetector
from productrecs.http.limits.client_address import peer_of
from productrecs.http.limits.customer_ids_per_network import CustomerIdsPerNetworkLimit
from productrecs.http.limits.rate_limits import RateLimits
from productrecs.http.limits.usage_metering import UsageMetering
from productrecs.http.pipeline.authentication import Caller
from productrecs.http.pipeline.live_view_recorder import LiveViewRecorder
from productrecs.http.pipeline.mail_picture_pool import MailPicturePool
from productrecs.http.pipeline.photo_worker_pool import PhotoWorkerPool
from productrecs.http.pipeline.process_metrics import ProcessMetrics
from productrecs.http.pipeline.readiness_checks import DependencyMonitor, Readiness
from productrecs.http.pipeline.search_count_recorder import SearchCountRecorder
from productrecs.http.pipeline.search_thread_pool import SearchThreadPool
from productrecs.http.pipeline.signed_out_form_pool import SignedOutFormPool
from productrecs.services import Services
from productrecs.serving.activity_counts import ActivityCounter
from productrecs.serving.arm_assigner import ArmAssigner
from productrecs.serving.open_stores import OpenStores
from productrecs.serving.writes.write_client import WriteClient
from productrecs.storage.sql.dialects import RawReader
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.users.login_attempt_limits import LoginAttemptLimits

READ_SECONDS: Final = 0.5
HEAD_ONLY: Final = "productrecs.head"
"""In the scope of a HEAD request, which is answered as GET."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """The services, caches and pools of one process."""

    services: Services
    clock: Clock  # the business clock
    accounts: AccountDirectory
    stores: OpenStores
    metering: UsageMetering
    write_client: WriteClient
    activity: ActivityCounter
    arm_assigner: ArmAssigner
    process_metrics: ProcessMetrics
    reader: RawReader  # used by the event loop, or by the thread of `reading` if it is set
    reading: ThreadPoolExecutor | None
    parser_pool: ThreadPoolExecutor  # large bodies, one at a time
    budget: ByteBudget  # of bodies and of pending writes
    search_pool: SearchThreadPool
    searches: SearchCountRecorder
    photo_pool: PhotoWorkerPool
    mail_pictures: MailPicturePool
    dependencies: DependencyMonitor
    dashboard_pool: ThreadPoolExecutor  # renders the dashboard's pages
    signed_out_form_pool: SignedOutFormPool  # answers forms with passwords
    login_limits: LoginAttemptLimits
    live_view_recorder: LiveViewRecorder  # the live view of events
    bots: BotDetector
    named_customers: CustomerIdsPerNetworkLimit
    rates: RateLimits | None  # None without rate limits

    async def refresh_accounts(self) -> None:
        """Refresh the accounts from the database.

        Raises:
            StorageError: when the database could not answer, or not in time.
        """
        await self.read(self.accounts.refresh)

    async def read(self, query: Callable[[RawReader], Result]) -> Result:
        """Return the result of a short read; a database that hangs times out.

        Raises:
            StorageError: when the database could not answer, or not in time.
        """
        if self.reading is None:
            return query(self.reader)
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(self.reading, query, self.reader)
        try:
            return await asyncio.wait_for(reading, READ_SECONDS)
        except TimeoutError as error:
            message = "the database does not answer; retry"
            raise StorageBusyError(message) from error

    async def run_in_dashboard_pool(self, work: Callable[[], Result]) -> Result:
        """Return the result of blocking work, run in a thread of the dashboard."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.dashboard_pool, work)


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One admitted request."""

    context: ProcessContext
    caller: Caller | None
    request_id: str
    readiness: Callable[[], Readiness]
    claim: ByteClaim  # the memory of its body

    @property
    def known_caller(self) -> Caller:
        """The caller of a route that needs a key."""
        if self.caller is None:
            message = "this route was declared without a credential"
            raise RuntimeError(message)
        return self.caller


@dataclass(frozen=True, slots=True)
class FastRouteCall:
    """One admitted request before FastAPI reads it."""

    context: ProcessContext
    caller: Caller
    query: Mapping[str, str] | None  # None if it is not in the plain form
    scope: MutableMapping[str, Any]
    headers: Mapping[bytes, bytes]  # names are in lower case
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]]
    claim: ByteClaim  # the memory of its body
    is_misuse: bool  # of the key, by a page

    @property
    def peer(self) -> str:
        """The address of the other end of the connection."""
        return peer_of(self.scope)
