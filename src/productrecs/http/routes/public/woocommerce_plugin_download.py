"""WooCommerce plugin download: GET /plugin/service-recommender.zip.

The archive is built from the plugin's source, which ships with the package. It names the
service that it was downloaded from, and holds no key.

Plugin translations are compiled for WordPress:

PHP reads a `.mo` file; a script reads JSON. Both are built with the archive, so that no
compiled file is committed and gettext is not needed.
"""

import ast
import io
import json
import re
import struct
import zipfile
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final, NamedTuple

from fastapi import Request, Response

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.widgets.reserved_height import release_js, reserved_height_css
from productrecs.http.openapi_responses import Responses
from productrecs.http.pipeline.route_declaration import NONE, PLUGIN_PATH, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.page_response import cacheable_response
from productrecs.tenancy.accounts.store_settings import StoreSettings

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


routes = Routes("public")

SLUG: Final = "service-recommender"
_KIND: Final = "application/zip"
_SCRIPTS: Final = {"product-recs-block": "blocks/recommendations/editor.js"}  # by handle
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can name
_FILE: Final = 0o100644 << 16
_SERVER: Final = """<?php
/**
 * Server: the service that this archive was downloaded from.
 *
 * @package ProductRecs
 */

defined( 'ABSPATH' ) || exit;

return {};
"""
ARCHIVE_REPLIES: Final[Responses] = {
    200: {
        "description": "The archive.",
        "content": {
            _KIND: {"schema": {"type": "string", "format": "binary"}, "example": "PK"}
        },
    }
}


@routes.get(
    PLUGIN_PATH,
    NONE,
    operation_id="store_plugin",
    summary="Return the plugin for WooCommerce",
    responses=ARCHIVE_REPLIES,
)
async def download_woocommerce_plugin(request: Request) -> Response:
    """Return the archive that WordPress installs under Plugins, Add New, Upload Plugin.

    The same release of the service at the same address always returns the same bytes.
    """
    return archive_download_reply(
        request, build_woocommerce_archive(base_url_for_reply(request)), PLUGIN_PATH
    )


def archive_download_reply(request: Request, archive: bytes, path: str) -> Response:
    """Return an archive, to be saved under the last part of its path."""
    reply = cacheable_response(request, archive, _KIND, vary="Host")
    name = path.rpartition("/")[2]
    reply.headers["content-disposition"] = f'attachment; filename="{name}"'
    return reply


@memoized(RegisteredCache.PLUGIN_ARCHIVES)
def build_woocommerce_archive(base_url: str) -> bytes:
    """Return the archive for a service at this address: sorted, with fixed times."""
    files = read_asset_folder("plugin")
    files["server.php"] = _SERVER.replace("{}", php_string(base_url)).encode()
    files["assets/reserve.css"] = reserved_height_css(StoreSettings(), {}).encode()
    files["assets/release.js"] = release_js().encode()
    files |= compile_translations(files, SLUG, _SCRIPTS)
    return zip_files(files, f"{SLUG}/")


def zip_files(files: Mapping[str, bytes], folder: str = "") -> bytes:
    """Return a zip of these files in a folder, sorted and with fixed times."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}{name}", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = _FILE
            archive.writestr(entry, files[name])
    return packed.getvalue()


def read_asset_folder(name: str) -> dict[str, bytes]:
    """Return the files of a folder of the package's assets, by their path in it."""
    return dict(_files_below(resources.files("productrecs") / "assets" / name))


def _files_below(folder: Traversable, path: str = "") -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _files_below(entry, f"{path}{entry.name}/")
        else:
            found.append((path + entry.name, entry.read_bytes()))
    return found


def php_string(text: str) -> str:
    r"""Return a PHP literal in single quotes: only `\` and `'` are special in one."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
