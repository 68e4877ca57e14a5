"""Process messages: each arrives whole, as what it is, or not at all."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest
from msgspec.msgpack import Decoder

from productrecs.processes.process_messages import (
    FROM_CHILD,
    HEAD,
    FrameDecoder,
    ParentConnection,
    ProcessConnection,
    ProgressMessage,
    ReadyMessage,
    StopMessage,
    encode_frame,
)


class Question(msgspec.Struct, array_like=True):
    """A message of the tests."""

    words: str


@pytest.fixture
def ends() -> Iterator[tuple[ProcessConnection, socket.socket]]:
    ours, theirs = socket.socketpair()
    with closing(ProcessConnection(ours)) as connection, theirs:
        yield connection, theirs


@pytest.mark.parametrize("seconds", [None, 5.0])
@pytest.mark.parametrize("size", [0, 1, 9_000_000])
def test_a_message_comes_with_its_attachment(
    ends: tuple[ProcessConnection, socket.socket], size: int, seconds: float | None
) -> None:
    here, there = ends[0], ProcessConnection(ends[1].dup())
    photo = bytes(range(250)) * (size // 250) + b"!" * (size % 250)
    sending = threading.Thread(target=here.send, args=(Question("like"), photo, 5.0))
    sending.start()

    message, attachment = there.receive(Decoder(Question), seconds)

    sending.join()
    there.close()
    assert (message.words, attachment == photo) == ("like", True)


def test_messages_come_whole_however_they_are_cut() -> None:
    sent = [ReadyMessage(), ProgressMessage(0.5), ReadyMessage(), ProgressMessage(1.0)]
    whole = b"".join(map(encode_frame, sent))

    for size in (1, 2, 3, 7, len(whole)):
        decoder, found = FrameDecoder(), []
        for at in range(0, len(whole), size):
            frames = decoder.feed(whole[at : at + size])
            found += [FROM_CHILD.decode(frame) for frame in frames]
        assert found == sent


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x01",
        HEAD.pack(5, 0) + b"abc",
        HEAD.pack(3, 0) + b"abc",
        HEAD.pack(1 << 31, 1 << 31),
        encode_frame(StopMessage()),
    ],
    ids=["nothing", "half a head", "half a message", "garbage", "gigabytes", "another"],
)
def test_what_is_no_message_ends_the_connection(
    ends: tuple[ProcessConnection, socket.socket], sent: bytes
) -> None:
    here, there = ends
    there.sendall(sent)
    there.shutdown(socket.SHUT_WR)

    with pytest.raises(ConnectionError):
        here.receive(FROM_CHILD, 5.0)


def test_receive_times_out_when_a_process_sends_nothing(
    ends: tuple[ProcessConnection, socket.socket],
) -> None:
    here, there = ends

    with pytest.raises(TimeoutError):
        here.receive(FROM_CHILD, 0.01)
    assert not here.poll(0.01)
    there.sendall(encode_frame(ReadyMessage()))
    assert here.poll(5)
    assert here.receive(FROM_CHILD)[0] == ReadyMessage()
    there.close()
    assert here.poll(5)


@pytest.mark.parametrize("how", ["a message", "its end"])
def test_a_child_stops_when_its_parent_says_so_or_is_gone(
    ends: tuple[ProcessConnection, socket.socket], how: str
) -> None:
    here, there = ends
    stopped = threading.Event()
    child = ParentConnection(there)
    child.stop_with_parent(stopped.set)
    child.report_ready()
    assert here.receive(FROM_CHILD, 5.0)[0] == ReadyMessage()
    assert not stopped.is_set()

    if how == "a message":
        here.send(StopMessage())
    else:
        here.close()

    assert stopped.wait(5)
