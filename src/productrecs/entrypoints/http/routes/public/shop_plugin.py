"""Store plugin: GET /plugin/service-recommender.zip serves the WooCommerce plugin.

The archive is built from the plugin's source, which ships with the package. It names the
service that it was downloaded from, and holds no key.
"""

import io
import zipfile
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Request, Response

from productrecs.core.cache_registry import Cache, memoized
from productrecs.entrypoints.http.openapi.responses import Responses
from productrecs.entrypoints.http.pipeline.authentication import PLUGIN_PATH
from productrecs.entrypoints.http.pipeline.urls import base_url_of
from productrecs.entrypoints.http.routes.public.page_response import cacheable_response
from productrecs.entrypoints.http.routes.public.plugin_translation_compiler import (
    compile_translations,
)
from productrecs.features.widgets.reserved_height import release_js, reserve_css
from productrecs.tenancy.accounts.store_settings import StoreSettings

router = APIRouter(tags=["public"])

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
_REPLIES: Final[Responses] = {
    200: {
        "description": "The archive.",
        "content": {
            _KIND: {"schema": {"type": "string", "format": "binary"}, "example": "PK"}
        },
    }
}


@router.get(
    PLUGIN_PATH,
    operation_id="store_plugin",
    summary="Return the plugin for WooCommerce",
    responses=_REPLIES,
    response_class=Response,
)
async def store_plugin(request: Request) -> Response:
    """Return the archive that WordPress installs under Plugins, Add New, Upload Plugin.

    The same release of the service at the same address always returns the same bytes.
    """
    archive = build_archive(base_url_of(request))
    reply = cacheable_response(request, archive, _KIND, vary="Host")
    reply.headers["content-disposition"] = f'attachment; filename="{SLUG}.zip"'
    return reply


@memoized(Cache.PLUGIN_ARCHIVES)
def build_archive(base_url: str) -> bytes:
    """Return the archive for a service at this address: sorted, with fixed times."""
    files = dict(_walk(resources.files(__package__) / "assets" / "plugin"))
    files["server.php"] = _SERVER.replace("{}", _php_string(base_url)).encode()
    files["assets/reserve.css"] = reserve_css(StoreSettings(), {}).encode()
    files["assets/release.js"] = release_js().encode()
    files |= compile_translations(files, SLUG, _SCRIPTS)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{SLUG}/{name}", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = _FILE
            archive.writestr(entry, files[name])
    return packed.getvalue()


def _walk(folder: Traversable, path: str = "") -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for one in folder.iterdir():
        if one.is_dir():
            found += _walk(one, f"{path}{one.name}/")
        else:
            found.append((path + one.name, one.read_bytes()))
    return found


def _php_string(text: str) -> str:
    r"""Return a PHP literal in single quotes: only `\` and `'` are special in one."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
