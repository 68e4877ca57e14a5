"""Widget scripts (interface 4.4): content, caching, and unknown stores."""

import gzip
import json
import re
from typing import Final

import pytest

from tests.support.service import Merchant, Reply

KINDS: Final = ("", "search-", "look-")
CODED: Final = {"accept-encoding": "br;q=0, gzip;q=0.8"}


def ask(merchant: Merchant, kind: str = "", domain: str = "", **headers: str) -> Reply:
    target = f"/widget/v1/{kind}{domain or merchant.account.domain}.js"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return merchant.client.ask("GET", target, None, sent)


@pytest.mark.parametrize("kind", KINDS)
def test_a_script_may_be_put_on_any_page_and_kept_for_a_while(
    merchant: Merchant, kind: str
) -> None:
    reply = ask(merchant, kind, origin="https://shop.example")

    assert reply.status == 200
    assert reply.header("content-type") == "text/javascript; charset=utf-8"
    assert (
        reply.header("cache-control") == "public, max-age=300, stale-while-revalidate=86400"
    )
    assert reply.header("access-control-allow-origin") == "*"
    assert reply.header("cross-origin-resource-policy") == "cross-origin"
    assert reply.header("x-content-type-options") == "nosniff"
    assert reply.header("vary") == "Accept-Encoding"


@pytest.mark.parametrize("kind", KINDS)
def test_it_knows_its_stores_key_and_no_secret(
    merchant: Merchant, other: Merchant, kind: str
) -> None:
    text = ask(merchant, kind).body.decode()

    (settings,) = re.findall(r"\)\((\{[^()]*\})\);\n$", text)
    assert json.loads(settings)["key"] == merchant.account.publishable
    assert "sk_" not in text
    assert other.account.publishable not in text
    assert ask(other, kind).body.decode() == text.replace(
        merchant.account.publishable, other.account.publishable
    )


def test_compressed_it_is_the_same_and_less_than_half_as_large(merchant: Merchant) -> None:
    plain, coded = ask(merchant), ask(merchant, **CODED)

    assert plain.header("content-encoding") is None
    assert coded.header("content-encoding") == "gzip"
    assert gzip.decompress(coded.body) == plain.body
    assert len(coded.body) * 2.2 < len(plain.body)
    assert plain.header("etag") != coded.header("etag")


@pytest.mark.parametrize(
    ("wanted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("br;q=1.0, gzip;q=0.8", "br"),
        ("br;q=0.0, gzip", "gzip"),
        ("gzip", "gzip"),
        ("brr, identity", None),
        ("", None),
    ],
)
def test_the_best_coding_that_the_browser_reads_is_sent(
    merchant: Merchant, wanted: str, coding: str | None
) -> None:
    reply = ask(merchant, accept_encoding=wanted)

    assert reply.header("content-encoding") == coding
    assert reply.header("vary") == "Accept-Encoding"


@pytest.mark.parametrize("coding", ["identity", "gzip", "br"])
def test_a_cached_script_is_answered_304_without_a_body(
    merchant: Merchant, coding: str
) -> None:
    tag = ask(merchant, accept_encoding=coding).header("etag") or ""

    again = ask(merchant, accept_encoding=coding, if_none_match=tag)
    other = ask(merchant, accept_encoding=coding, if_none_match='"something-else"')

    assert (again.status, again.body) == (304, b"")
    assert again.header("etag") == tag
    assert again.header("cache-control") == other.header("cache-control")
    assert (other.status, other.header("etag")) == (200, tag)


@pytest.mark.parametrize(
    "domain", ["nobody.example", "%22);alert(1)", "%E2%80%A8.example", "search-a", "a b"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_store_gets_a_script_that_says_so(
    merchant: Merchant, kind: str, domain: str
) -> None:
    reply = ask(merchant, kind, domain.replace(" ", "%20"), origin="https://shop.example")

    assert reply.status == 404
    assert reply.header("content-type") == "text/javascript; charset=utf-8"
    assert reply.header("cache-control") == "no-store"
    assert reply.header("access-control-allow-origin") == "*"
    warning = re.fullmatch(rb"console\.warn\((\"[\x20-\x7e]*\")\);\n", reply.body)
    assert warning is not None
    assert json.loads(warning[1]).startswith("ProductRecs: there is no store")


def test_a_pages_own_tag_gets_the_hint_in_a_way_that_runs(merchant: Merchant) -> None:
    hint = ask(merchant, "", "nobody.example")

    run = ask(merchant, "", "nobody.example", sec_fetch_dest="script")
    looked_at = ask(merchant, "", "nobody.example", sec_fetch_dest="document")

    assert (run.status, looked_at.status, run.body) == (200, 404, hint.body)
    assert run.header("vary") == hint.header("vary") == "Sec-Fetch-Dest"


def test_the_domain_is_found_in_any_spelling(merchant: Merchant) -> None:
    domain = merchant.account.domain

    assert ask(merchant, "", domain.upper()).body == ask(merchant).body
    assert merchant.client.ask("GET", f"/widget/v1/{domain}").status == 404
