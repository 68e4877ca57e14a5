"""Tests: /integration/tests lists, adds, starts and ends tests of variants."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response

from productrecs.http.openapi_responses import (
    documented_request_body,
    error_responses,
    object_schema,
    success_response,
    titled,
)
from productrecs.http.pipeline.json_responses import json_reply
from productrecs.http.pipeline.route_declaration import SECRET, Routes
from productrecs.http.routes.integration.call_body_and_transaction import (
    change_in_transaction,
    read_json_body,
)
from productrecs.records.experiments.experiment import Experiment, ExperimentError
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.schemas.integration import (
    ExperimentActionBody,
    ExperimentBody,
    parse_experiment_action,
    parse_experiment_name_and_content,
)
from productrecs.schemas.validation_errors import InvalidInputError, ValidationProblem
from productrecs.storage.sql.group_commit import WriteTransaction

if TYPE_CHECKING:
    from productrecs.http.pipeline.route_context import RequestContext

routes = Routes("integration")

_NEW: Final = {
    "name": "page-size",
    "placement": "product-page-1",
    "goal": "revenue",
    "variants": [{"name": "four", "share": 50, "changes": {"num": 4}}],
}
_EXAMPLE: Final = {
    **_NEW,
    "state": "running",
    "control": 50,
    "winner": None,
    "created_at": "2026-11-26T09:00:00.000Z",
    "started_at": "2026-11-26T09:05:00.000Z",
    "ended_at": None,
}
_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_NUMBER: Final = {"type": "number"}
_VARIANT: Final = titled(
    "StoredVariant",
    object_schema(name=_TEXT, share=_NUMBER, changes={"type": "object"}),
)
_SCHEMA: Final = titled(
    "StoredTest",
    object_schema(
        name=_TEXT,
        goal=_TEXT,
        state={"type": "string", "enum": ["draft", "running", "paused", "ended"]},
        control=_NUMBER,
        variants={"type": "array", "items": _VARIANT},
        created_at=_TEXT,
    ),
)
_SCHEMA["properties"] |= dict.fromkeys(
    ("placement", "winner", "started_at", "ended_at"), _TEXT_OR_NULL
)
_REPLY: Final = success_response("The test.", _SCHEMA, _EXAMPLE)
_REFUSALS: Final = (401, 402, 413, 415, 422, 503)


@routes.get(
    "/integration/tests",
    SECRET,
    summary="List the tests of placements and of search",
    responses=success_response(
        "Every test, the newest first.",
        object_schema(tests={"type": "array", "items": _SCHEMA}),
        {"tests": [_EXAMPLE]},
    )
    | error_responses(401, 503),
)
async def list_tests(request: Request) -> Response:
    """Return every test; its result is the report `experiment` with its name."""
    exchange: RequestContext = request.scope["productrecs"]
    stored = await asyncio.to_thread(_editor(exchange).all)
    return json_reply({"tests": [experiment.as_fields() for experiment in stored]})


@routes.post(
    "/integration/tests",
    SECRET,
    summary="Add a test of variants of a placement or of search",
    responses=_REPLY | error_responses("placement_unknown", *_REFUSALS),
    openapi_extra=documented_request_body(
        ExperimentBody, {"four products on a page": _NEW}
    ),
)
async def add_test(request: Request) -> Response:
    """Add a test as a draft. Shoppers outside its variants are the control."""
    exchange: RequestContext = request.scope["productrecs"]
    name, content = parse_experiment_name_and_content(await read_json_body(request))
    editor = _editor(exchange)
    return await _change_test_and_reply(
        exchange, lambda work: editor.add_in_transaction(work, name, content)
    )


@routes.put(
    "/integration/tests",
    SECRET,
    summary="Start, pause, stop or remove a test, or choose its winner",
    responses=_REPLY | error_responses("placement_unknown", "test_unknown", *_REFUSALS),
    openapi_extra=documented_request_body(
        ExperimentActionBody,
        {
            "start": {"name": "page-size", "action": "start"},
            "choose": {"name": "page-size", "action": "choose", "variant": "four"},
        },
    ),
)
async def change_test(request: Request) -> Response:
    """Start a draft, pause, stop or remove a test, or end it with a winner.

    The changes of a chosen variant become those of the placement, or of the store's
    settings of search. Every reply follows within a second.
    """
    exchange: RequestContext = request.scope["productrecs"]
    sent = parse_experiment_action(await read_json_body(request))
    editor = _editor(exchange)
    return await _change_test_and_reply(
        exchange,
        lambda work: editor.act_in_transaction(work, sent.name, sent.action, sent.variant),
    )


def _editor(exchange: "RequestContext") -> ExperimentEditor:
    context, store = exchange.context, exchange.known_caller.store
    return ExperimentEditor(context.services.database, store, context.clock, "API")


async def _change_test_and_reply(
    exchange: "RequestContext", action: Callable[[WriteTransaction], Experiment]
) -> Response:
    try:
        changed = await change_in_transaction(exchange, action)
    except ExperimentError as error:
        problem = ValidationProblem(("body", error.field), str(error), "value_error")
        raise InvalidInputError([problem]) from error
    await exchange.context.refresh_accounts()
    return json_reply(changed.as_fields())
