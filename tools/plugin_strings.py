"""Plugin strings: write the translation template (.pot) of the WooCommerce plugin.

Run it after a change of the plugin's texts, then translate what is new in the .po files.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGIN = Path(__file__).parents[1] / "src/productrecs/assets/plugin"
TEMPLATE = PLUGIN / "languages" / "service-recommender.pot"
HEADER = r"""msgid ""
msgstr ""
"Project-Id-Version: ProductRecs for WooCommerce\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"X-Domain: service-recommender\n"
"""
_CALL = re.compile(
    r"""\b(?:__|esc_html__|esc_attr__)\(\s*(['"])((?:\\.|(?!\1).)+)\1,"""
    r"""\s*(['"])service-recommender\3"""
)
_NOTE = re.compile(r"/\* (translators: .*?) \*/")
_HEADERS = ("Plugin Name", "Description")


class Use(NamedTuple):
    """One use of a string: its context, its file, and a note for translators."""

    context: str
    text: str
    file: str
    note: str = ""


def template(plugin: Path) -> str:
    """Return the template for the strings of a plugin's folder."""
    files: dict[tuple[str, str], set[str]] = {}
    notes: dict[str, str] = {}
    for one in (*_calls(plugin), *_plugin_headers(plugin), *_block_texts(plugin)):
        files.setdefault((one.context, one.text), set()).add(one.file)
        if one.note:
            notes[one.text] = one.note
    entries = (
        _entry(context, text, sorted(used), notes.get(text, ""))
        for (context, text), used in sorted(files.items())
    )
    return "\n".join((HEADER, *entries))


def _calls(plugin: Path) -> Iterator[Use]:
    for path in sorted((*plugin.rglob("*.php"), *plugin.rglob("*.js"))):
        name, source = path.relative_to(plugin).as_posix(), path.read_text("utf-8")
        before = 0
        for found in _CALL.finditer(source):
            text = re.sub(r"\\(['\"\\])", r"\1", found[2])
            notes = _NOTE.findall(source, before, found.start())
            yield Use("", text, name, notes[-1] if notes else "")
            before = found.end()


def _plugin_headers(plugin: Path) -> Iterator[Use]:
    main = plugin / "service-recommender.php"
    for header in _HEADERS:
        value = re.search(rf"^ \* {header}:\s+(.+)$", main.read_text("utf-8"), re.MULTILINE)
        if value:
            yield Use("", value[1], main.name)


def _block_texts(plugin: Path) -> Iterator[Use]:
    for path in sorted(plugin.rglob("block.json")):
        block = json.loads(path.read_text("utf-8"))
        name = path.relative_to(plugin).as_posix()
        for field in ("title", "description"):
            yield Use(f"block {field}", block[field], name)
        for word in block["keywords"]:
            yield Use("block keyword", word, name)


def _entry(context: str, string: str, files: list[str], note: str) -> str:
    lines = [f"#. {note}"] if note else []
    lines.append("#: " + " ".join(files))
    lines += [f"msgctxt {_quoted(context)}"] if context else []
    lines += [f"msgid {_quoted(string)}", 'msgstr ""', ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    TEMPLATE.parent.mkdir(exist_ok=True)
    TEMPLATE.write_text(template(PLUGIN), "utf-8")
