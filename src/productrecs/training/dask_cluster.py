"""Dask cluster: runs the jobs of a fit on the workers of a Dask cluster.

A job and its result travel over the cluster's network; workers need neither the database
nor the data folder. Dask repeats the jobs of a worker that is lost.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeVar

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from distributed import Client, Future

Result = TypeVar("Result")

_CONNECT_SECONDS: Final = 10
_LOOK_SECONDS: Final = 30  # between two looks at whether any worker is left
_RETRIES: Final = 2
_QUEUED_PER_WORKER: Final = 2  # jobs whose inputs are in memory
_SAME_EVERYWHERE: Final = ("productrecs", "numpy")


class ClusterError(ProductRecsError):
    """The cluster cannot be used; the model that serves goes on to serve."""


class Cluster:
    """A `JobRunner` whose jobs run on a cluster."""

    def __init__(self, client: "Client") -> None:
        """Use a connected client.

        Raises:
            ClusterError: when there is no worker, or one has other versions.
        """
        self._client = client
        own = _versions()
        versions_by_worker = client.run(_versions, on_error="return")
        if not versions_by_worker:
            message = "the cluster has no worker; start one with `dask worker ADDRESS`"
            raise ClusterError(message)
        for worker, versions in versions_by_worker.items():
            if versions != own:
                message = f"worker {worker} has {versions!r}; it needs {own}"
                raise ClusterError(message)
        self.workers = len(versions_by_worker)

    def run(
        self,
        function: Callable[..., Result],
        shared: object,
        jobs: Iterable[tuple[Any, ...]],
    ) -> Iterator[Result]:
        """Yield `function(shared, *job)` of each job, in their order.

        Raises:
            ClusterError: when a job was lost several times, or no worker is left.
        """
        # The result of a job, so that it is there again after the loss of its worker.
        shared_input = self._client.submit(_return_unchanged, shared, pure=False)
        waiting: deque[Future] = deque()
        for job in jobs:
            waiting.append(
                self._client.submit(
                    _call, function, shared_input, job, pure=False, retries=_RETRIES
                )
            )
            if len(waiting) > _QUEUED_PER_WORKER * self.workers:
                yield self._wait_for_result(waiting.popleft())
        while waiting:
            yield self._wait_for_result(waiting.popleft())

    def _wait_for_result(self, future: "Future") -> Any:
        """Return a job's result, when it is there."""
        from distributed.client import FutureCancelledError  # noqa: PLC0415 - optional
        from distributed.scheduler import KilledWorker  # noqa: PLC0415 - the same

        while True:
            try:
                result = future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                if not self._client.nthreads():
                    message = "the cluster has lost all its workers"
                    raise ClusterError(message) from None
            except (KilledWorker, FutureCancelledError, OSError) as error:
                message = f"the cluster lost a job of the training: {error}"
                raise ClusterError(message) from error
            else:
                return result


@contextlib.contextmanager
def open_cluster(address: str) -> Iterator[Cluster]:
    """Connect to the Dask scheduler at `address`.

    Raises:
        ClusterError: when Dask is not installed, or the cluster cannot be used.
    """
    try:
        import dask  # noqa: PLC0415 - an optional dependency
        from distributed import Client  # noqa: PLC0415 - the same
    except ImportError as error:
        message = (
            "--cluster needs Dask here and on every worker: "
            "pip install 'productrecs[cluster]'"
        )
        raise ClusterError(message) from error
    # A job holds its inputs, so that it can be repeated on another worker.
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(quiet))
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            message = (
                f"no Dask scheduler answers at {address} ({error}); "
                "without --cluster this machine trains alone"
            )
            raise ClusterError(message) from error
        yield Cluster(stack.enter_context(client))


def _versions() -> dict[str, str]:
    return {name: version(name) for name in _SAME_EVERYWHERE}


def _return_unchanged(shared: object) -> object:
    return shared


def _call(function: Callable[..., Result], shared: object, job: tuple[Any, ...]) -> Result:
    return function(shared, *job)
