"""Error replies of every route: request id and CORS headers are always present.

A page that cannot read a refusal sees "CORS error", and looks for the mistake in the wrong
place. So each of 401, 402, 413 and 422 is asked of every route that can answer it, by pages
of an allowed origin, of another, and of any where the store allows any.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import pytest

from productrecs.core.clock import system_ms
from productrecs.core.ids import StoreId
from productrecs.http.dispatch import admission, dispatcher, http_exchange
from productrecs.http.pipeline.cors import ANY_ORIGIN_HEADERS
from productrecs.http.transport.error_body import ErrorBody
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store_management import (
    change_origins,
    change_subscription,
    find_store,
)
from tests.api.inside import Inside, of_our_own
from tests.api.routes import (
    EITHER,
    NEED_A_PLAN,
    PUBLISHABLE,
    SECRET,
    TABLE,
    UPLOAD,
    with_query,
)
from tests.support.service import Merchant, Reply, Service, eventually

Route = tuple[str, str]
KEYS: Final = {PUBLISHABLE, EITHER, SECRET}
LISTED, OTHER = "https://shop.example", "https://other.example"
TOO_LONG: Final = str(1 << 40)
JSON: Final = "not JSON"

# What makes a route answer 422: a body that is not JSON, or this query.
UNFIT: Final[Mapping[Route, str]] = {
    ("GET", "/v1/recommendations"): "num=99",
    ("GET", "/v1/trending"): "num=x",
    ("GET", "/v1/search"): "num=0",
    ("POST", "/v1/search/image"): JSON,
    ("GET", "/v1/looks"): "item_id=",
    ("POST", "/v1/shop-the-look/analyze"): JSON,
    ("POST", "/v1/events"): JSON,
    ("POST", "/v1/orders"): JSON,
    ("POST", "/v1/items"): JSON,
    ("POST", "/orders/upload"): "no form",
    ("POST", "/integration/connect"): JSON,
    ("PUT", "/integration/widget-config"): JSON,
    ("PUT", "/integration/recommender-settings"): JSON,
    ("POST", "/integration/bundles"): JSON,
    ("PUT", "/integration/bundles"): JSON,
    ("PUT", "/integration/purchase-orders"): JSON,
    ("POST", "/integration/tests"): JSON,
    ("PUT", "/integration/tests"): JSON,
    ("DELETE", "/integration/bundles"): "id=x",
    ("POST", "/integration/engines/init"): JSON,
    ("POST", "/integration/dashboard-link"): JSON,
    ("POST", "/integration/train"): "engine=steam",
    ("GET", "/integration/report"): "limit=x",
    ("GET", "/v1/items"): "limit=x",
    ("GET", "/v1/orders"): "cursor=x",
}
# What the address must have for the body to be looked at.
NEEDED: Final[Mapping[Route, str]] = {
    ("PUT", "/integration/bundles"): "?id=1",
    ("DELETE", "/integration/bundles"): "?id=1",
}
# Routes that read no body, or cannot be asked wrongly.
HAVE_NO_BODY: Final = {
    ("POST", "/integration/sync-engines"),
    ("POST", "/integration/train"),
}


class Refusal(NamedTuple):
    """A call that a route must refuse, and with what."""

    route: Route
    status: int
    target: str
    body: bytes | None
    headers: Mapping[str, str]


def refusals_of(merchant: Merchant, *, is_suspended: bool) -> Iterator[Refusal]:
    """Yield every refusal that every route with a key can be brought to."""
    for route, row in TABLE.items():
        if row.wants not in KEYS:
            continue
        _, path = route
        target = path.format(item_id="a", order_id="a", upload_id="up_a", slot="a")
        target += NEEDED.get(route, "")
        key = {"x-api-key": merchant.account.secret}
        if row.wants == PUBLISHABLE:
            key = {"x-pub-key": merchant.account.publishable}
        yield Refusal(route, 401, target, None, {})
        yield Refusal(route, 401, target, None, dict.fromkeys(key, "pk_wrong"))
        if row.wants == EITHER:
            yield Refusal(route, 401, target, None, {"x-pub-key": "pk_wrong"})
        if not is_suspended:
            yield from _unfit_or_too_long(route, target, key)
        elif route in NEED_A_PLAN:
            yield Refusal(route, 402, target, b"{}", key)


def _unfit_or_too_long(
    route: Route, target: str, key: Mapping[str, str]
) -> Iterator[Refusal]:
    if route in UNFIT:
        yield _unfit(route, target, key)
    if route[0] in {"POST", "PUT"} and route not in HAVE_NO_BODY:
        kind = UPLOAD if route == ("POST", "/orders/upload") else {}
        long = {"content-length": TOO_LONG, **key, **kind}
        yield Refusal(route, 413, target, b"{}", long)


def _unfit(route: Route, target: str, key: Mapping[str, str]) -> Refusal:
    said = UNFIT[route]
    if said == JSON:
        return Refusal(route, 422, target, b"{", key)
    if route == ("POST", "/orders/upload"):
        return Refusal(route, 422, target, b"nothing", {**key, **UPLOAD})
    return Refusal(route, 422, with_query(target, said), None, key)


def wrong(refusal: Refusal, reply: Reply, origin: str, *, is_open: bool) -> list[str]:
    """Return what is wrong with a refusal that a page of `origin` was given."""
    problems = []
    if reply.status != refusal.status:
        problems.append(f"status {reply.status}")
    request_id = reply.header("x-request-id")
    if not request_id or (
        reply.status != 422 and reply.json.get("request_id") != request_id
    ):
        problems.append("no request id")
    # A store that is not known has no list: its refusal may be read by any page.
    is_open = is_open or refusal.status == 401
    allowed = "*" if is_open else LISTED if origin == LISTED else None
    if reply.header("access-control-allow-origin") != allowed:
        problems.append(f"allows {reply.header('access-control-allow-origin')}")
    exposed = reply.header("access-control-expose-headers") or ""
    if (allowed is not None) != ("X-Request-Id" in exposed.split(", ")):
        problems.append(f"exposes {exposed!r}")
    if not is_open and reply.header("vary") != "Origin":
        problems.append("does not vary")
    if reply.header("cache-control") != "no-store":
        problems.append("may be kept")
    return [f"{refusal.route} {refusal.status} from {origin}: {one}" for one in problems]


def all_wrong(
    inside: Inside, merchant: Merchant, *, is_open: bool, is_suspended: bool
) -> list[str]:
    """Return what is wrong with any refusal of any route."""
    return [
        one
        for refusal in refusals_of(merchant, is_suspended=is_suspended)
        for origin in (LISTED, OTHER)
        for one in wrong(
            refusal,
            inside.ask(
                refusal.route[0],
                refusal.target,
                refusal.body,
                {**refusal.headers, "origin": origin},
            ),
            origin,
            is_open=is_open,
        )
    ]


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """Give one API process."""
    folder = tmp_path_factory.mktemp("refusals")
    Service(folder).prepare()
    services = build_services(Settings(data=folder))
    with Inside(of_our_own(services)) as inside:
        yield inside


def shop(inside: Inside, *, is_open: bool, is_suspended: bool) -> Merchant:
    """Return a new store, once the process knows it as it should be."""
    assert isinstance(inside.application, dispatcher.Dispatcher)
    context = inside.application._context  # noqa: SLF001 - to look at its memory
    assert context is not None
    settings = context.services.settings
    merchant = Service(settings.data).register().through(inside)
    database = context.services.database
    store = find_store(database, merchant.account.domain)
    if not is_open:
        change_origins(database, store, add=[LISTED])
    if is_suspended:
        change_subscription(database, store, lambda held: held.suspended(system_ms()))
    held = find_store(database, merchant.account.domain)
    store_id = StoreId(merchant.account.store_id)
    eventually(lambda: context.accounts.by_id(store_id) == held)
    return merchant


def test_every_route_is_refused_in_every_way_it_can_be(inside: Inside) -> None:
    merchant = shop(inside, is_open=True, is_suspended=False)
    refusals = list(refusals_of(merchant, is_suspended=False))
    refusals += refusals_of(merchant, is_suspended=True)
    with_a_key = {route for route, row in TABLE.items() if row.wants in KEYS}

    assert {refusal.route for refusal in refusals if refusal.status == 401} == with_a_key
    assert {refusal.route for refusal in refusals if refusal.status == 402} == NEED_A_PLAN
    assert {refusal.status for refusal in refusals} == {401, 402, 413, 422}
    assert len({refusal.route for refusal in refusals if refusal.status == 413}) >= 8


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("is_suspended", [True, False])
def test_every_refusal_has_its_request_id_and_lets_its_page_read_it(
    inside: Inside, *, is_open: bool, is_suspended: bool
) -> None:
    merchant = shop(inside, is_open=is_open, is_suspended=is_suspended)

    problems = all_wrong(inside, merchant, is_open=is_open, is_suspended=is_suspended)

    assert problems == []


def _forgets_the_origin(
    store: object, origin: bytes | None
) -> tuple[tuple[bytes, bytes], ...]:
    del store, origin
    return ()


def _lets_all_read(store: object, origin: bytes | None) -> tuple[tuple[bytes, bytes], ...]:
    del store, origin
    return ANY_ORIGIN_HEADERS


@pytest.mark.parametrize("broken", [_forgets_the_origin, _lets_all_read])
def test_control_refusals_that_a_page_cannot_read_or_any_page_can_are_found(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, broken: object
) -> None:
    merchant = shop(inside, is_open=False, is_suspended=True)
    monkeypatch.setattr(admission, "cors_headers", broken)

    assert len(all_wrong(inside, merchant, is_open=False, is_suspended=True)) > 7


def test_control_refusals_without_a_request_id_are_found(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    merchant = shop(inside, is_open=True, is_suspended=True)
    monkeypatch.setattr(
        http_exchange, "build_error_body", lambda *_: ErrorBody(b"{}", b"application/json")
    )

    assert len(all_wrong(inside, merchant, is_open=True, is_suspended=True)) > 7
