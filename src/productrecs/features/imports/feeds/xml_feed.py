"""XML feeds: yields the items of RSS or Atom one at a time, in bounded memory.

A feed is untrusted input. Entities that it declares itself are refused: with them a few
lines can expand to gigabytes, or include another file of this machine.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Final
from xml.parsers import expat

from productrecs.core.errors import ProductRecsError

BLOCK: Final = 64 * 1024
MAX_ITEM_BYTES: Final = 1 << 20
"""The most characters of one item's attributes."""
_LONGEST_TAG: Final = 4 << 20  # bytes without the end of a tag
_DEEPEST: Final = 64
_ITEMS: Final = frozenset({"item", "entry"})
_GOOGLE: Final = "http://base.google.com/ns/1.0"


class BrokenFeedError(ProductRecsError):
    """The file is not well-formed XML, or an attack; earlier items stay imported."""


class NotAFeedError(ProductRecsError):
    """The XML has no items, so it is not a product feed."""


def read_xml_feed_items(
    file: BinaryIO, on_bytes: Callable[[int], None]
) -> Iterator[tuple[int, Mapping[str, str] | None]]:
    """Yield each item with its number (from 1): the first text under each of its names.

    Names are as in `g:price`, or without a prefix if they are not Google's. An item
    that is too long is None.

    Raises:
        BrokenFeedError: where the XML is not well-formed.
        NotAFeedError: at the end, when there was no item.
    """
    file.seek(0)
    feed = _XmlFeedParser()
    count = 0
    while not feed.is_over:
        block = file.read(BLOCK)
        broken = feed.parse_block(block)
        on_bytes(len(block))
        while feed.items:
            count += 1
            yield count, feed.items.popleft()
        if broken is not None:
            raise broken
    if count == 0:
        message = "this XML has no <item> and no <entry>, so it is not a product feed"
        raise NotAFeedError(message)


class _XmlFeedParser:
    """The parser, and the item that it is reading."""

    def __init__(self) -> None:
        self.items: deque[Mapping[str, str] | None] = deque()
        self.is_over = False
        self._fed = 0
        self._path: list[str] = []
        self._item: dict[str, str] | None = None
        self._item_depth = 0  # depth of the item's element
        self._text: list[str] = []
        self._length = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._character_data
        self._parser.EntityDeclHandler = self._reject_entity
        self._parser.ExternalEntityRefHandler = self._reject_entity

    def parse_block(self, block: bytes) -> BrokenFeedError | None:
        """Parse the next bytes (none at the end); return an error, or None."""
        self._fed += len(block)
        self.is_over = not block
        try:
            self._parser.Parse(block, self.is_over)
        except (expat.ExpatError, ValueError, LookupError) as error:
            return BrokenFeedError(f"this is not well-formed XML: {error}")
        except BrokenFeedError as error:
            return error
        if self._fed - self._parser.CurrentByteIndex > _LONGEST_TAG + BLOCK:
            return BrokenFeedError("this XML has a tag, or a comment, of more than 4 MiB")
        return None

    def _reject_entity(self, *_: object) -> int:
        message = (
            "this XML declares entities of its own, which no feed needs; it is rejected"
        )
        raise BrokenFeedError(message)

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= _DEEPEST:
            message = f"this XML is nested deeper than {_DEEPEST} elements"
            raise BrokenFeedError(message)
        self._path.append(_short_name(name))
        if self._item is None and self._path[-1] in _ITEMS:
            self._item, self._item_depth, self._length = {}, len(self._path), 0
        elif self._is_attribute():
            self._text = []
            if "href" in attributes and attributes.get("rel", "alternate") == "alternate":
                self._text = [attributes["href"]]  # the link of an Atom entry

    def _character_data(self, text: str) -> None:
        if self._item is not None and self._is_attribute():
            self._length += len(text)
            if self._length <= MAX_ITEM_BYTES:
                self._text.append(text)

    def _end_element(self, _name: str) -> None:
        if self._item is not None:
            if len(self._path) == self._item_depth:
                too_long = self._length > MAX_ITEM_BYTES
                self.items.append(None if too_long else self._item)
                self._item = None
            elif self._is_attribute():
                value = "".join(self._text)
                if value.strip():
                    self._item.setdefault(self._path[-1], value)
        self._path.pop()

    def _is_attribute(self) -> bool:
        # Deeper elements belong to something else, such as the price of a shipping method.
        return self._item is not None and len(self._path) == self._item_depth + 1


def _short_name(name: str) -> str:
    space, _, local = name.rpartition(" ")
    return f"g:{local}" if space == _GOOGLE else local
