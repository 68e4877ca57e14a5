"""HTML of a guide: its markdown rendered, with anchors, highlighting and its headings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from productrecs.features.guides.developer_guide_rendering import BASE, PICTURES

PLACEHOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {"pk_...": "key", "$PK": "key", "shop.example.com": "shop"}
)
_PLACEHOLDER: Final = re.compile("|".join(map(re.escape, PLACEHOLDERS)))
_FORMATTER: Final = HtmlFormatter(nowrap=True)


def highlight_code_and_mark_placeholders(code: str, language: str) -> str:
    """Return a code sample as HTML; plain text for an unknown language."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        html = escape(code, quote=False)
    else:
        html = highlight(code, lexer, _FORMATTER)
    return _PLACEHOLDER.sub(_mark_placeholder, html)


def _mark_placeholder(match: re.Match[str]) -> str:
    text = match.group()
    return f'<span data-yours="{PLACEHOLDERS[text]}">{text}</span>'


# Placeholder for the service's address during rendering: lexers would split `{base_url}`
# into tokens, and links would escape it.
_PLACEHOLDER_BASE: Final = "https://service.invalid"
_PICTURE: Final = f"{_PLACEHOLDER_BASE}/docs/"
_LINK: Final = re.compile(r"^([a-z-]+)\.md(#.*)?$")
_OUTLINED: Final = {"h2", "h3"}


@dataclass(frozen=True, slots=True)
class GuideHeading:
    """A heading that links can target."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class RenderedGuide:
    """A guide's HTML, and its headings in order."""

    html: str
    headings: tuple[GuideHeading, ...]


def render_guide_html(markdown: str) -> RenderedGuide:
    """Return the HTML of a guide: HTML in the markdown is shown as text."""
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _render_code_block})
    parser.enable("table")
    # A wide table scrolls, also by keyboard.
    opening = '<div class="table" tabindex="0"><table>\n'
    parser.add_render_rule("table_open", lambda *_arguments: opening)
    parser.add_render_rule("table_close", lambda *_arguments: "</table></div>\n")
    tokens = parser.parse(markdown.replace(BASE, _PLACEHOLDER_BASE))
    headings = tuple(_set_anchors_and_collect_headings(tokens))
    for token in tokens:
        if token.type == "fence":
            token.info = token.info.split(" ")[0]  # the tests use the rest, as in "sh run"
        for child in token.children or ():
            _link_to_guide_page(child)
            _set_picture_attributes(child)
    html: str = parser.renderer.render(tokens, parser.options, {})
    return RenderedGuide(html.replace(_PLACEHOLDER_BASE, BASE), headings)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, made as code hosts make it."""
    cleaned = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return cleaned.replace(" ", "-")


def _set_anchors_and_collect_headings(tokens: Sequence[Token]) -> list[GuideHeading]:
    headings = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            opening.attrSet("id", anchor_of(text))
            if opening.tag in _OUTLINED:
                headings.append(GuideHeading(int(opening.tag[1]), anchor_of(text), text))
    return headings


def _link_to_guide_page(token: Token) -> None:
    link = _LINK.match(str(token.attrGet("href") or ""))
    if token.type == "link_open" and link:
        token.attrSet("href", f"/guides/{link.group(1)}{link.group(2) or ''}")


def _set_picture_attributes(token: Token) -> None:
    """Set a picture's size, so that its loading does not shift the layout."""
    name = str(token.attrGet("src") or "").removeprefix(_PICTURE)
    if token.type == "image" and name in PICTURES:
        width, height = PICTURES[name]
        token.attrSet("src", f"/docs/{name}")
        token.attrSet("width", str(width))
        token.attrSet("height", str(height))
        token.attrSet("loading", "lazy")


def _render_code_block(code: str, language: str, _attributes: str) -> str:
    """Return a fenced code block; wide ones scroll, also by keyboard."""
    kind = f' class="language-{escape(language)}"' if language else ""
    html = highlight_code_and_mark_placeholders(code, language)
    return f'<pre tabindex="0"><code{kind}>{html}</code></pre>'
