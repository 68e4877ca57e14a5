"""CORS: the table of which origin may read which reply, row by row."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from productrecs.http.dispatch import admission
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import change_origins, find_store
from tests.api.inside import Inside, of_our_own
from tests.api.routes import TABLE, with_query
from tests.support.service import Merchant, Reply, Service, eventually

ANY: Final = "*"
ALLOW, VARY = "access-control-allow-origin", "vary"
LISTED: Final = (
    "https://shop.example",
    "https://www.shop.example:8443",
    "http://localhost:3000",
    "http://192.168.0.10",
    "http://[::1]:8080",
    "https://bücher.example",
    "HTTPS://Upper.Example:443",
)
# What a page of a listed origin sends: exactly this is echoed.
ECHOED: Final = (
    "https://shop.example",
    "https://www.shop.example:8443",
    "http://localhost:3000",
    "http://192.168.0.10",
    "http://[::1]:8080",
    "https://xn--bcher-kva.example",
    "https://upper.example",
)
REFUSED: Final = (
    "http://shop.example",  # another scheme
    "https://www.shop.example",  # another port
    "https://shop.example:443",  # never sent so by a browser
    "https://shop.example:8443",
    "https://www.shop.example:8444",
    "http://localhost",
    "http://localhost:3001",
    "https://localhost:3000",
    "http://127.0.0.1:3000",
    "https://shop.example/",
    "https://shop.example/page",
    "https://shop.example.",
    "https://SHOP.example",
    "HTTPS://shop.example",
    " https://shop.example.evil.example",
    "https://shop.example.evil.example",
    "https://evil-shop.example",
    "https://evilshop.example",
    "https://sub.shop.example",
    "https://shop.example@evil.example",
    "https://evil.example#https://shop.example",
    "https://shop.example https://evil.example",
    "https://shop.example,https://evil.example",
    "https://shop.examplé",
    "https://xn--bcher-kva.example.evil",
    "https://bucher.example",
    "https://upper.example:443",
    "http://upper.example",
    "shop.example",
    "//shop.example",
    "*",
    "null",
    "NULL",
    "",
    "file://",
    "chrome-extension://abcdefghijklmnop",
    "https://",
    "javascript:alert(1)",
    "http://[::1]",
)


@dataclass(frozen=True)
class Expected:
    """What a reply must say to browsers, and to caches between."""

    allow: str | None
    vary: bool


@dataclass(frozen=True)
class CorsRequest:
    """One way to ask, and the status that it gets."""

    status: int
    method: str
    target: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def ways(merchant: Merchant) -> list[CorsRequest]:
    """Return calls that end in every status a widget's page can meet."""
    key = f"key={merchant.account.publishable}"
    view = b'{"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}'
    return [
        CorsRequest(200, "GET", f"/v1/recommendations?{key}"),
        CorsRequest(200, "GET", f"/v1/trending?{key}"),
        CorsRequest(200, "POST", f"/v1/events?{key}", view),
        CorsRequest(
            200, "POST", f"/v1/orders?{key}", b'{"order_id":"A","items":[{"item_id":"a"}]}'
        ),
        CorsRequest(422, "GET", f"/v1/recommendations?num=0&{key}"),
        CorsRequest(422, "GET", f"/v1/trending?num=x&{key}"),
        CorsRequest(422, "POST", f"/v1/events?{key}", b"{"),
        CorsRequest(422, "POST", f"/v1/orders?{key}", b"{}"),
        CorsRequest(413, "POST", f"/v1/events?{key}", b'"' + b"x" * 70_000 + b'"'),
        CorsRequest(413, "POST", f"/v1/orders?{key}", b" " * 1_100_000),
        CorsRequest(415, "POST", f"/v1/events?{key}", view, {"content-encoding": "gzip"}),
        CorsRequest(415, "POST", f"/v1/orders?{key}", view, {"content-encoding": "br"}),
    ]


def seen(reply: Reply) -> Expected:
    """Return what a reply says; a header that comes twice is no header."""
    assert reply.header("access-control-allow-credentials") is None
    vary = reply.header(VARY)
    return Expected(reply.header(ALLOW), vary is not None and "origin" in vary.lower())


def wrong_rows(
    merchant: Merchant,
    origins: Mapping[str | None, Expected],
    requests: Iterable[CorsRequest],
) -> list[str]:
    """Return each row whose reply says something else."""
    wrong = []
    for one in requests:
        for origin, expected in origins.items():
            headers = dict(one.headers) | ({} if origin is None else {"origin": origin})
            reply = merchant.client.ask(one.method, one.target, one.body, headers)
            if reply.status != one.status or seen(reply) != expected:
                wrong.append(f"{one.method} {one.target} {origin!r}: {reply}")
    return wrong


def with_list() -> dict[str | None, Expected]:
    """Return every row of a store with an allowlist."""
    table: dict[str | None, Expected] = {
        origin: Expected(origin, vary=True) for origin in ECHOED
    }
    table |= {
        origin.encode().decode("latin-1"): Expected(None, vary=True) for origin in REFUSED
    }
    return table | {None: Expected(None, vary=True)}


@pytest.fixture
def careful(service: Service) -> Merchant:
    """Return a store that lists its origins."""
    merchant = service.register()
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        assert change_origins(database, store, add=LISTED) == set(ECHOED)
    closed = {Expected(None, vary=True)}
    there = service.everywhere(merchant)
    eventually(lambda: {seen(one.trending()) for one in there} == closed, 10)
    return merchant


def test_the_table_has_its_rows() -> None:
    assert len(ECHOED) + len(REFUSED) >= 40
    assert not set(ECHOED) & set(REFUSED)


def test_without_a_list_any_page_may_read_every_reply(merchant: Merchant) -> None:
    origins = (*ECHOED, "null", "https://evil.example", "")
    table: dict[str | None, Expected] = dict.fromkeys(origins, Expected(ANY, vary=False))

    assert (
        wrong_rows(merchant, table | {None: Expected(ANY, vary=False)}, ways(merchant))
        == []
    )


def test_with_a_list_only_a_listed_page_may_read_and_replies_vary_by_origin(
    careful: Merchant,
) -> None:
    assert wrong_rows(careful, with_list(), ways(careful)) == []


def test_an_unlisted_page_is_served_the_same_body(careful: Merchant) -> None:
    target = careful.target("/v1/trending")
    assert careful.push({"id": "a", "title": "A"}).status == 200

    listed = careful.client.ask("GET", target, None, {"origin": ECHOED[0]})
    unlisted = careful.client.ask("GET", target, None, {"origin": REFUSED[0]})

    assert (unlisted.status, unlisted.body) == (200, listed.body)
    assert listed.ids == ["a"]


def test_the_server_routes_of_a_store_with_a_list_say_it_too(careful: Merchant) -> None:
    pushed = careful.client.ask(
        "POST", "/v1/items", b'{"items": []}', careful.server | {"origin": REFUSED[0]}
    )

    assert (pushed.status, seen(pushed)) == (200, Expected(None, vary=True))


def test_a_cache_never_gives_a_page_the_reply_to_another_page(careful: Merchant) -> None:
    target, cache = careful.target("/v1/trending"), dict[tuple[str, str | None], Reply]()
    origins = [None, *ECHOED[:3], *REFUSED[:3], "null"]
    for origin in [*origins, *reversed(origins)]:
        headers = {} if origin is None else {"origin": origin}
        fresh = careful.client.ask("GET", target, None, headers)
        key = (target, origin if seen(fresh).vary else None)

        kept = cache.setdefault(key, fresh)

        assert seen(kept) == seen(fresh)


@pytest.mark.parametrize("query", ["key=pk_unknown", "key=", "", "key=sk_secret"])
def test_every_page_may_read_that_its_key_is_refused(service: Service, query: str) -> None:
    client = service.client()
    for (method, path), row in TABLE.items():
        if row.widget:
            for origin in (*ECHOED, "null"):
                target = with_query(path, query)
                reply = client.ask(method, target, None, {"origin": origin})

                assert reply.status == 401
                assert seen(reply) == Expected(ANY, vary=False)


PREFLIGHT: Final = {
    "origin": "https://shop.example",
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type, x-pub-key",
}


@pytest.mark.parametrize("headers", [{}, PREFLIGHT, {"origin": "null"}])
def test_a_widget_path_answers_options_for_any_origin(
    service: Service, careful: Merchant, headers: dict[str, str]
) -> None:
    client = service.client()
    paths = sorted({path for (_, path), row in TABLE.items() if row.widget})
    for query in ("", "key=pk_unknown", f"key={careful.account.publishable}"):
        for path in paths:
            reply = client.ask("OPTIONS", with_query(path, query), None, headers)

            assert (reply.status, reply.body) == (200, b"")
            assert seen(reply) == Expected(ANY, vary=False)
            allowed = (reply.header("access-control-allow-headers") or "").lower()
            assert {"content-type", "x-pub-key", "x-api-key"} <= set(allowed.split(", "))
            methods = reply.header("access-control-allow-methods") or ""
            assert {"GET", "POST"} <= set(methods.split(", "))
            assert reply.header("access-control-max-age") == "86400"
            assert reply.header("x-request-id")


def test_pages_may_read_what_a_reply_says_beside_its_body(
    merchant: Merchant, careful: Merchant
) -> None:
    for store in (merchant, careful):
        reply = store.client.ask(
            "GET", store.target("/v1/trending"), None, {"origin": "https://shop.example"}
        )
        exposed = (reply.header("access-control-expose-headers") or "").lower().split(", ")

        assert set(exposed) == {
            "x-request-id",
            "x-billing-status",
            "x-quota-used",
            "x-quota-limit",
            "x-search-relaxed",
            "x-search-redirect",
            "x-search-variant",
            "retry-after",
            "ratelimit",
            "ratelimit-policy",
        }


def _echoes_whatever_came(
    _store: Store | None, origin: bytes | None
) -> tuple[tuple[bytes, bytes], ...]:
    return ((ALLOW.encode(), origin or b"*"), (VARY.encode(), b"Origin"))


def _compares_beginnings(
    store: Store | None, origin: bytes | None
) -> tuple[tuple[bytes, bytes], ...]:
    listed = store.origins if store else frozenset[str]()
    text = (origin or b"").decode("latin-1")
    if any(text.startswith(one) for one in listed):
        return ((ALLOW.encode(), origin or b""), (VARY.encode(), b"Origin"))
    return ((VARY.encode(), b"Origin"),)


def _forgets_caches(
    store: Store | None, origin: bytes | None
) -> tuple[tuple[bytes, bytes], ...]:
    listed = store.origins if store else frozenset[str]()
    if origin is not None and origin.decode("latin-1") in listed:
        return ((ALLOW.encode(), origin), (VARY.encode(), b"Origin"))
    return ()


@pytest.mark.parametrize(
    "broken", [_echoes_whatever_came, _compares_beginnings, _forgets_caches]
)
def test_control_careless_headers_do_not_pass_the_table(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, broken: object
) -> None:
    service = Service(data_folder).prepare()
    merchant = service.register()
    with service.database() as database:
        store = find_store(database, merchant.account.domain)
        change_origins(database, store, add=LISTED)
    monkeypatch.setattr(admission, "cors_headers", broken)

    with Inside(of_our_own(build_services(Settings(data=data_folder)))) as inside:
        there = merchant.through(inside)
        assert wrong_rows(there, with_list(), ways(there)[:1]) != []
