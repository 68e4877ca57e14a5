"""Markdown rendering: a guide's page shows what its markdown says."""

import io
import re
import shutil
import subprocess
from html import unescape

import pytest
from PIL import Image

from productrecs.features.guides.developer_guide_index import GUIDES, Guide
from productrecs.features.guides.developer_guide_rendering import (
    PICTURES,
    GuideTexts,
    guide_source,
    read_guide_picture,
)
from productrecs.features.guides.markdown_html import (
    PLACEHOLDERS,
    GuideHeading,
    anchor_of,
    highlight_code_and_mark_placeholders,
    render_guide_html,
)
from productrecs.http.routes.public.developer_guide_tables import GUIDE_TABLES
from tests.support.guides import blocks


def test_headings_can_be_linked_to() -> None:
    page = render_guide_html("# A\n\n## Who is `who`?\n\n### key_missing\n")

    assert page.headings == (
        GuideHeading(2, "who-is-who", "Who is who?"),
        GuideHeading(3, "key_missing", "key_missing"),
    )
    assert '<h2 id="who-is-who">' in page.html


def test_an_anchor_is_made_as_code_hosts_make_it() -> None:
    assert anchor_of("422: it does not fit") == "422-it-does-not-fit"


def test_a_link_to_a_guide_leads_to_its_page() -> None:
    html = render_guide_html(
        "[a](errors.md#limits) [b](keys.md) [c](https://example.com/x.md)"
    ).html

    assert 'href="/guides/errors#limits"' in html
    assert 'href="/guides/keys"' in html
    assert 'href="https://example.com/x.md"' in html


def test_html_is_shown_and_scripts_are_no_links() -> None:
    html = render_guide_html("<script>x</script>\n\n[a](javascript:alert(1))\n").html

    assert "<script>" not in html
    assert "href" not in html


def test_a_wide_table_scrolls_by_itself() -> None:
    html = render_guide_html("| a | b |\n| --- | --- |\n| 1 | 2 |\n").html

    assert '<div class="table" tabindex="0"><table>' in html
    assert html.rstrip().endswith("</table></div>")


def test_a_block_keeps_its_language_and_loses_its_mark() -> None:
    assert '<code class="language-sh">' in render_guide_html("```sh run\nls\n```\n").html


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
    html = highlight_code_and_mark_placeholders(text, language)

    assert part in html
    assert plain(html) == text


@pytest.mark.parametrize("language", ["", "text", "no-such-language"])
def test_a_sample_of_no_known_language_is_plain_text(language: str) -> None:
    assert highlight_code_and_mark_placeholders("a < b\n", language) == "a &lt; b\n"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.slug)
def test_every_sample_keeps_its_text_and_its_placeholders(guide: Guide) -> None:
    text = LIBRARY.markdown_with_facts(guide.slug)
    html = render_guide_html(text).html
    samples = blocks(text)
    shown = re.findall(r"<pre[^>]*><code[^>]*>(.*?)</code></pre>", html, re.DOTALL)

    assert [plain(one) for one in shown] == [one.text for one in samples]
    for placeholder, name in PLACEHOLDERS.items():
        expected = sum(one.text.count(placeholder) for one in samples)
        marked = html.count(f'<span data-yours="{name}">{placeholder}</span>')
        assert marked == expected, placeholder


def test_the_address_of_the_service_stays_in_one_piece() -> None:
    html = render_guide_html("```sh\ncurl {base_url}/v1/items\n```\n").html

    assert "{base_url}/v1/items" in html


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.slug)
def test_every_php_sample_is_valid_php(guide: Guide) -> None:
    samples = [
        one.text
        for one in blocks(LIBRARY.markdown_with_facts(guide.slug))
        if one.language == "php"
    ]
    php = shutil.which("php")
    if not samples:
        return
    if php is None:
        pytest.skip("php is not installed")
    for sample in samples:
        done = subprocess.run(
            [php, "-n", "-l"], input=sample, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


SHOWN = re.compile(r"!\[([^\]]*)\]\(\{base_url\}/docs/([^)]+)\)")
USES = [found for guide in GUIDES for found in SHOWN.findall(guide_source(guide))]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_its_declared_size_and_is_small(name: str) -> None:
    data = read_guide_picture(name)

    assert Image.open(io.BytesIO(data)).size == PICTURES[name]
    assert len(data) < 50_000


def test_every_picture_is_shown_and_described() -> None:
    assert {name for _, name in USES} == PICTURES.keys()
    assert all(len(words) > 20 for words, _ in USES)


def test_a_picture_reserves_its_place_and_comes_from_this_service() -> None:
    html = render_guide_html("![A look]({base_url}/docs/look.webp)").html

    assert 'src="/docs/look.webp"' in html
    assert 'width="868" height="674"' in html
