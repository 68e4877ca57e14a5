"""XML feeds: read item by item; hostile ones are rejected early."""

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from productrecs.features.imports.feeds.xml_feed import (
    BrokenFeedError,
    NotAFeedError,
    read_xml_feed_items,
)
from tests.features.imports.feeds.reads import read, refused, taken

GOOGLE = 'xmlns:g="http://base.google.com/ns/1.0"'
ITEM = "<item><g:id>{}</g:id><g:price>9 EUR</g:price></item>"


def rss(*items: str, before: str = "") -> str:
    inner = "".join(items)
    return f'<?xml version="1.0"?>{before}<rss {GOOGLE}><channel>{inner}</channel></rss>'


def fed(content: str | bytes) -> list[object]:
    data = content.encode() if isinstance(content, str) else content
    return list(read_xml_feed_items(io.BytesIO(data), lambda _bytes: None))


class Endless(io.RawIOBase):
    """A file that never ends: `head`, then `block` again and again up to `most` bytes."""

    def __init__(self, head: bytes, block: bytes, most: int) -> None:
        self.given = 0
        self._most = most
        self._parts = self._all(head, block)

    def _all(self, head: bytes, block: bytes) -> Iterator[bytes]:
        yield head
        while self.given < self._most:
            yield block

    def read(self, _size: int = -1) -> bytes:
        """Return the next part, whatever its size."""
        part = next(self._parts, b"")
        self.given += len(part)
        return part

    def seek(self, *_: int) -> int:
        """Stay where it is."""
        return 0


LAUGHS = "".join(
    f'<!ENTITY lol{level} "{f"&lol{level - 1};" * 10}">' for level in range(1, 10)
)
TRAPS = {
    "billion laughs": rss(
        "<item><g:id>&lol9;</g:id></item>",
        before=f'<!DOCTYPE rss [<!ENTITY lol0 "lol">{LAUGHS}]>',
    ),
    "a file of this machine": rss(
        "<item><g:id>&file;</g:id></item>",
        before='<!DOCTYPE rss [<!ENTITY file SYSTEM "file:///etc/passwd">]>',
    ),
    "another host": rss(
        "<item><g:id>&far;</g:id></item>",
        before='<!DOCTYPE rss [<!ENTITY far SYSTEM "http://192.0.2.1/x">]>',
    ),
    "a parameter entity": rss(
        before='<!DOCTYPE rss [<!ENTITY % far SYSTEM "http://192.0.2.1/x.dtd"> %far;]>'
    ),
    "a quadratic blow-up": rss(
        f"<item><g:id>{'&a;' * 10_000}</g:id></item>",
        before=f'<!DOCTYPE rss [<!ENTITY a "{"a" * 100_000}">]>',
    ),
    "deep nesting": "<a>" * 100_000,
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_refused_in_a_moment_and_in_little_memory(name: str) -> None:
    content = TRAPS[name].encode()

    tracemalloc.start()
    with pytest.raises(BrokenFeedError):
        fed(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 << 20


@pytest.mark.parametrize("head", [b"<rss ", b"<!-- ", b"<a x='", b"<?x "])
def test_a_tag_without_an_end_is_given_up(head: bytes) -> None:
    file = Endless(b"<rss>" + head, b"a" * 65_536, 1 << 30)

    with pytest.raises(BrokenFeedError, match=r"4 MiB|well-formed"):
        list(read_xml_feed_items(file, lambda _bytes: None))  # type: ignore[arg-type]  # reads alike

    assert file.given < 16 << 20


def test_an_item_that_is_too_long_is_left_out_and_the_next_comes_in(tmp_path: Path) -> None:
    long = f"<item><g:id>a</g:id><g:title>{'x' * 2_000_000}</g:title></item>"

    items = read(rss(long, ITEM.format("b")), tmp_path)

    assert taken(items).keys() == {"b"}
    assert list(refused(items)) == [1]


def counted(file: Endless) -> int:
    """Return how many items came before the feed broke off."""
    count = 0
    try:
        for _ in read_xml_feed_items(file, lambda _bytes: None):  # type: ignore[arg-type]
            count += 1
    except BrokenFeedError:
        return count
    pytest.fail("it was read to its end")


def test_a_long_feed_is_read_in_bounded_memory() -> None:
    head = f"<rss {GOOGLE}><channel>".encode()
    file = Endless(head, ITEM.format("a" * 200).encode() * 200, 6 << 20)

    tracemalloc.start()
    count = counted(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count > 20_000
    assert peak < 2 << 20


def test_what_came_before_a_break_is_read() -> None:
    content = rss(ITEM.format("a"), "</oops>").encode()
    items = read_xml_feed_items(io.BytesIO(content), lambda _bytes: None)

    assert next(items) == (1, {"g:id": "a", "g:price": "9 EUR"})
    with pytest.raises(BrokenFeedError, match="line 1"):
        next(items)


@pytest.mark.parametrize(
    "content", ["<html><body>Not found</body></html>", rss(), "<items/>"]
)
def test_xml_without_items_is_no_feed(content: str) -> None:
    with pytest.raises(NotAFeedError, match="no <item>"):
        fed(content)


def test_the_price_of_the_shipping_is_not_the_price() -> None:
    shipping = "<g:shipping><g:price>5 EUR</g:price></g:shipping>"
    item = f"<item><g:id>a</g:id>{shipping}<g:price>9 EUR</g:price></item>"

    assert fed(rss(item)) == [(1, {"g:id": "a", "g:price": "9 EUR"})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_a_feed_may_be_in_any_usual_encoding(tmp_path: Path, encoding: str) -> None:
    text = rss(
        '<item><g:id>caf\xe9</g:id><title><![CDATA[<b>Caf\xe9</b> "noir"]]></title></item>'
    ).replace('version="1.0"', f'version="1.0" encoding="{encoding}"')

    items = read(text.encode(encoding), tmp_path)

    assert taken(items)["caf\xe9"]["title"] == 'Caf\xe9 "noir"'


def test_a_feed_without_the_namespace_is_understood(tmp_path: Path) -> None:
    content = (
        "<rss><item><id>a</id><image_link>https://i.example/a.png</image_link></item></rss>"
    )

    items = read(content, tmp_path)

    assert taken(items) == {"a": {"image_url": "https://i.example/a.png"}}
