"""Object store: objects in S3-compatible storage, or in a folder that machines share.

An object appears whole. Its readers know its SHA-256 and verify it. The module notes
whether the store answers, and translates the library's errors.
"""

import contextlib
import hashlib
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from productrecs.core.errors import ProductRecsError, StorageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Remote

_BLOCK: Final = 1 << 20
_DELETED_AT_ONCE: Final = 500
_PROBE: Final = "probe"

# A store that does not answer must not hold a worker or a first request for long.
_TIMEOUT: Final = "1h"  # of a whole download, which may be gigabytes
_READ_TIMEOUT: Final = "20s"  # without a byte
_CONNECT_TIMEOUT: Final = "3s"
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_RETRIES: Final = 2
_RETRY_SECONDS: Final = 10

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


class ObjectStoreAddressError(ProductRecsError):
    """The address of the object store cannot be used; the message says what may be."""


class ObjectStoreUnavailableError(StorageError):
    """The object store does not answer or refuses; what was asked for can be retried."""


class MissingObjectError(ProductRecsError):
    """The object store has no such object."""


class ObjectSummary(NamedTuple):
    """The key of an object, its size, and its age in seconds by this machine's clock."""

    key: str
    size: int
    age: float


class ObjectStore:
    """The objects of one installation; safe to use from any thread, opened at first use."""

    def __init__(self, address: str, setting: str = "PRODUCTRECS_OBJECTS") -> None:
        """Use `address`: `s3://bucket/prefix`, `file:///folder` or a folder.

        `setting` is the variable that named it, for errors. Credentials, region and
        endpoint are read from the usual `AWS_` variables.

        Raises:
            ObjectStoreAddressError: when it is none of them, or the endpoint is no URL.
        """
        self.address = _normalise_address(address, setting)
        self._setting = setting
        _check_endpoint_variables()
        self.trouble: str | None = None
        """Why the last call failed; None after a success."""
        self._remote: Remote | None = None
        self._opened_by = 0
        self._lock = threading.Lock()

    def put(self, key: str, content: bytes | BinaryIO | Path) -> None:
        """Store an object; it appears whole.

        Raises:
            ObjectStoreUnavailableError: when it is not stored.
        """
        import obstore  # noqa: PLC0415

        def write(remote: "Remote") -> None:
            if not isinstance(content, bytes | Path):
                content.seek(0)
            obstore.put(remote, key, content)

        self._call_remote(write)

    def get(self, key: str) -> bytes:
        """Return an object.

        Raises:
            MissingObjectError: when there is none.
            ObjectStoreUnavailableError: when the store does not answer.
        """
        import obstore  # noqa: PLC0415

        return self._call_remote(lambda remote: bytes(obstore.get(remote, key).bytes()))

    def read_into_and_hash(self, key: str, file: BinaryIO) -> str:
        """Write an object to an open file; return the SHA-256 of what was written.

        Raises:
            MissingObjectError: when there is none.
            ObjectStoreUnavailableError: when the store does not answer.
        """
        import obstore  # noqa: PLC0415

        def read(remote: "Remote") -> str:
            digest = hashlib.sha256()
            file.seek(0)
            for block in obstore.get(remote, key).stream(min_chunk_size=_BLOCK):
                digest.update(block)
                file.write(block)
            file.truncate()
            return digest.hexdigest()

        return self._call_remote(read)

    def download_and_hash(self, key: str, target: Path) -> str:
        """Write an object to a file, which appears whole; return its SHA-256.

        Raises:
            MissingObjectError: when there is none.
            ObjectStoreUnavailableError: when the store does not answer.
            OSError: when the disk is full or fails.
        """
        with write_atomically(target) as file:
            return self.read_into_and_hash(key, file)

    def has(self, key: str) -> bool:
        """Return whether there is an object of that key.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        import obstore  # noqa: PLC0415

        try:
            self._call_remote(lambda remote: obstore.head(remote, key))
        except MissingObjectError:
            return False
        return True

    def list_folders(self, prefix: str) -> list[str]:
        """Return the names of the folders in a folder.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        import obstore  # noqa: PLC0415

        found = self._call_remote(
            lambda remote: obstore.list_with_delimiter(remote, prefix)
        )
        return [
            prefix_path.rstrip("/").rsplit("/", 1)[-1]
            for prefix_path in found["common_prefixes"]
        ]

    def list(self, prefix: str) -> Iterator[ObjectSummary]:
        """Yield the objects below a prefix, which ends before a slash.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        import obstore  # noqa: PLC0415

        pages = self._call_remote(lambda remote: list(obstore.list(remote, prefix)))
        now = datetime.now(UTC)
        for page in pages:
            for entry in page:
                age = (now - entry["last_modified"]).total_seconds()
                yield ObjectSummary(entry["path"], entry["size"], age)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, if they exist.

        Raises:
            ObjectStoreUnavailableError: when the store does not answer.
        """
        import obstore  # noqa: PLC0415

        for start in range(0, len(keys), _DELETED_AT_ONCE):
            batch = list(keys[start : start + _DELETED_AT_ONCE])
            with contextlib.suppress(MissingObjectError):
                self._call_remote(partial(obstore.delete, paths=batch))

    def find_trouble(self) -> str | None:
        """Return why the store cannot be reached; None if it answers."""
        with contextlib.suppress(ObjectStoreUnavailableError):
            self.check_reachable()
        return self.trouble

    def check_reachable(self) -> None:
        """Raise unless the store answers.

        Raises:
            ObjectStoreUnavailableError: when it does not.
        """
        with contextlib.suppress(MissingObjectError):
            self.get(_PROBE)

    def probe_write(self) -> None:
        """Write, read and delete a small object.

        Raises:
            ObjectStoreUnavailableError: when one of them fails.
        """
        self.put(_PROBE, b"")
        self.get(_PROBE)
        self.delete([_PROBE])

    def _call_remote(self, action: Callable[["Remote"], Result]) -> Result:
        """Run a call of the library; translate its errors and note the outcome."""
        try:
            result = action(self._open_once_per_process())
        except FileNotFoundError as error:
            if "NoSuchBucket" not in str(error):
                self._record_and_log_trouble(None)
                raise MissingObjectError(_error_reason(error)) from error
            raise self._record_unavailable(error) from error
        except MissingObjectError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of our own disk
            raise self._record_unavailable(error) from error
        self._record_and_log_trouble(None)
        return result

    def _record_unavailable(self, error: Exception) -> ObjectStoreUnavailableError:
        reason = _error_reason(error)
        self._record_and_log_trouble(reason)
        detail = f"{self.address}: {reason}; check {self._setting} and the AWS_ variables"
        return ObjectStoreUnavailableError("the object store cannot be used; retry", detail)

    def _record_and_log_trouble(self, trouble: str | None) -> None:
        before, self.trouble = self.trouble, trouble
        if trouble is not None and before is None:
            _log.warning("object store unavailable", extra={"error": trouble})
        elif trouble is None and before is not None:
            _log.info("object store available again")

    def _open_once_per_process(self) -> "Remote":
        """Return the library's store; a forked process opens its own."""
        with self._lock:
            if self._remote is None or self._opened_by != os.getpid():
                self._remote, self._opened_by = _open_remote(self.address), os.getpid()
            return self._remote


def _open_remote(address: str) -> "Remote":
    from obstore.store import LocalStore, from_url  # noqa: PLC0415

    if address.startswith("file:"):
        folder = Path(urlsplit(address).path)
        return LocalStore(folder, automatic_cleanup=False, mkdir=True)
    _unset_empty_aws_variables()
    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    return from_url(
        address,
        client_options={
            "allow_http": endpoint.startswith("http://"),  # the operator wrote it
            "timeout": _TIMEOUT,
            "read_timeout": _READ_TIMEOUT,
            "connect_timeout": _CONNECT_TIMEOUT,
        },
        retry_config={
            "max_retries": _RETRIES,
            "retry_timeout": timedelta(seconds=_RETRY_SECONDS),
        },
    )


def _unset_empty_aws_variables() -> None:
    """Remove what a compose file sets to nothing: the library takes it as a value."""
    for name in [variable for variable in os.environ if variable.startswith("AWS_")]:
        if not os.environ[name]:
            del os.environ[name]


def _check_endpoint_variables() -> None:
    """Raise if an endpoint is not the URL of a server; the library would panic."""
    for name in _ENDPOINTS:
        endpoint = os.environ.get(name)
        parts = urlsplit(endpoint or "https://s3")
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            message = f"{name} is {endpoint!r}; write http://host:port or https://host"
            raise ObjectStoreAddressError(message)


def _normalise_address(address: str, setting: str) -> str:
    parts = urlsplit(address)
    if parts.scheme == "s3" and parts.netloc:
        return address.rstrip("/")
    if parts.scheme == "file" and parts.path.startswith("/") and not parts.netloc:
        return address
    if not parts.scheme and address:
        return Path(address).absolute().as_uri()
    message = (
        f"{setting} is {address!r}; write s3://bucket/prefix, a folder, or file:///folder"
    )
    raise ObjectStoreAddressError(message)


def _error_reason(error: Exception) -> str:
    """Return S3's error code, if it sent one, and the first line of the library's words."""
    line = str(error).strip().split("\n", 1)[0]
    words = line.partition("<?xml")[0].rstrip(": ")[:300]
    code = re.search(r"<Code>(\w+)</Code>", str(error))
    return f"{code[1]}: {words}" if code else words or type(error).__name__


@contextlib.contextmanager
def write_atomically(target: Path) -> Iterator[BinaryIO]:
    """Yield a file that appears as `target`, durable, unless the block fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
