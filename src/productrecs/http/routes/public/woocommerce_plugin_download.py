"""WooCommerce plugin download: GET /plugin/service-recommender.zip.

The archive is built from the plugin's source, which ships with the package. It names the
service that it was downloaded from, and holds no key.
"""

import io
import zipfile
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import Request, Response

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.widgets.reserved_height import release_js, reserved_height_css
from productrecs.http.openapi_responses import Responses
from productrecs.http.pipeline.route_declaration import NONE, PLUGIN_PATH, Routes
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.page_response import cacheable_response
from productrecs.http.routes.public.wordpress_translations import compile_translations
from productrecs.tenancy.accounts.store_settings import StoreSettings

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
