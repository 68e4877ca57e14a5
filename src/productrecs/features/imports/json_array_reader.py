"""JSON array reader: yields the members of a large array in bounded memory."""

import codecs
import json
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from productrecs.core.errors import ProductRecsError

BLOCK: Final = 1 << 20
_BLANKS: Final = " \t\r\n"
_IN_NUMBERS: Final = ("", *"0123456789.eE+-")


class BrokenJsonArrayError(ProductRecsError):
    """The file is not JSON, or neither an array nor an object with one."""


class JsonArrayReader:
    """Yields the texts of an array's members; the array is the file, or its `items`."""

    def __init__(
        self, file: BinaryIO, longest: int, on_bytes: Callable[[int], None]
    ) -> None:
        """Read `file` from its position; no member may be longer than `longest`."""
        self._longest = longest
        self._file = file
        self._on_bytes = on_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._at_end = False

    def __iter__(self) -> Iterator[str]:
        """Yield the text of each member.

        Raises:
            BrokenJsonArrayError: where the text is not JSON.
        """
        self._skip_to_first_member()
        if self._peek_after_blanks() == "]":
            return
        while True:
            start, end = self._read_value_bounds()
            yield self._text[start:end]
            if self._read_expected_character(",]") == "]":
                return

    def _skip_to_first_member(self) -> None:
        """Skip the text before the first member."""
        if self._read_expected_character("[{") == "[":
            return
        while True:
            start, end = self._read_value_bounds()
            is_items = self._text[start:end] == '"items"'
            self._read_expected_character(":")
            if is_items:
                self._read_expected_character("[")
                return
            self._read_value_bounds()
            self._read_expected_character(",")

    def _read_value_bounds(self) -> tuple[int, int]:
        """Return the bounds of the next value, and skip it."""
        self._peek_after_blanks()
        while True:
            try:
                _, end = self._scan(self._text, self._at)
                # At the end of a block a number may be truncated to a valid one: 1.5 to 1
                if self._at_end or self._text[end : end + 1] not in _IN_NUMBERS:
                    start, self._at = self._at, end
                    return start, end
                reason = "a number"
            except (ValueError, RecursionError) as error:
                reason = str(error)
            if self._at_end or len(self._text) - self._at > self._longest:
                raise self._error(f"a value is not JSON ({reason})")
            self._read_block()

    def _read_expected_character(self, expected: str) -> str:
        character = self._peek_after_blanks()
        if not character or character not in expected:
            expected_text = " or ".join(expected)
            raise self._error(
                f"found {character or 'the end'!r} instead of {expected_text}"
            )
        self._at += 1
        return character

    def _peek_after_blanks(self) -> str:
        """Return the next character that is not a blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text) or self._at_end:
                return self._text[self._at : self._at + 1]
            self._read_block()

    def _read_block(self) -> None:
        block = self._file.read(BLOCK)
        self._at_end = not block
        self._on_bytes(len(block))
        try:
            decoded = self._decoder.decode(block, final=self._at_end)
        except UnicodeDecodeError as error:
            raise self._error("it is not UTF-8 text") from error
        self._text, self._at = self._text[self._at :] + decoded, 0

    def _error(self, reason: str) -> BrokenJsonArrayError:
        return BrokenJsonArrayError(
            f"this is not a JSON array of items, nor an object with a list items: {reason}"
        )
