"""Request body: large, encoded and incomplete bodies are rejected early."""

import asyncio
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

import pytest

from productrecs.core.errors import QueueFullError
from productrecs.core.memory_budget import MIB, ByteBudget, ByteClaim
from productrecs.http.transport.request_body import (
    EVENTS_LIMIT,
    BodyTooLargeError,
    ClientDisconnectedError,
    EncodedBodyError,
)
from productrecs.http.transport.request_body import read_body as read_body_with
from productrecs.http.transport.request_body import read_event_body as read_event_body_with
from productrecs.schemas.events import EVENT_LIMIT


def read_body(
    receive: Any, headers: Any, limit: int, claim: ByteClaim | None = None
) -> Any:
    """Read a body, with room for it unless a claim says otherwise."""
    return read_body_with(receive, headers, limit, claim or ByteBudget().claim("shop"))


def read_event_body(receive: Any, headers: Any) -> Any:
    """Read events, with room for them."""
    return read_event_body_with(receive, headers, ByteBudget().claim("shop"))


class ChunkSender:
    """Sends chunks as an ASGI server hands them on; counts what was taken of them."""

    def __init__(self, chunks: Iterable[bytes], *, leaves: bool = False) -> None:
        self.taken = 0
        self._messages = self._tell(chunks, leaves=leaves)

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the next message, as the server would."""
        return next(self._messages)

    def _tell(
        self, chunks: Iterable[bytes], *, leaves: bool
    ) -> Iterator[MutableMapping[str, Any]]:
        for chunk in chunks:
            self.taken += len(chunk)
            yield {"type": "http.request", "body": chunk, "more_body": True}
        if leaves:
            yield {"type": "http.disconnect"}
        yield {"type": "http.request"}


def test_chunks_are_joined_in_their_order() -> None:
    client = ChunkSender([b"ab", b"", b"c"])

    assert asyncio.run(read_body(client.receive, [], 10)) == b"abc"


def test_a_body_of_one_message_is_read_whole() -> None:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    assert asyncio.run(read_body(receive, [], 10)) == b"{}"


def test_no_body_at_all_is_an_empty_one() -> None:
    assert asyncio.run(read_body(ChunkSender([]).receive, [], 10)) == b""


@pytest.mark.parametrize(("size", "fits"), [(9, True), (10, True), (11, False)])
@pytest.mark.parametrize("declared", [True, False])
def test_the_limit_is_exact(size: int, fits: bool, declared: bool) -> None:  # noqa: FBT001 a table
    headers = [(b"content-length", b"%d" % size)] if declared else []
    reading = read_body(ChunkSender([b"x" * size]).receive, headers, 10)

    if fits:
        assert len(asyncio.run(reading)) == size
    else:
        with pytest.raises(BodyTooLargeError, match="at most 10 bytes"):
            asyncio.run(reading)


def test_a_declared_gigabyte_is_refused_before_anything_is_read() -> None:
    client = ChunkSender([b"x" * 1024] * 1024)

    with pytest.raises(BodyTooLargeError):
        asyncio.run(read_body(client.receive, [(b"content-length", b"1073741824")], 65536))
    assert client.taken == 0


def test_an_endless_body_is_refused_within_128_kib() -> None:
    client = ChunkSender(b"x" * 16_384 for _ in range(65_536))

    with pytest.raises(BodyTooLargeError):
        asyncio.run(read_body(client.receive, [], 64 * 1024))
    assert client.taken <= 128 * 1024


@pytest.mark.parametrize("length", [b"", b"abc", b"-5", b"1e9", b"0x10"])
def test_a_length_that_is_no_number_is_left_to_the_stream(length: bytes) -> None:
    reading = read_body(ChunkSender([b"ab"]).receive, [(b"content-length", length)], 10)

    assert asyncio.run(reading) == b"ab"


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"deflate", b"GZIP", b"identity, gzip"])
def test_an_encoded_body_is_refused_unread(coding: bytes) -> None:
    client = ChunkSender([b"x"])

    with pytest.raises(EncodedBodyError):
        asyncio.run(read_body(client.receive, [(b"content-encoding", coding)], 10))
    assert client.taken == 0


@pytest.mark.parametrize("coding", [b"identity", b"Identity", b"", b" identity , identity"])
def test_identity_is_no_encoding(coding: bytes) -> None:
    reading = read_body(ChunkSender([b"x"]).receive, [(b"content-encoding", coding)], 10)

    assert asyncio.run(reading) == b"x"


def test_a_client_that_leaves_early_differs_from_a_short_body() -> None:
    with pytest.raises(ClientDisconnectedError):
        asyncio.run(read_body(ChunkSender([b"half"], leaves=True).receive, [], 10))


@pytest.mark.parametrize("start", [b"[", b" \r\n\t[", b"\xef\xbb\xbf["])
@pytest.mark.parametrize("chunk", [1000, 5_000_000])
def test_an_array_of_events_may_be_a_mebibyte(start: bytes, chunk: int) -> None:
    exact = start + b"x" * (EVENTS_LIMIT - len(start))

    assert asyncio.run(read_event_body(_in_chunks(exact, chunk), [])) == exact
    with pytest.raises(BodyTooLargeError):
        asyncio.run(read_event_body(_in_chunks(exact + b"x", chunk), []))


@pytest.mark.parametrize("start", [b"{", b"x", b'"[', b" " * 70_000 + b"{"])
def test_a_single_event_may_be_64_kib(start: bytes) -> None:
    with pytest.raises(BodyTooLargeError, match="65536"):
        asyncio.run(read_event_body(_in_chunks(start + b"x" * EVENT_LIMIT, 1000), []))


def test_a_single_event_of_exactly_64_kib_is_read() -> None:
    exact = b"{" + b"x" * (EVENT_LIMIT - 1)

    assert asyncio.run(read_event_body(_in_chunks(exact, 1000), [])) == exact


def _in_chunks(body: bytes, size: int) -> Any:
    return ChunkSender([body[at : at + size] for at in range(0, len(body), size)]).receive


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_without_room_is_refused_and_one_declared_is_not_even_read(
    declared: bool,  # noqa: FBT001 a table
) -> None:
    client = ChunkSender([b"x" * 65_536] * 200)
    budget = ByteBudget(MIB)
    headers = [(b"content-length", b"13107200")] if declared else []

    with budget.claim("shop") as claim, pytest.raises(QueueFullError):
        asyncio.run(read_body(client.receive, headers, 32 * MIB, claim))

    assert client.taken <= (0 if declared else MIB)
    assert budget.held == 0


def test_control_with_more_room_the_same_body_is_read() -> None:
    client = ChunkSender([b"x" * 65_536] * 200)
    budget = ByteBudget(64 * MIB)

    with budget.claim("shop") as claim:
        asyncio.run(read_body(client.receive, [], 32 * MIB, claim))
        assert budget.held == 200 * 65_536
    assert budget.held == 0
