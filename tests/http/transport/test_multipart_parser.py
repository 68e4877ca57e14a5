"""Streaming multipart parser: extracts the file as it arrives, rejects other forms."""

import asyncio
from collections.abc import Iterable, MutableMapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.http.transport.multipart_parser import (
    MultipartFormParser,
    NotMultipartError,
    UploadStalledError,
    body_chunks,
)
from productrecs.http.transport.request_body import (
    BodyTooLargeError,
    ClientDisconnectedError,
    EncodedBodyError,
)
from productrecs.schemas.validation_errors import InvalidInputError
from tests.support.uploads import BOUNDARY, form, part

TYPE = f"multipart/form-data; boundary={BOUNDARY}"
END = f"--{BOUNDARY}--\r\n".encode()


def read(body: bytes, content_type: str = TYPE, step: int = 0) -> bytes:
    """Return the file of a form that comes `step` bytes at a time."""
    parser = MultipartFormParser([(b"content-type", content_type.encode())], "file")
    for start in range(0, len(body), step or len(body) or 1):
        parser.feed(body[start : start + (step or len(body))])
    parser.check_complete()
    return parser.pop_file_bytes()


def kind_of(body: bytes) -> str:
    """Return the type of the only problem with a body."""
    with pytest.raises(InvalidInputError) as caught:
        read(body)
    (problem,) = caught.value.problems
    assert problem.loc[0] == "body"
    return problem.type


@pytest.mark.parametrize("step", [0, 1, 2, 7, 64])
def test_a_file_comes_out_as_it_was_however_it_is_cut(step: int) -> None:
    content = b"order_id,item_id\r\nA,\r\n--" + BOUNDARY[:-1].encode() + b"\r\r\n--\r\n"

    assert read(form(content), step=step) == content


@given(content=st.binary(max_size=300), cuts=st.lists(st.integers(1, 40), min_size=1))
def test_any_bytes_come_out_as_they_were(content: bytes, cuts: list[int]) -> None:
    body, parser = (
        form(content),
        MultipartFormParser([(b"content-type", TYPE.encode())], "file"),
    )
    taken = []
    while body:
        for cut in cuts:
            parser.feed(body[:cut])
            body = body[cut:]
            taken.append(parser.pop_file_bytes())
    parser.check_complete()

    assert b"".join(taken) == content


@pytest.mark.parametrize(
    "content_type",
    [
        f'multipart/form-data; boundary="{BOUNDARY}"',
        f"Multipart/Form-Data;boundary={BOUNDARY}",
        f"multipart/form-data; charset=utf-8; boundary={BOUNDARY}",
    ],
)
def test_a_content_type_may_be_written_in_any_way(content_type: str) -> None:
    assert read(form(b"x"), content_type) == b"x"


def test_fields_beside_the_file_are_passed_over() -> None:
    body = part(b"42", "note", None) + part(b"x") + part(b"y", "more", None) + END

    assert read(body) == b"x"


def test_the_file_may_be_a_plain_field() -> None:
    assert read(form(b"x", filename=None)) == b"x"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "", "a\\b", "x" * 4_000, "C:\\a.csv", '\\"']
)
def test_whatever_the_client_calls_its_file_it_is_read(name: str) -> None:
    assert read(form(b"x", filename=name)) == b"x"


def test_a_form_must_hold_exactly_one_file() -> None:
    assert kind_of(END) == "missing"
    assert kind_of(part(b"x", "other", None) + END) == "missing"
    assert kind_of(form(b"x", "other")) == "too_many_files"
    assert kind_of(part(b"x") + part(b"y") + END) == "too_many_files"
    assert kind_of(part(b"x") + part(b"y", "second") + END) == "too_many_files"


def test_a_form_may_have_ten_parts() -> None:
    others = [part(b"x", f"field-{number}", None) for number in range(9)]

    assert read(b"".join(others) + form(b"x")) == b"x"
    assert kind_of(b"".join(others) + part(b"x", "one more", None) + form(b"x")) == (
        "too_long"
    )


def test_what_is_beside_the_file_may_not_be_much() -> None:
    with pytest.raises(BodyTooLargeError):
        read(part(b"x" * 70_000, "note", None) + form(b"x"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"order_id,item_id\nA,a\n",
        b"{}",
        form(b"x")[:-4],
        form(b"x")[: len(form(b"x")) // 2],
        b"--another\r\n\r\nx\r\n--another--\r\n",
        f"--{BOUNDARY}\r\nbad header\r\n\r\nx\r\n--{BOUNDARY}--\r\n".encode(),
        f"--{BOUNDARY}\r\nx: {'y' * 20_000}\r\n\r\n".encode(),
        f"--{BOUNDARY}\r\n".encode() + b"a: b\r\n" * 200,
    ],
)
def test_what_is_no_whole_form_is_refused(body: bytes) -> None:
    assert kind_of(body) == "multipart_invalid"


@pytest.mark.parametrize(
    "content_type", ["", "text/csv", "application/json", "multipart/mixed; boundary=a"]
)
def test_another_content_type_is_refused(content_type: str) -> None:
    with pytest.raises(NotMultipartError):
        read(form(b"x"), content_type)


@pytest.mark.parametrize("boundary", ["", '""', "x" * 71])
def test_a_boundary_that_is_none_is_refused(boundary: str) -> None:
    with pytest.raises(InvalidInputError):
        read(form(b"x"), f"multipart/form-data; boundary={boundary}")


def test_a_file_encoded_in_the_form_is_refused() -> None:
    body = form(b"eA==").replace(
        b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1
    )

    with pytest.raises(EncodedBodyError):
        read(body)


class Sender:
    """A client that sends chunks, each after a rest."""

    def __init__(self, chunks: Iterable[tuple[float, bytes]], *, goes: bool) -> None:
        """Prepare; one that `goes` closes before the end."""
        self._chunks = list(chunks)
        self._goes = goes

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the next message, as a server does."""
        if not self._chunks and self._goes:
            return {"type": "http.disconnect"}
        rest, chunk = self._chunks.pop(0)
        await asyncio.sleep(rest)
        more = bool(self._chunks) or self._goes
        return {"type": "http.request", "body": chunk, "more_body": more}


def collected(
    sender: Sender, limit: int = 1_000, *, rest: float = 0, window: float = 0.2
) -> bytes:
    async def collect() -> bytes:
        came = b""
        async for chunk in body_chunks(sender.receive, limit, 10, window):
            came += chunk
            await asyncio.sleep(rest)
        return came

    return asyncio.run(collect())


def test_a_body_may_take_long_as_long_as_it_comes() -> None:
    slow = [(0.15, b"x" * 20)] * 15  # thrice the window in all, and enough in each

    assert collected(Sender(slow, goes=False), window=0.75) == b"x" * 300


def test_time_that_our_disk_takes_is_not_the_clients() -> None:
    assert collected(Sender([(0, b"x")] * 4, goes=False), rest=0.1) == b"xxxx"


@pytest.mark.parametrize(
    "chunks", [[(0.0, b"x" * 50), (9.0, b"x")], [(0.0, b"x" * 50), *[(0.05, b"x")] * 20]]
)
def test_a_client_that_stalls_or_dribbles_is_cut_off(
    chunks: list[tuple[float, bytes]],
) -> None:
    with pytest.raises(UploadStalledError):
        collected(Sender(chunks, goes=False))


def test_a_client_that_goes_away_leaves_no_body() -> None:
    with pytest.raises(ClientDisconnectedError):
        collected(Sender([(0, b"x")], goes=True))


def test_more_than_the_limit_is_not_taken() -> None:
    assert collected(Sender([(0, b"xx")] * 2, goes=False), limit=4) == b"xxxx"
    with pytest.raises(BodyTooLargeError):
        collected(Sender([(0, b"xx")] * 3, goes=False), limit=5)
