"""Pinned widget builds: the pinned URL serves the build of its integrity hash."""

import base64
import gzip
import hashlib
import re

import pytest

from productrecs.http.routes.public.widget_scripts import (
    KINDS,
    PinnableScript,
    current_builds,
)
from tests.support.service import Merchant, Service

TAG = re.compile(
    r"<script async src=\"(?P<base>[^\"]*)"
    r"(?P<path>/widget/v1/_/(?P<kind>[a-z]+)\.\w+\.js)\""
    r"\s+integrity=\"sha384-(?P<digest>[^\"]+)\"\s+crossorigin=\"anonymous\""
    r" data-key=\"(?P<key>[^\"]*)\"></script>"
)
OLDER = PinnableScript("recs", b"(() => 'an older release')();\n")


def test_what_the_tag_names_is_what_is_there(merchant: Merchant, service: Service) -> None:
    domain, base = merchant.account.domain, "https://recs.example"
    guide = merchant.client.ask("GET", "/docs-md/widgets.md").body.decode()
    printed = service.run("embed", domain, "--pinned", "--base-url", f"{base}/")

    tags, guide_tags = list(TAG.finditer(printed)), list(TAG.finditer(guide))
    assert [tag["kind"] for tag in tags] == list(KINDS)
    assert {(tag["base"], tag["key"]) for tag in tags} == {
        (base, merchant.account.publishable)
    }
    assert [tag["digest"] for tag in tags] == [tag["digest"] for tag in guide_tags]
    for tag in tags:
        headers = {"origin": "https://shop.example", "accept-encoding": "gzip"}
        reply = merchant.client.ask("GET", tag["path"], None, headers)
        body = gzip.decompress(reply.body)
        assert base64.b64encode(hashlib.sha384(body).digest()).decode() == tag["digest"]
        assert reply.header("cache-control") == "public, max-age=31536000, immutable"
        assert reply.header("access-control-allow-origin") == "*"
        assert reply.header("cross-origin-resource-policy") == "cross-origin"
        assert b"pk_" not in body.replace(b"[data-key^=pk_]", b"")


def test_the_tags_of_a_store_name_its_scripts(merchant: Merchant, service: Service) -> None:
    domain = merchant.account.domain

    printed = service.run("embed", domain, "--base-url", "https://recs.example")

    sources = re.findall(
        r'<script async src="https://recs.example([^"]*)"></script>', printed
    )
    assert len(sources) == 3
    for source in sources:
        assert merchant.client.ask("GET", source).status == 200


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_a_build_of_an_earlier_release_stays(
    merchant: Merchant, service: Service, coding: str
) -> None:
    (service.folder / "builds" / f"{OLDER.name}.js").write_bytes(OLDER.body)

    headers = {"accept-encoding": coding}
    reply = merchant.client.ask("GET", f"/widget/v1/_/{OLDER.name}.js", None, headers)

    body = gzip.decompress(reply.body) if coding == "gzip" else reply.body
    assert (reply.status, body) == (200, OLDER.body)
    assert reply.header("cache-control") == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "name",
    [f"recs.{'0' * 20}", "recs", "recs.", "evil.0123456789abcdef0123", "..%2Fsecret", "_"],
)
def test_what_was_never_offered_is_not_there(
    merchant: Merchant, service: Service, name: str
) -> None:
    # Nor what somebody put there: its digest is not that of its name.
    (service.folder / "builds" / f"recs.{'0' * 20}.js").write_bytes(b"alert(1)")

    reply = merchant.client.ask("GET", f"/widget/v1/_/{name}.js")

    assert (reply.status, reply.json["code"]) in {
        (404, "build_unknown"),
        (404, "not_found"),
    }


def test_the_service_keeps_what_it_offers(merchant: Merchant, service: Service) -> None:
    assert merchant.client.ask("GET", "/health/ready").status == 200

    for build in current_builds().values():
        assert (service.folder / "builds" / f"{build.name}.js").read_bytes() == build.body


def test_the_tools_say_which_version_is_there(merchant: Merchant) -> None:
    reply = merchant.client.ask("GET", "/widget/v1/_/tools.js")

    assert reply.header("cache-control") == (
        "public, max-age=300, stale-while-revalidate=86400"
    )
    assert re.search(rb'\)\(\{"version":"[^"]+"\}\);\n$', reply.body)
