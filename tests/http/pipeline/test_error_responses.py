"""Error responses: every expected error that reaches a caller has a status."""

import importlib
import json
import pkgutil
import random
from collections.abc import Iterator

import pytest

import productrecs
from productrecs.core.errors import ProductRecsError
from productrecs.http.pipeline.error_responses import ERROR_CODES, error_code_of
from productrecs.http.transport.error_body import (
    INTERNAL_ERROR,
    JSON,
    PROBLEM_JSON,
    ErrorCode,
    FailedRequest,
    build_error_body,
    random_retry_after,
)
from productrecs.schemas.validation_errors import InvalidInputError

# What only a command line, a start or a background job meets: never a request.
ELSEWHERE = (
    "productrecs.cli.",
    "productrecs.dashboard.",  # its own error page tells them
    "productrecs.mail",  # shown by the dashboard
    "productrecs.records.uploads.file_import",  # likewise
    "productrecs.tenancy.users.access_tokens",  # likewise
    "productrecs.training.search.index_in_another_language",  # likewise
    "productrecs.worker.",
    "productrecs.settings",
    "productrecs.core.outbound_http",  # requests in the background
    "productrecs.features.webhooks.",  # shown by the dashboard
    "productrecs.features.imports.",  # shown by the commands and the dashboard
    "productrecs.features.looks.look",  # the command line changes them
    "productrecs.features.search.search_rules",  # likewise
    "productrecs.features.search.relevance.query_set",  # told by the dashboard
    "productrecs.records.catalog.item_filters",  # told as a 422 by the routes
    "productrecs.records.catalog.price_lists",  # likewise, but one error of a push
    "productrecs.records.experiments.experiment.ExperimentError",  # likewise
    "productrecs.engines.demand.",  # forecasting at night
    "productrecs.records.pictures.fetch_picture",  # fetching in the background
    "productrecs.records.pictures.onnx_model_file",  # at a start
    "productrecs.records.pictures.decode_picture",  # 422 by the routes
    "productrecs.storage.backup.backup_archive",
    "productrecs.storage.backup.create_backup",
    "productrecs.storage.backup.restore_backup",
    "productrecs.storage.files.model_files",
    "productrecs.worker.scheduled_backups",  # on the command line and by the worker
    "productrecs.storage.sql.removed_rows",  # shown on the dashboard's page
    "productrecs.storage.files.object_store.MissingObjectError",  # has another way
    "productrecs.storage.files.object_store.ObjectStoreAddressError",  # at a start
    "productrecs.services.ForeignObjectsError",  # purging, and doctor
    "productrecs.worker.scheduled_backups",  # on the command line and by the worker
    "productrecs.storage.sql.removed_rows",  # told by the dashboard
    "productrecs.storage.files.object_store_snapshots",  # fetching in the background
    "productrecs.records.catalog.availability",  # told as a 422 by the schema
    "productrecs.core.iso_dates",  # likewise
    "productrecs.records.merchandising.",  # changed on the command line
    "productrecs.records.sales_calendar.",  # likewise, and by the dashboard
    "productrecs.records.suppliers.",  # likewise
    "productrecs.records.purchase_orders.",  # likewise
    "productrecs.training.installed_models",  # on the command line
    "productrecs.records.placements.",  # likewise
    "productrecs.records.orders.",  # reading a CSV
    "productrecs.records.uploads.order_upload",
    "productrecs.records.uploads.undo.",  # shown on the dashboard's page
    "productrecs.tenancy.accounts.",  # registering and changing a store
    "productrecs.tenancy.users.",
    "productrecs.tenancy.billing.plans_and_subscriptions.PlansError",  # at a start
    "productrecs.tenancy.billing.plans_and_subscriptions.UnknownPlanError",  # choosing one
)


def every_error(kind: type[ProductRecsError]) -> Iterator[type[ProductRecsError]]:
    for below in kind.__subclasses__():
        yield below
        yield from every_error(below)


def test_every_error_that_a_request_can_meet_has_its_status() -> None:
    for module in pkgutil.walk_packages(productrecs.__path__, "productrecs."):
        if ".migrations." not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    forgotten = [
        f"{kind.__module__}.{kind.__name__}"
        for kind in set(every_error(ProductRecsError))
        if kind.__module__.startswith("productrecs.")
        and not f"{kind.__module__}.{kind.__name__}".startswith(ELSEWHERE)
        and kind is not InvalidInputError
        and error_code_of(kind.__new__(kind)) is INTERNAL_ERROR
    ]

    assert forgotten == []


def test_an_unknown_error_is_ours() -> None:
    class UnheardOfError(ProductRecsError):
        pass

    assert error_code_of(UnheardOfError("?")) is INTERNAL_ERROR


@pytest.mark.parametrize("kind", ERROR_CODES)
def test_codes_are_for_programs(kind: type[ProductRecsError]) -> None:
    error_code = ERROR_CODES[kind]

    assert error_code.code.replace("_", "").isalpha()
    assert error_code.code.islower()
    body = json.loads(
        build_error_body(
            error_code, "why", FailedRequest("r-1", "https://recs.example")
        ).body
    )
    assert body == {
        "detail": "why",
        "code": error_code.code,
        "doc_url": f"https://recs.example/docs-md/errors.md#{error_code.code}",
        "request_id": "r-1",
    }


def test_retries_are_spread_over_some_seconds() -> None:
    chance = random.Random(7)  # noqa: S311 - spreads retries, guards nothing

    assert {random_retry_after(chance) for _ in range(200)} == {
        b"1",
        b"2",
        b"3",
        b"4",
        b"5",
    }


@pytest.mark.parametrize(
    ("accept", "is_problem"),
    [
        (b"", False),
        (b"application/json", False),
        (b"*/*", False),
        (b"application/problem+json", True),
        (b"application/json, Application/Problem+JSON; q=0.5", True),
        (b"application/problem+json;q=0, application/json", False),
        (b"application/problem+json-seq", False),
    ],
)
def test_who_asks_for_problems_gets_them(accept: bytes, is_problem: bool) -> None:  # noqa: FBT001 - a parameter
    request = FailedRequest("r-1", "https://recs.example", "/v1/items", accept)

    reply = build_error_body(ErrorCode(402, "plan_limit_catalog"), "too many", request)

    body = json.loads(reply.body)
    assert reply.content_type == (PROBLEM_JSON if is_problem else JSON)
    assert {"detail", "code", "doc_url", "request_id"} <= set(body)
    assert (body.get("type") == body["doc_url"]) is is_problem
    if is_problem:
        assert body["title"] == "Payment Required"
        assert (body["status"], body["instance"]) == (402, "/v1/items")
