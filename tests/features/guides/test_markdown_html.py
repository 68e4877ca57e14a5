"""Markdown rendering: a guide's page shows what its markdown says."""

from __future__ import annotations

from productrecs.features.guides.markdown_html import Heading, anchor_of, render_markdown


def test_headings_can_be_linked_to() -> None:
    page = render_markdown("# A\n\n## Who is `who`?\n\n### key_missing\n")

    assert page.headings == (
        Heading(2, "who-is-who", "Who is who?"),
        Heading(3, "key_missing", "key_missing"),
    )
    assert '<h2 id="who-is-who">' in page.html


def test_an_anchor_is_made_as_code_hosts_make_it() -> None:
    assert anchor_of("422: it does not fit") == "422-it-does-not-fit"


def test_a_link_to_a_guide_leads_to_its_page() -> None:
    html = render_markdown(
        "[a](errors.md#limits) [b](keys.md) [c](https://example.com/x.md)"
    ).html

    assert 'href="/guides/errors#limits"' in html
    assert 'href="/guides/keys"' in html
    assert 'href="https://example.com/x.md"' in html


def test_html_is_shown_and_scripts_are_no_links() -> None:
    html = render_markdown("<script>x</script>\n\n[a](javascript:alert(1))\n").html

    assert "<script>" not in html
    assert "href" not in html


def test_a_wide_table_scrolls_by_itself() -> None:
    html = render_markdown("| a | b |\n| --- | --- |\n| 1 | 2 |\n").html

    assert '<div class="table" tabindex="0"><table>' in html
    assert html.rstrip().endswith("</table></div>")


def test_a_block_keeps_its_language_and_loses_its_mark() -> None:
    assert '<code class="language-sh">' in render_markdown("```sh run\nls\n```\n").html
