"""Fake shop: runs the plugin's PHP in a small stand-in for WordPress and WooCommerce."""

import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

from productrecs.http.routes.public.shop_module_downloads import build_opencart_archive
from tests.support.project import ROOT
from tests.support.service import HOST, Merchant, Service, free_port

PLUGIN: Final = ROOT / "plugin"
FAKE: Final = Path(__file__).parent / "fake" / "shop.php"
FAKE_MODULE: Final = Path(__file__).parent / "fake" / "shop_module.php"
MODULE_SERVICE: Final = "https://recs.example.com"
SECONDS: Final = 60
BARE: Final = ("-n",)
"""Without php.ini: no extension that a shop may lack, such as mbstring, is loaded."""


def address(service: Service) -> str:
    """Return where a service answers."""
    return f"http://{HOST}:{service.port}"


def nowhere() -> str:
    """Return an address at which nothing answers."""
    return f"http://{HOST}:{free_port()}"


def php() -> str:
    """Return the interpreter; skip the test, loudly, where there is none."""
    program = shutil.which("php")
    if program is None:
        pytest.skip("PHP is not installed: apt-get install php-cli")
    return program


def run_php(script: str, options: tuple[str, ...] = BARE) -> str:
    """Run a script and return what it printed; its warnings are failures."""
    done = subprocess.run(
        [php(), *options, "-d", "display_errors=stderr", "-d", "error_reporting=-1"],
        input=f"<?php {script}",
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def php_value(value: object) -> str:
    """Return PHP that evaluates to a value: it travels as JSON."""
    quoted = "'" + json.dumps(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"json_decode({quoted}, true)"


def in_shop(script: str, address: str, merchant: Merchant | None = None, **php: str) -> Any:
    """Run a script in a connected shop; return its `$result`, from JSON.

    `before` runs before the plugin is loaded, `settings` is PHP for the shop's settings.
    """
    keys = ("pk_x", "sk_x")
    if merchant is not None:
        keys = (merchant.account.publishable, merchant.account.secret)
    printed = run_php(
        f"{php.get('before', '')} $host = 'shop.example'; $plugin = '{PLUGIN}';"
        f"require '{FAKE}'; connected('{address}', '{keys[0]}', '{keys[1]}', "
        f"{php.get('settings', 'array()')}); open_plugin(); {script} echo json_encode($result);"
    )
    return json.loads(printed)


def unpacked_core(folder: Path) -> Path:
    """Unpack the PHP that modules of other shop systems share; return its folder."""
    with zipfile.ZipFile(io.BytesIO(build_opencart_archive(MODULE_SERVICE))) as archive:
        archive.extractall(folder)
    return folder / "core"


def in_module(
    core: Path,
    script: str,
    merchant: Merchant | None = None,
    url: str = "",
    fake: Path = FAKE_MODULE,
) -> Any:
    """Run a script in a shop, connected if a merchant is given; return its `$result`."""
    connected = ""
    if merchant is not None:
        account = merchant.account
        connected = f"connect('{url}', '{account.publishable}', '{account.secret}');"
    printed = run_php(
        f"namespace ProductRecs; $core = '{core}'; require '{fake}'; $result = null;"
        f"{script.replace('CONNECT;', connected)} echo json_encode($result);"
    )
    return json.loads(printed)
