"""Browser assistant calls: counts the calls of assistants in shoppers' browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Query

from productrecs.features.assistants.browser_tools import BROWSER, BrowserTool
from productrecs.features.assistants.repository import AssistantCall
from productrecs.http.pipeline.fast_query_reader import BLANK_IS_FALSE

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

ASSISTANT: Final = "assistant"
"""The parameter; no fast handler answers calls that have it."""

AssistantQuery = Annotated[
    bool,
    BLANK_IS_FALSE,
    Query(
        description=(
            "The call is that of an assistant in the shopper's browser: the reply is the "
            "same, and the dashboard counts it, if the store allows such assistants."
        ),
        examples=[True],
    ),
]


def count_browser_assistant_call_if_allowed(
    exchange: RequestContext, tool: BrowserTool
) -> None:
    """Count an answered call of a tool, if the store allows assistants in browsers."""
    store, context = exchange.known_caller.store, exchange.context
    if store.settings.browser_assistants:
        call = AssistantCall.of(store.store_id, tool, BROWSER, context.clock())
        context.write_client.write_later(call)
