"""Plugin translations: current, complete, with the same placeholders, and compiled."""

import gettext
import io
import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from productrecs.http.routes.public.woocommerce_plugin_download import (
    build_woocommerce_archive,
)
from productrecs.http.routes.public.wordpress_translations import parse_po_file
from tests.plugin.shop import PLUGIN
from tools.plugin_strings import TEMPLATE, template

LANGUAGES = PLUGIN / "languages"
CATALOGS = sorted(LANGUAGES.glob("*.po"))
PLACEHOLDER = re.compile(r"%(?:\d\$)?[sd]")
SAME = {"Type"}  # words that two languages share


@pytest.fixture(scope="module")
def archive() -> zipfile.ZipFile:
    return zipfile.ZipFile(
        io.BytesIO(build_woocommerce_archive("https://recs.example.com"))
    )


def test_the_template_has_every_string_of_the_plugin() -> None:
    assert TEMPLATE.read_text("utf-8") == template(PLUGIN)


@pytest.mark.parametrize("path", CATALOGS, ids=lambda path: path.stem)
def test_a_catalog_translates_every_string_with_its_placeholders(path: Path) -> None:
    wanted = {one.key: one for one in parse_po_file(TEMPLATE.read_text("utf-8"))}
    by_key = {one.key: one for one in parse_po_file(path.read_text("utf-8"))}

    assert by_key.keys() == wanted.keys()
    for key, entry in by_key.items():
        assert entry.translation, key
        assert not key or entry.translation != entry.text or entry.text in SAME
        placeholders = Counter(PLACEHOLDER.findall(entry.text))
        assert Counter(PLACEHOLDER.findall(entry.translation)) == placeholders, key
        assert entry.used_in == wanted[key].used_in


@pytest.mark.parametrize(
    ("locale", "text"),
    [("de_DE", "Verbinden"), ("de_AT", "Verbinden"), ("fr_FR", "Connecter")],
)
def test_the_archive_has_a_compiled_file_for_php(
    archive: zipfile.ZipFile, locale: str, text: str
) -> None:
    name = f"service-recommender/languages/service-recommender-{locale}.mo"
    compiled = gettext.GNUTranslations(io.BytesIO(archive.read(name)))

    assert compiled.gettext("Connect") == text
    assert compiled.gettext("not in the plugin") == "not in the plugin"
    assert compiled.pgettext("block keyword", "related") != "related"


def test_the_archive_has_a_json_file_for_the_blocks_script(
    archive: zipfile.ZipFile,
) -> None:
    folder = "service-recommender/languages/service-recommender"
    read = json.loads(archive.read(f"{folder}-fr_FR-product-recs-block.json"))
    messages = read["locale_data"]["messages"]

    assert messages["For the cart"] == ["Pour le panier"]
    assert "Connect" not in messages  # of PHP only
