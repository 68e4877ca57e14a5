"""HTML responses: caching and security headers."""

import pytest
from starlette.requests import Request

from productrecs.http.pipeline.etag_responses import matches_etag
from productrecs.http.routes.public.page_response import (
    HTML,
    JSON,
    MARKDOWN,
    cacheable_response,
    html_page,
    preferred_media_type,
)


def asking(**headers: str) -> Request:
    sent = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": sent})


def test_a_page_that_the_caller_has_is_not_sent_again() -> None:
    first = cacheable_response(asking(), "text", "text/plain")

    again = cacheable_response(
        asking(if_none_match=first.headers["etag"]), "text", "text/plain"
    )
    changed = cacheable_response(
        asking(if_none_match=first.headers["etag"]), "other", "text/plain"
    )

    assert (again.status_code, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"] == "no-cache"
    assert (changed.status_code, changed.body) == (200, b"other")


@pytest.mark.parametrize("sent", ['"a"', 'W/"a"', '"b", "a"', "*"])
def test_a_tag_is_known_in_every_form(sent: str) -> None:
    assert matches_etag(sent, '"a"')


@pytest.mark.parametrize("sent", [None, "", '"b"', "a"])
def test_another_tag_is_not(sent: str | None) -> None:
    assert not matches_etag(sent, '"a"')


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", HTML),
        ("application/json, text/html", JSON),
        ("text/markdown, text/html, */*", MARKDOWN),
        ("text/html, text/markdown", HTML),
        ("text/html;q=0.5, text/markdown;q=0.9", MARKDOWN),
        ("Text/Markdown; Q=0.9, text/html;q=0.8", MARKDOWN),
        ("text/*", HTML),
        ("text/*;q=0.5, text/markdown", MARKDOWN),
        ("text/markdown;q=0, */*;q=0.1", JSON),
        ("text/markdown;q=0", JSON),
        ("*/*", JSON),
        ("", JSON),
        ("image/png", JSON),
        (";;,,q=", JSON),
    ],
)
def test_everybody_gets_the_form_that_they_would_have(accept: str, form: str) -> None:
    assert preferred_media_type(asking(accept=accept), (JSON, HTML, MARKDOWN)) == form


def test_a_page_runs_nothing_and_loads_nothing_from_elsewhere() -> None:
    shown = html_page(asking(), "A <title>", "<main></main>")
    policy = shown.headers["content-security-policy"]
    html = bytes(shown.body).decode()

    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert "A &lt;title&gt;" in html
    assert "://" not in html
    assert shown.headers["x-content-type-options"] == "nosniff"
