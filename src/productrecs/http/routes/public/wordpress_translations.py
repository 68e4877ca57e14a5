"""WordPress translations: compiles the plugin's `.po` files.

PHP reads a `.mo` file; a script reads JSON. Both are built with the archive, so that no
compiled file is committed and gettext is not needed.
"""

import ast
import json
import re
import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_LOCALES: Final = MappingProxyType(
    {
        "de_DE": ("de_DE", "de_DE_formal", "de_AT", "de_CH"),
        "fr_FR": ("fr_FR", "fr_BE", "fr_CA"),
    }
)
"""The locales that a catalog serves: WordPress looks for one file by its exact name."""

_FOLDER: Final = "languages/"
_MAGIC: Final = 0x950412DE
_LINE: Final = re.compile(r'(?:(msgctxt|msgid|msgstr) )?(".*")')
_CONTEXT: Final = "\x04"


class TranslationEntry(NamedTuple):
    """A string of a catalog. The entry with an empty `text` is the catalog's header."""

    text: str
    translation: str
    context: str
    used_in: tuple[str, ...]
    """The files that use it."""

    @property
    def key(self) -> str:
        """Return what WordPress looks it up by."""
        return f"{self.context}{_CONTEXT}{self.text}" if self.context else self.text


def parse_po_file(content: str) -> list[TranslationEntry]:
    """Return the entries of a `.po` or `.pot` file that has no plural forms."""
    return [
        _parse_po_entry(block)
        for block in re.split(r"\n\s*\n", content)
        if "\nmsgid " in f"\n{block}"
    ]


def _parse_po_entry(block: str) -> TranslationEntry:
    fields = {"msgctxt": "", "msgid": "", "msgstr": ""}
    used: list[str] = []
    name = ""
    for line in block.splitlines():
        if line.startswith("#: "):
            used += line[3:].split()
        elif found := _LINE.fullmatch(line.strip()):
            name = found[1] or name
            fields[name] += ast.literal_eval(found[2])
    return TranslationEntry(
        fields["msgid"], fields["msgstr"], fields["msgctxt"], tuple(used)
    )


def compile_translations(
    files: Mapping[str, bytes], domain: str, scripts: Mapping[str, str]
) -> dict[str, bytes]:
    """Return the compiled files for each `.po` file in `files`, by their path.

    `scripts` maps the handle of a script to the file whose strings it uses.
    """
    compiled: dict[str, bytes] = {}
    for catalog, locales in _LOCALES.items():
        entries = parse_po_file(files[f"{_FOLDER}{domain}-{catalog}.po"].decode("utf-8"))
        for locale in locales:
            stem = f"{_FOLDER}{domain}-{locale}"
            compiled[f"{stem}.mo"] = _mo_file(entries)
            for handle, source in scripts.items():
                compiled[f"{stem}-{handle}.json"] = _translation_json(
                    entries, locale, source
                )
    return compiled


def _mo_file(entries: list[TranslationEntry]) -> bytes:
    """Return a `.mo` file: two tables of lengths and offsets, then the strings."""
    pairs = sorted(
        (entry.key.encode(), entry.translation.encode())
        for entry in entries
        if entry.translation
    )
    header = struct.pack("<7I", _MAGIC, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    offset = len(header) + 16 * len(pairs)
    tables, strings = b"", b""
    for column in zip(*pairs, strict=True):
        for text in column:
            tables += struct.pack("<2I", len(text), offset + len(strings))
            strings += text + b"\0"
    return header + tables + strings


def _translation_json(entries: list[TranslationEntry], locale: str, source: str) -> bytes:
    """Return what `wp_set_script_translations` loads, for the strings of one script."""
    messages: dict[str, object] = {"": {"domain": "messages", "lang": locale}}
    messages |= {
        entry.key: [entry.translation]
        for entry in entries
        if source in entry.used_in and entry.translation
    }
    wrapped = {"domain": "messages", "locale_data": {"messages": messages}}
    return json.dumps(wrapped, ensure_ascii=False, sort_keys=True).encode()
