"""Is the archive what WordPress expects: deterministic, current, whole and without secrets?"""

import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from productrecs.http.routes.public.woocommerce_plugin_download import (
    build_woocommerce_archive,
)
from tests.plugin.shop import PLUGIN, in_shop, nowhere, php, run_php

BASE = "https://recs.example.com"
SOURCES = sorted(PLUGIN.rglob("*.php"))
MAIN = (PLUGIN / "service-recommender.php").read_text("utf-8")
README = (PLUGIN / "readme.txt").read_text("utf-8")
EVERYTHING = {
    path.relative_to(PLUGIN).as_posix(): path.read_text("utf-8") for path in SOURCES
}


def header(name: str) -> str:
    match = re.search(rf"^ \* {re.escape(name)}:\s+(.+)$", MAIN, re.MULTILINE)
    assert match, name
    return match[1]


def readme(name: str) -> str:
    match = re.search(rf"^{re.escape(name)}:\s+(.+)$", README, re.MULTILINE)
    assert match, name
    return match[1]


def test_the_same_address_gives_the_same_bytes() -> None:
    archive = build_woocommerce_archive(BASE)
    build_woocommerce_archive.cache_clear()

    assert build_woocommerce_archive(BASE) == archive
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        names = opened.namelist()
        assert names == sorted(names)
        assert {name.partition("/")[0] for name in names} == {"service-recommender"}
        assert {one.date_time for one in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        server = opened.read("service-recommender/server.php").decode()
    assert f"return '{BASE}';" in server
    assert set(EVERYTHING) < {name.partition("/")[2] for name in names}


def test_every_php_file_of_the_archive_is_valid(tmp_path: Path) -> None:
    with zipfile.ZipFile(
        io.BytesIO(build_woocommerce_archive("https://it's.example"))
    ) as archive:
        archive.extractall(tmp_path)
    files = sorted(tmp_path.rglob("*.php"))
    script = "$bad = array(); foreach (json_decode('%s') as $file) { exec('%s -l ' . escapeshellarg($file) . ' 2>&1', $said, $code); if ($code) { $bad[] = $said; } } echo json_encode($bad);"

    assert len(files) > 12
    assert (
        json.loads(run_php(script % (json.dumps([str(one) for one in files]), php()))) == []
    )


def test_no_file_uses_syntax_that_php_7_4_lacks() -> None:
    newer = re.compile(
        r"\?->|\bmatch\s*\(|^\s*enum\s|\breadonly (?:class|int|string|array)\b|^\s*#\["
        r"|function __construct\([^)]*\b(?:public|private|protected)\b"
        r"|\)\s*:\s*(?:static|mixed|never)\b|\bstr_(?:contains|starts_with|ends_with)\(",
        re.MULTILINE,
    )

    assert {
        name: newer.findall(text) for name, text in EVERYTHING.items() if newer.search(text)
    } == {}
    assert newer.search("$a?->b")


def test_header_readme_and_code_name_one_version() -> None:
    version = header("Version")

    assert readme("Stable tag") == version
    assert f"const VERSION = '{version}';" in MAIN
    assert (
        json.loads((PLUGIN / "blocks/recommendations/block.json").read_text())["version"]
        == version
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Requires PHP", "7.4"),
        ("Requires Plugins", "woocommerce"),
        ("Text Domain", "service-recommender"),
        ("License", "GPL-2.0-or-later"),
    ],
)
def test_the_header_says_what_wordpress_reads(name: str, value: str) -> None:
    assert header(name) == value


@pytest.mark.parametrize(
    "name", ["Requires at least", "Requires PHP", "License", "Tested up to"]
)
def test_readme_and_header_agree(name: str) -> None:
    assert readme(name) == header(name)


def test_the_readme_says_what_is_sent_where_and_which_versions_were_run() -> None:
    assert "== External services ==" in README
    assert "@@" not in README
    assert re.search(r"WooCommerce 8\.\d", README)
    assert re.search(r"WooCommerce 11\.\d", README)


@pytest.mark.parametrize("name", EVERYTHING)
def test_plugin_check_rules(name: str) -> None:
    text = EVERYTHING[name]
    code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)

    assert re.search(r"defined\( '(?:ABSPATH|WP_UNINSTALL_PLUGIN)' \) \|\| exit;", text)
    assert not re.search(
        r"\b(?:eval|extract|curl_init|file_get_contents|base64_decode)\(", code
    )
    assert "wp_safe_remote" not in code, "it refuses private addresses"
    assert not re.search(r"catch \( \\?(?:Exception|Error) ", code), "catch Throwable"
    assert not re.search(r"\b(?:get|update|add)_post_meta\( \$order", code), "not with HPOS"
    assert not re.search(r"echo (?:\$(?!html;|this)|__\()", code), "escape what is printed"
    for domain in re.findall(r"\b(?:__|_e|esc_html__|esc_attr__)\(.*?'([\w-]+)' \)", code):
        assert domain == "service-recommender"


def test_both_features_are_declared_by_their_exact_names() -> None:
    declared = re.findall(r"declare_compatibility\( '(\w+)', FILE, true \)", MAIN)

    assert declared == ["custom_order_tables", "cart_checkout_blocks"]


def test_every_action_of_the_screen_checks_nonce_and_permission() -> None:
    admin = EVERYTHING["includes/admin.php"]
    act = admin[admin.index("function act(") : admin.index("function connect(")]
    progress = admin[admin.index("function progress(") : admin.index("function screen(")]

    assert "check_admin_referer(" in act
    assert "check_ajax_referer(" in progress
    assert all("current_user_can( 'manage_woocommerce' )" in one for one in (act, progress))
    assert "Settings::secret()" not in admin


def test_a_page_of_a_shopper_loads_no_file_of_the_screens_or_the_api_client() -> None:
    loaded = in_shop("$result = array_map('basename', get_included_files());", nowhere())

    assert {"guard.php", "orders.php", "placements.php"} <= set(loaded)
    assert not {"admin.php", "panels.php", "api.php", "client.php"} & set(loaded)
