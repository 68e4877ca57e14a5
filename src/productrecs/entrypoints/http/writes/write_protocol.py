"""Write protocol: the frames between API processes and the writer process.

Both ends are the same release on one machine, over a socket in a folder that only its user
can enter. Everything is a frame: its length (4 bytes), then

- a request: number (8 bytes), kind of write (1), length of the store's id (1), the id, and
  the payload as MessagePack;
- a reply: `+` and the numbers (8 bytes each) of requests that are done and have no result;
  or `=`, a number and a result; or `!`, a number, an error's class and its message.

The writer speaks first, with a `+` and no numbers: it is up, and takes requests.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import msgspec

from productrecs.entrypoints.http.writes.batched_writes import Groups, WriteKind
from productrecs.records.orders.ingest import OrderReceipt
from productrecs.records.orders.order import NewOrder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DONE: Final = ord("+")
RESULT: Final = ord("=")
FAILED: Final = ord("!")

_LENGTH: Final = struct.Struct("=I")
_REQUEST: Final = struct.Struct("=IQBB")
_NUMBERED: Final = struct.Struct("=IBQ")
_REQUEST_HEADER: Final = struct.Struct("=QBB")
_NUMBER: Final = struct.Struct("=Q")

_encode: Final = msgspec.msgpack.Encoder().encode
_FACTS: Final = {int(fact): fact for fact in WriteKind}
_payloads: Final[dict[WriteKind, msgspec.msgpack.Decoder[Any]]] = {
    WriteKind.EVENTS: msgspec.msgpack.Decoder(Groups),
    WriteKind.ORDER: msgspec.msgpack.Decoder(NewOrder),
}
_receipt: Final = msgspec.msgpack.Decoder(OrderReceipt)
_error: Final = msgspec.msgpack.Decoder(tuple[str, str])


def encode_request(number: int, fact: WriteKind, store_id: str, payload: object) -> bytes:
    """Return the frame of a write request."""
    name, body = store_id.encode(), _encode(payload)
    length = _REQUEST_HEADER.size + len(name) + len(body)
    return _REQUEST.pack(length, number, fact, len(name)) + name + body


def decode_request(frame: memoryview) -> tuple[int, WriteKind, str, memoryview]:
    """Return (number, kind, store's id, payload) of a request without its length.

    The payload is packed: see `decode_payload`.
    """
    number, kind, size = _REQUEST_HEADER.unpack_from(frame)
    begin = _REQUEST_HEADER.size + size
    return (
        number,
        _FACTS[kind],
        str(frame[_REQUEST_HEADER.size : begin], "utf-8"),
        frame[begin:],
    )


def decode_payload(fact: WriteKind, packed: memoryview) -> Any:
    """Return the decoded payload of a request."""
    return _payloads[fact].decode(packed)


def encode_done(numbers: Sequence[int]) -> bytes:
    """Return the frame with the numbers of finished requests."""
    size = _NUMBER.size * len(numbers)
    return struct.pack(f"=IB{len(numbers)}Q", 1 + size, DONE, *numbers)


def encode_result(number: int, receipt: OrderReceipt) -> bytes:
    """Return the frame of an order's result."""
    told = _encode(receipt)
    return _NUMBERED.pack(1 + _NUMBER.size + len(told), RESULT, number) + told


def encode_error(number: int, error: BaseException) -> bytes:
    """Return the frame of an error."""
    told = _encode((type(error).__name__, str(error)))
    return _NUMBERED.pack(1 + _NUMBER.size + len(told), FAILED, number) + told


def decode_done(frame: memoryview) -> Sequence[int]:
    """Return the numbers of a `+` frame."""
    return struct.unpack_from(f"={(len(frame) - 1) // _NUMBER.size}Q", frame, 1)


def decode_result(frame: memoryview) -> tuple[int, OrderReceipt]:
    """Return the number and the result of a `=` frame."""
    return _NUMBER.unpack_from(frame, 1)[0], _receipt.decode(frame[1 + _NUMBER.size :])


def decode_error(frame: memoryview) -> tuple[int, str, str]:
    """Return the number, the error's class and its message of a `!` frame."""
    name, words = _error.decode(frame[1 + _NUMBER.size :])
    return _NUMBER.unpack_from(frame, 1)[0], name, words


class FrameDecoder:
    """Splits received bytes into frames."""

    def __init__(self) -> None:
        """Start empty."""
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[memoryview]:
        """Yield every complete frame, without its length."""
        received = self._rest + data if self._rest else data
        view, at = memoryview(received), 0
        while at + _LENGTH.size <= len(received):
            begin = at + _LENGTH.size
            end = begin + _LENGTH.unpack_from(received, at)[0]
            if end > len(received):
                break
            yield view[begin:end]
            at = end
        self._rest = received[at:]
