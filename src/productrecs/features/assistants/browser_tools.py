"""Browser tools: what assistants in a shopper's browser may do in a shop's pages (WebMCP).

The widgets offer the tools to the browser; they make the calls of the shop's own pages.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

BROWSER: Final = "browser"
"""Stands for all assistants in shoppers' browsers, which do not say which one they are."""


class BrowserTool(StrEnum):
    """A tool that calls this service, by its name in the browser."""

    SEARCH = "search"
    RECOMMEND = "recommend"
