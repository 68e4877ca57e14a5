"""Syntax highlighting of code samples: HTML with the token classes of Pygments.

The page's stylesheet gives the classes their colours. The values that a reader replaces
are marked, so that the page's script can fill in the reader's own.
"""

import re
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Final

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

PLACEHOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {"pk_...": "key", "$PK": "key", "shop.example.com": "shop"}
)
_PLACEHOLDER: Final = re.compile("|".join(re.escape(one) for one in PLACEHOLDERS))
_FORMATTER: Final = HtmlFormatter(nowrap=True)


def highlighted(code: str, language: str) -> str:
    """Return a code sample as HTML; plain text where the language is not known."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        html = escape(code, quote=False)
    else:
        html = highlight(code, lexer, _FORMATTER)
    return _PLACEHOLDER.sub(_marked, html)


def _marked(found: re.Match[str]) -> str:
    text = found.group()
    return f'<span data-yours="{PLACEHOLDERS[text]}">{text}</span>'
