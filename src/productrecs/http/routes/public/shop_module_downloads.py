"""Downloads of the modules for other shop systems than WooCommerce.

Each archive has the shop system's own files, and in `core` the PHP that it shares: the
plugin's own `core`, and `shop_module`, for shop systems without a job queue. It names the
service that it was downloaded from, and holds no key.
"""

import json
from typing import Final

from fastapi import Request, Response

from productrecs.core.cache_registry import RegisteredCache, memoized
from productrecs.features.widgets.reserved_height import release_js, reserved_height_css
from productrecs.http.pipeline.route_declaration import (
    NONE,
    OPENCART_PATH,
    PRESTASHOP_PATH,
    Routes,
)
from productrecs.http.pipeline.url_decoding_and_base_url import base_url_for_reply
from productrecs.http.routes.public.woocommerce_plugin_download import (
    ARCHIVE_REPLIES,
    archive_download_reply,
    php_string,
    read_asset_folder,
    zip_files,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings

routes = Routes("public")

_SCRIPTS: Final = "module.js"
_SERVER: Final = """<?php
/**
 * Server: the service that this archive was downloaded from.
 *
 * @package ProductRecs
 */

defined( 'PRODUCT_RECS_SHOP' ) || exit;

return {};
"""


@routes.get(
    OPENCART_PATH,
    NONE,
    summary="Return the extension for OpenCart",
    responses=ARCHIVE_REPLIES,
)
async def opencart_extension(request: Request) -> Response:
    """Return the archive that OpenCart installs under Extensions, Installer.

    OpenCart reads the extension's name from the file's name.
    """
    archive = build_opencart_archive(base_url_for_reply(request))
    return archive_download_reply(request, archive, OPENCART_PATH)


@routes.get(
    PRESTASHOP_PATH,
    NONE,
    summary="Return the module for PrestaShop",
    responses=ARCHIVE_REPLIES,
)
async def prestashop_module(request: Request) -> Response:
    """Return the archive that PrestaShop installs under Modules, Module Manager."""
    archive = build_prestashop_archive(base_url_for_reply(request))
    return archive_download_reply(request, archive, PRESTASHOP_PATH)


@memoized(RegisteredCache.PLUGIN_ARCHIVES)
def build_opencart_archive(base_url: str) -> bytes:
    """Return OpenCart's archive for a service at this address."""
    files = _module_files("opencart", base_url, "catalog/view/assets")
    about = json.loads(files["install.json"]) | {"link": base_url}  # OpenCart demands one.
    files["install.json"] = json.dumps(about, indent=2).encode()
    return zip_files(files)


@memoized(RegisteredCache.PLUGIN_ARCHIVES)
def build_prestashop_archive(base_url: str) -> bytes:
    """Return PrestaShop's archive for a service at this address.

    PrestaShop demands one folder with the module's name.
    """
    files = _module_files("prestashop", base_url, "views")
    return zip_files(files, "productrecs/")


def _module_files(shop: str, base_url: str, assets_folder: str) -> dict[str, bytes]:
    """Return a shop system's own files, the shared PHP, and what pages load."""
    files = read_asset_folder(shop)
    shared_files = read_asset_folder("shop_module")
    files[f"{assets_folder}/{_SCRIPTS}"] = shared_files.pop(_SCRIPTS)
    plugin = read_asset_folder("plugin")
    shared_files |= {
        name.removeprefix("core/"): content
        for name, content in plugin.items()
        if name.startswith("core/")
    }
    shared_files["server.php"] = _SERVER.replace("{}", php_string(base_url)).encode()
    files |= {f"core/{name}": content for name, content in shared_files.items()}
    files[f"{assets_folder}/bridge.js"] = plugin["assets/bridge.js"]
    files[f"{assets_folder}/release.js"] = release_js().encode()
    widget_css = "product-recs,product-look{clear:both;margin-block:2.5em}"
    files[f"{assets_folder}/reserve.css"] = (
        reserved_height_css(StoreSettings(), {}) + widget_css
    ).encode()
    return files
