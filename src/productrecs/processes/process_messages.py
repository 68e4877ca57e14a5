"""Process messages: the message format between the service's processes.

A frame is a head (the lengths of the two parts that follow, 4 bytes each), a message as
MessagePack, and an attachment: bytes that are not encoded, such as a photo. Both ends run
the same release on one machine. A decoder checks each message against its type, so a
process that reads untrusted files cannot send anything else.
"""

import ctypes
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Self, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.msgpack import Decoder, Encoder

HEAD: Final = struct.Struct("=II")

_LARGEST: Final = 128 << 20
_PR_SET_PDEATHSIG: Final = 1  # of Linux: prctl(2)
_NO_MESSAGE: Final = "the other process sent an invalid message"
_encode: Final = Encoder().encode
_Message = TypeVar("_Message")


class ReadyMessage(Struct, array_like=True, tag="ready"):
    """A child process or the writer process is ready."""


class StopMessage(Struct, array_like=True, tag="stop"):
    """The parent asks its child process to stop."""


class ProgressMessage(Struct, array_like=True, tag="progress"):
    """The share of its work that a child process has done."""

    share: float


class AliveMessage(Struct, array_like=True, tag="alive"):
    """A child process is at work; one that says so and then falls silent hangs."""


FROM_CHILD: Final = Decoder(ReadyMessage | ProgressMessage | AliveMessage)
ALIVE_SECONDS: Final = 2.0
"""How often a child process says that it is at work."""
_FROM_PARENT: Final = Decoder(StopMessage)


def encode_frame(message: object, attached: int = 0) -> bytes:
    """Return a message's frame without its attachment of `attached` bytes."""
    packed = _encode(message)
    return HEAD.pack(len(packed), attached) + packed


class FrameDecoder:
    """Splits the bytes that an event loop receives into messages without attachments."""

    def __init__(self) -> None:
        """Start empty."""
        self._unread = b""

    def feed(self, data: bytes) -> Iterator[memoryview]:
        """Yield the message of every complete frame, encoded."""
        received = self._unread + data if self._unread else data
        view, at = memoryview(received), 0
        while at + HEAD.size <= len(received):
            begin = at + HEAD.size
            end = begin + HEAD.unpack_from(received, at)[0]
            if end > len(received):
                break
            yield view[begin:end]
            at = end
        self._unread = received[at:]


class ProcessConnection:
    """One end of the connection between two processes; for one thread at a time.

    The kernel closes an end when its process dies for any reason.
    """

    def __init__(self, end: socket.socket) -> None:
        """Use a connected socket."""
        self._socket = end

    @classmethod
    def inherited(cls, number: int) -> Self:
        """Take an inherited socket, and do not pass it on to child processes."""
        end = socket.socket(fileno=number)
        end.set_inheritable(False)
        return cls(end)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(
        self, message: object, attachment: bytes = b"", seconds: float | None = None
    ) -> None:
        """Send a message; the attachment is not copied.

        Raises:
            OSError: when the other process has ended, or accepts nothing for `seconds`.
        """
        self._socket.settimeout(seconds)
        self._socket.sendall(encode_frame(message, len(attachment)))
        if attachment:
            self._socket.sendall(attachment)

    def receive(
        self, decoder: Decoder[_Message], seconds: float | None = None
    ) -> tuple[_Message, bytes]:
        """Return the next message and its attachment.

        Raises:
            ConnectionError: when the other process closed its end, or the data is invalid.
            TimeoutError: when nothing arrived for `seconds`; the connection is unusable.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        size, attachment_size = HEAD.unpack(self._receive_exactly(HEAD.size, deadline))
        if size + attachment_size > _LARGEST:
            raise ConnectionError(_NO_MESSAGE)
        packed, attachment = (
            self._receive_exactly(size, deadline),
            self._receive_exactly(attachment_size, deadline),
        )
        try:
            return decoder.decode(packed), attachment
        except MsgspecError as error:
            raise ConnectionError(_NO_MESSAGE) from error

    def poll(self, seconds: float) -> bool:
        """Return whether a message or the connection's end arrives within `seconds`."""
        self._socket.settimeout(seconds)
        with suppress(ConnectionError):
            try:
                self._socket.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                return False
        return True

    def _receive_exactly(self, length: int, deadline: float | None) -> bytes:
        received = b""  # MSG_WAITALL usually returns everything at once, without a copy
        while len(received) < length:
            remaining = None if deadline is None else deadline - time.monotonic()
            if remaining is not None and remaining <= 0:
                raise TimeoutError
            self._socket.settimeout(remaining)
            chunk = self._socket.recv(length - len(received), socket.MSG_WAITALL)
            if not chunk:
                message = "the other process has ended"
                raise ConnectionError(message)
            received = received + chunk if received else chunk
        return received


class ParentConnection(ProcessConnection):
    """A child's end of the connection to the process that started it."""

    @classmethod
    def inherited(cls, number: int) -> Self:
        """Take an inherited socket, and let the kernel end this process after its parent.

        The connection's end is the rule, since it is noticed in the order of messages. The
        kernel's signal comes on Linux also where a defect makes the connection unreadable.
        """
        if sys.platform == "linux":
            ignores_stops = signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
            last_signal = signal.SIGKILL if ignores_stops else signal.SIGTERM
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(last_signal), 0, 0, 0)
        return super().inherited(number)

    def report_ready(self) -> None:
        """Report that this process is ready to work."""
        self._report(ReadyMessage())

    def report_progress(self, share: float) -> None:
        """Report the share of the work that is done."""
        self._report(ProgressMessage(share))

    def report_alive(self) -> None:
        """Report that this process is at work; never wait for the parent."""
        with suppress(OSError):  # the parent is gone, or reads nothing
            self._socket.send(encode_frame(AliveMessage()), socket.MSG_DONTWAIT)

    def start_alive_reports(self, is_responsive: Callable[[], bool]) -> None:
        """Report from a thread that this process is at work, while `is_responsive`."""

        def report() -> None:
            while True:
                if is_responsive():
                    self.report_alive()
                time.sleep(ALIVE_SECONDS)

        threading.Thread(target=report, name="alive", daemon=True).start()

    def stop_with_parent(self, stop: Callable[[], None]) -> None:
        """Call `stop`, from a thread, when the parent sends `StopMessage` or ends."""

        def wait() -> None:
            try:
                self.receive(_FROM_PARENT)
            except OSError:
                pass  # the parent has ended
            finally:
                stop()  # after any other error as well: a child never outlives its parent

        threading.Thread(target=wait, name="parent", daemon=True).start()

    def _report(self, message: object) -> None:
        with suppress(OSError):  # the parent has ended: `stop_with_parent` handles it
            self.send(message)
