"""HTML text: the plain text of descriptions and titles that may be HTML."""

import html
import re
from typing import Final

_TAG: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)")
_BREAKING: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "caption", "dd", "details"),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1"),
        *("h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p"),
        *("pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead"),
        *("tr", "ul"),
    }
)
_HIDDEN_ELEMENTS: Final = frozenset(
    ("script", "style", "template", "noscript", "iframe", "object")
)
_BLANKS: Final = re.compile(r"[^\S\n]+")
_BREAK: Final = "\x1e"  # placeholder of a tag's line break; no text contains it
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def html_to_text(markup: str) -> str:
    """Return a description as plain text, whether it is HTML or not.

    Tags are removed, blocks and line breaks become lines, scripts and styles are
    dropped with their content, entities become their characters. `5 < 6` stays.
    """
    if "<" not in markup and "&" not in markup:
        return _collapse_blanks(markup)
    parts: list[str] = []
    at = 0
    while (tag_start := markup.find("<", at)) >= 0:
        parts.append(markup[at:tag_start])
        words, at = _tag_text_and_end(markup, tag_start)
        parts.append(words)
    parts.append(markup[at:])
    blocks = (block.strip() for block in html.unescape("".join(parts)).split(_BREAK))
    return _collapse_blanks("\n".join(block for block in blocks if block))


def html_to_title(markup: str) -> str:
    """Return a title: the text of its markup, on one line."""
    return " ".join(html_to_text(markup).split())


def _tag_text_and_end(markup: str, tag_start: int) -> tuple[str, int]:
    """Return the text that the tag at `tag_start` becomes, and where the text continues."""
    if markup.startswith("<!--", tag_start):
        return "", _index_after(markup, "-->", tag_start)
    tag = _TAG.match(markup, tag_start)
    if tag is None:
        if markup[tag_start + 1 : tag_start + 2] in ("!", "?"):
            return "", _index_after(markup, ">", tag_start)
        return "<", tag_start + 1
    name = tag.group(2).lower()
    after = _index_after(markup, ">", tag_start)
    if name in _HIDDEN_ELEMENTS and not tag.group(1):
        end = markup.find(f"</{name}", after)  # an unclosed element extends to the end
        return "", _index_after(markup, ">", end) if end >= 0 else len(markup)
    return (_BREAK if name in _BREAKING else ""), after


def _index_after(markup: str, end: str, start: int) -> int:
    found = markup.find(end, start)
    return len(markup) if found < 0 else found + len(end)


def _collapse_blanks(text: str) -> str:
    lines = [_BLANKS.sub(" ", line).strip() for line in text.split("\n")]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
