"""Word pieces of BERT: splits queries into tokens without the library `tokenizers`.

The library takes three times the memory, and longer for the short texts that queries are.
Texts of products are longer and are embedded by another process, which uses the library.
"""

import json
import re
import unicodedata
from pathlib import Path
from typing import Final

_UNKNOWN: Final = "[UNK]"
_CONTINUED: Final = "##"  # of a piece that continues a word
_LONGEST: Final = 100  # characters of a word; a longer one is unknown
_REMOVED: Final = frozenset({"Cc", "Cf", "Co", "Cs"})  # categories of characters

_SPECIAL: Final = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_ASCII_TOKENS: Final = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_CHINESE: Final = re.compile(
    "([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f])"
)


class WordPieceTokenizer:
    """The vocabulary of an uncased model; gives the tokens that the library gives."""

    def __init__(self, path: Path) -> None:
        """Read the vocabulary from the library's file.

        Raises:
            OSError: when it cannot be read.
            ValueError: when it is not JSON.
            KeyError: when it has no vocabulary.
        """
        self._ids: dict[str, int] = json.loads(path.read_bytes())["model"]["vocab"]

    def ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of a text."""
        return [self._ids[token] for token in self.tokens(text)]

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, without those of its begin and end."""
        tokens: list[str] = []
        for part in _SPECIAL.split(text) if "[" in text else (text,):
            for word in (part,) if _SPECIAL.fullmatch(part) else _split_into_words(part):
                tokens += (word,) if word in self._ids else self._split_word(word)
        return tokens

    def _split_word(self, word: str) -> list[str]:
        """Return the longest pieces that a word begins with, one after another."""
        pieces, begin, prefix = [], 0, ""
        while begin < len(word) <= _LONGEST:
            for end in range(len(word), begin, -1):
                if (piece := prefix + word[begin:end]) in self._ids:
                    break
            else:
                return [_UNKNOWN]
            pieces.append(piece)
            begin, prefix = end, _CONTINUED
        return pieces or [_UNKNOWN]


def _split_into_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in small letters and no accents."""
    if text.isascii() and text.isprintable():
        return _ASCII_TOKENS.findall(text.lower())
    kept = "".join(
        letter
        for letter in text
        if letter in "\t\n\r"
        or (letter != "\ufffd" and unicodedata.category(letter) not in _REMOVED)
    )
    decomposed = unicodedata.normalize("NFD", _CHINESE.sub(r" \1 ", kept))
    plain = "".join(
        f" {letter} " if _is_punctuation(letter) else letter
        for letter in decomposed
        if unicodedata.category(letter) != "Mn"
    )
    # `lower` writes another sigma at the end of a word.
    return plain.replace("\u03a3", "\u03c3").lower().split()


def _is_punctuation(letter: str) -> bool:
    return letter in "$+<=>^`|~" or unicodedata.category(letter)[0] == "P"
