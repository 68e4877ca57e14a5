"""Highlighting of samples: the text is unchanged, and placeholders are found."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape

import pytest

from productrecs.entrypoints.http.routes.public.guide_tables import GUIDE_TABLES
from productrecs.features.guides.guide_texts import GuideTexts
from productrecs.features.guides.highlighting import PLACEHOLDERS, highlighted
from productrecs.features.guides.markdown_html import render_markdown
from productrecs.features.guides.table_of_contents import GUIDES, Guide
from tests.support.guides import blocks

LIBRARY = GuideTexts(GUIDE_TABLES)
TAG = re.compile(r"<[^>]+>")


def plain(html: str) -> str:
    return unescape(TAG.sub("", html))


@pytest.mark.parametrize(
    ("language", "text", "part"),
    [
        ("sh", "curl -s 'a' # why\n", '<span class="c1"># why</span>'),
        ("json", '{"ok": true}\n', '<span class="kc">true</span>'),
        ("html", '<p id="a">&amp;</p>\n', '<span class="nt">p</span>'),
        ("php", "<?php\nreturn 1;\n", '<span class="k">return</span>'),
    ],
)
def test_a_sample_is_highlighted_by_its_language(
    language: str, text: str, part: str
) -> None:
    html = highlighted(text, language)

    assert part in html
    assert plain(html) == text


@pytest.mark.parametrize("language", ["", "text", "no-such-language"])
def test_a_sample_of_no_known_language_is_plain_text(language: str) -> None:
    assert highlighted("a < b\n", language) == "a &lt; b\n"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.slug)
def test_every_sample_keeps_its_text_and_its_placeholders(guide: Guide) -> None:
    text = LIBRARY.text(guide.slug)
    html = render_markdown(text).html
    samples = blocks(text)
    shown = re.findall(r"<pre[^>]*><code[^>]*>(.*?)</code></pre>", html, re.DOTALL)

    assert [plain(one) for one in shown] == [one.text for one in samples]
    for placeholder, name in PLACEHOLDERS.items():
        expected = sum(one.text.count(placeholder) for one in samples)
        marked = html.count(f'<span data-yours="{name}">{placeholder}</span>')
        assert marked == expected, placeholder


def test_the_address_of_the_service_stays_in_one_piece() -> None:
    html = render_markdown("```sh\ncurl {base_url}/v1/items\n```\n").html

    assert "{base_url}/v1/items" in html


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.slug)
def test_every_php_sample_is_valid_php(guide: Guide) -> None:
    samples = [
        one.text for one in blocks(LIBRARY.text(guide.slug)) if one.language == "php"
    ]
    php = shutil.which("php")
    if not samples:
        return
    if php is None:
        pytest.skip("php is not installed")
    for sample in samples:
        done = subprocess.run(
            [php, "-l"], input=sample, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
