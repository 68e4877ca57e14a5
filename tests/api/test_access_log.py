"""Access log and refusals: a line names the error of its reply."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from productrecs.application import create_application
from productrecs.http.dispatch.dispatcher import Dispatcher
from productrecs.services import build_services
from productrecs.settings import Settings
from tests.api.inside import Inside
from tests.support.service import Account, Service


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Inside, Account]]:
    place = Service(tmp_path_factory.mktemp("data")).prepare()
    account = place.register().account
    application = create_application(
        build_services(Settings(data=Path(place.folder))), draining=[]
    )
    application.logs_requests = True
    with Inside(application) as inside:
        yield inside, account


@pytest.mark.parametrize(
    ("target", "body", "status", "error"),
    [
        ("/v1/trending?key={key}", None, 200, None),
        ("/v1/trending", None, 401, ("key_missing", None)),
        ("/v1/trending?key={key}&num=x", None, 422, ("int_parsing", "query.num")),
        ("/v1/events?key={key}", b"[", 422, ("json_invalid", "body.1")),
        ("/v1/events?key={key}", b"{}", 422, ("missing", "body.event")),
        ("/nothing", None, 404, ("not_found", None)),
        ("/docs-md/nothing.md", None, 404, ("guide_unknown", None)),
    ],
)
def test_a_line_has_the_errors_code_and_the_field_of_a_422(
    shop: tuple[Inside, Account],
    caplog: pytest.LogCaptureFixture,
    target: str,
    body: bytes | None,
    status: int,
    error: tuple[str, str | None] | None,
) -> None:
    inside, account = shop
    with caplog.at_level(logging.INFO, "productrecs"):
        reply = inside.ask(
            "GET" if body is None else "POST",
            target.format(key=account.publishable),
            body,
        )

    line = next(one for one in caplog.records if one.msg == "request answered")
    fields = vars(line)
    assert (reply.status, fields["status"]) == (status, status)
    assert ("code" in fields) is (error is not None)
    assert (fields.get("code"), fields.get("field")) == (error or (None, None))


def test_without_the_access_log_a_kind_of_refusal_has_one_line_a_minute(
    shop: tuple[Inside, Account], caplog: pytest.LogCaptureFixture
) -> None:
    inside, account = shop
    application = inside.application
    assert isinstance(application, Dispatcher)
    targets = ("/v1/looks?key={key}&num=x", "/v1/search", "/v1/search?key={key}&num=x")
    application.logs_requests = False
    try:
        with caplog.at_level(logging.INFO, "productrecs"):
            for target in (*targets * 3, "/none"):
                inside.ask("GET", target.format(key=account.publishable))
    finally:
        application.logs_requests = True

    lines = [vars(one) for one in caplog.records if one.msg == "request refused"]
    assert [(one["path"], one["status"]) for one in lines] == [
        ("/v1/looks", 422),
        ("/v1/search", 401),
        ("/v1/search", 422),
    ]
    assert [one["store"] is None for one in lines] == [False, True, False]
