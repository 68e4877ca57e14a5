"""Transport: sends calls with their key, repeats them, and raises one class of errors."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO, Literal, Self

Reply = TypeVar("Reply")

_RETRIED: Final = frozenset({429, 503})


class ProductRecsError(Exception):
    """A call failed: its text says what happened and what to do."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "connection_failed",
        doc_url: str | None = None,
        request_id: str | None = None,
        problems: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Describe a failure.

        Args:
            message: What happened, and what to do.
            status: The status of the reply, 0 without one.
            code: The reason, for programs: a code of the guide on errors.
            doc_url: The section of the guide with the remedy.
            request_id: The id of the request, for the service's log.
            problems: With 422: what is wrong with each field.
        """
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.doc_url = doc_url
        self.request_id = request_id
        self.problems = problems


@dataclass(frozen=True)
class Call:
    """One call of the interface."""

    method: str
    path: str
    keys: Literal["none", "publishable", "secret", "either"]
    query: Mapping[str, object] = field(default_factory=dict)
    body: object = None
    file: bytes | BinaryIO | None = None
    is_idempotent: bool = False
    idempotency_key: str | None = None


def escaped(part: str) -> str:
    """Return a part of a path, percent-encoded."""
    return quote(part, safe="")


@dataclass(frozen=True)
class _Options:
    publishable_key: str | None
    secret_key: str | None
    retries: int
    max_wait: float

    def request_arguments(self, call: Call) -> dict[str, Any]:
        """Return a call as arguments of httpx, the same for each attempt."""
        query: dict[str, Any] = {
            name: value for name, value in call.query.items() if value is not None
        }
        headers = {"accept": "application/json"}
        if self.secret_key and call.keys in {"secret", "either"}:
            headers["x-api-key"] = self.secret_key
        elif self.publishable_key and call.keys in {"publishable", "either"}:
            query["key"] = self.publishable_key
        if call.is_idempotent:
            headers["idempotency-key"] = call.idempotency_key or str(uuid.uuid4())
        found: dict[str, Any] = {"method": call.method, "url": call.path.lstrip("/")}
        found |= {"params": query, "headers": headers}
        if call.body is not None:
            found["json"] = call.body
        elif call.file is not None:
            content = call.file if isinstance(call.file, bytes) else call.file.read()
            found["files"] = {"file": ("file.csv", content, "text/csv")}
        return found

    def wait_before_retry(self, response: httpx.Response, attempt: int) -> float | None:
        """Return the seconds to wait before a repetition, or None for no repetition."""
        if response.status_code not in _RETRIED or attempt >= self.retries:
            return None
        try:
            seconds = float(response.headers["retry-after"])
        except (KeyError, ValueError):
            seconds = 2.0**attempt / 2
        return seconds if seconds <= self.max_wait else None


class Transport:
    """Sends calls."""

    def __init__(
        self,
        url: str,
        *,
        publishable_key: str | None = None,
        secret_key: str | None = None,
        retries: int = 3,
        max_wait: float = 30,
        timeout: float = 10,
        http_client: httpx.Client | None = None,
    ) -> None:
        """Send nothing yet.

        Args:
            url: The service's address, such as https://recs.example.com.
            publishable_key: The key of the shop's pages (pk_...).
            secret_key: The key of the shop's server (sk_...).
            retries: How often a call that was answered 429 or 503 is repeated.
            max_wait: The longest wait before a repetition, in seconds.
            timeout: How long one attempt may take, in seconds.
            http_client: A client of your own, with your proxies and hooks.
        """
        self._options = _Options(publishable_key, secret_key, retries, max_wait)
        self._client = http_client or httpx.Client(timeout=timeout)
        self._url = f"{url.rstrip('/')}/"

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, _reply: type[Reply], call: Call) -> Reply:
        arguments = self._options.request_arguments(call)
        arguments["url"] = self._url + arguments["url"]
        attempt = 0
        while True:
            try:
                response = self._client.request(**arguments)
            except httpx.TransportError as error:
                raise _unreachable(self._url, error) from error
            if response.is_success:
                return cast("Reply", response.json())
            seconds = self._options.wait_before_retry(response, attempt)
            if seconds is None:
                raise _error_of(response)
            time.sleep(seconds)
            attempt += 1


class AsyncTransport:
    """Sends calls, for asyncio."""

    def __init__(
        self,
        url: str,
        *,
        publishable_key: str | None = None,
        secret_key: str | None = None,
        retries: int = 3,
        max_wait: float = 30,
        timeout: float = 10,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Send nothing yet; the arguments are those of `ProductRecs`."""
        self._options = _Options(publishable_key, secret_key, retries, max_wait)
        self._client = http_client or httpx.AsyncClient(timeout=timeout)
        self._url = f"{url.rstrip('/')}/"

    async def __aenter__(self) -> Self:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _send(self, _reply: type[Reply], call: Call) -> Reply:
        arguments = self._options.request_arguments(call)
        arguments["url"] = self._url + arguments["url"]
        attempt = 0
        while True:
            try:
                response = await self._client.request(**arguments)
            except httpx.TransportError as error:
                raise _unreachable(self._url, error) from error
            if response.is_success:
                return cast("Reply", response.json())
            seconds = self._options.wait_before_retry(response, attempt)
            if seconds is None:
                raise _error_of(response)
            await asyncio.sleep(seconds)
            attempt += 1


def _unreachable(url: str, error: httpx.TransportError) -> ProductRecsError:
    if isinstance(error, httpx.TimeoutException):
        return ProductRecsError(f"no reply from {url} in time; call again")
    message = f"the service at {url} cannot be reached; check the address: {error}"
    return ProductRecsError(message)


def _error_of(response: httpx.Response) -> ProductRecsError:
    status, request_id = response.status_code, response.headers.get("x-request-id")
    try:
        body = response.json()
    except ValueError:
        body = None
    detail = body.get("detail") if isinstance(body, dict) else None
    if isinstance(detail, list):
        message = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in detail
        )
        return ProductRecsError(
            message,
            status=status,
            code="invalid_request",
            request_id=request_id,
            problems=detail,
        )
    if not isinstance(body, dict) or not isinstance(detail, str):
        message = f"a reply of status {status} that is not the service's"
        return ProductRecsError(
            message, status=status, code="unknown_reply", request_id=request_id
        )
    return ProductRecsError(
        detail,
        status=status,
        code=body.get("code", "unknown_reply"),
        doc_url=body.get("doc_url"),
        request_id=request_id,
    )
