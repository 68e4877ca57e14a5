"""HTML text: what a person reads of a description, whatever its markup."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from productrecs.core.html_text import html_to_text, html_to_title


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("plain\ntext, two lines", "plain\ntext, two lines"),
        ("<p>One.</p><p>Two.</p>", "One.\nTwo."),
        ("<ul>\n <li>a</li>\n <li>b</li>\n</ul>", "a\nb"),
        ("<b>bold</b>er &amp; caf&eacute; &#128512;", "bolder & café 😀"),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("a<!-- not <b>seen</b> -->b", "ab"),
        ("a<script>if (a < b) { x() }</script>b<style>p{}</style>c", "abc"),
        ("a<script>never closed", "a"),
        ("a<br/>b<BR>c", "a\nb\nc"),
        ('<img src="x" onerror="alert(1)">picture', "picture"),
        ("<!DOCTYPE html><?php x ?>text", "text"),
        ("cut <b", "cut"),
        ("&lt;b&gt; stays", "<b> stays"),
        ("  many   blanks\t here \n\n\n\n end ", "many blanks here\n\nend"),
        ("", ""),
    ],
)
def test_a_description_is_what_a_person_reads(markup: str, text: str) -> None:
    assert html_to_text(markup) == text


@given(st.text(alphabet="<>!-/abp &;#\n\x1e", max_size=200))
def test_any_markup_has_a_text(markup: str) -> None:
    text = html_to_text(markup)

    assert text == text.strip()
    assert html_to_title(markup).count("\n") == 0


@pytest.mark.parametrize(
    "part", ["<", "<!--", "<script>", "<a ", "</", "&", "&#", " ", "\n", "<p>", "\x1e "]
)
def test_a_hostile_description_takes_no_time(part: str) -> None:
    markup = part * (100_000 // len(part))

    began = time.perf_counter()
    html_to_text(markup)
    price = time.perf_counter() - began

    assert price < 1
