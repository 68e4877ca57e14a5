"""What do pages say to caches and browsers?"""

from __future__ import annotations

import pytest
from starlette.requests import Request

from productrecs.entrypoints.http.kept import has_already
from productrecs.entrypoints.http.public.pages import (
    document,
    page,
    wants_html,
)


def asking(**headers: str) -> Request:
    sent = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": sent})


def test_a_page_that_the_caller_has_is_not_sent_again() -> None:
    first = document(asking(), "text", "text/plain")

    again = document(asking(if_none_match=first.headers["etag"]), "text", "text/plain")
    changed = document(asking(if_none_match=first.headers["etag"]), "other", "text/plain")

    assert (again.status_code, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"] == "no-cache"
    assert (changed.status_code, changed.body) == (200, b"other")


@pytest.mark.parametrize("sent", ['"a"', 'W/"a"', '"b", "a"', "*"])
def test_a_tag_is_known_in_every_form(sent: str) -> None:
    assert has_already(sent, '"a"')


@pytest.mark.parametrize("sent", [None, "", '"b"', "a"])
def test_another_tag_is_not(sent: str | None) -> None:
    assert not has_already(sent, '"a"')


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", True),
        ("application/json, text/html", False),
        ("*/*", False),
        ("", False),
        ("image/png", False),
    ],
)
def test_browsers_get_pages_and_programs_get_json(accept: str, *, html: bool) -> None:
    assert wants_html(asking(accept=accept)) is html


def test_a_page_runs_nothing_and_loads_nothing_from_elsewhere() -> None:
    shown = page(asking(), "A <title>", "<main></main>")
    policy = shown.headers["content-security-policy"]
    html = bytes(shown.body).decode()

    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert "A &lt;title&gt;" in html
    assert "://" not in html
    assert shown.headers["x-content-type-options"] == "nosniff"
