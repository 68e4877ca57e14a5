"""Rate limits: optional limits per key and address (off unless set).

Events and orders are never limited (interface 6.1 and 6.2), nor is who looks after the
service. Tests ask until they are refused, so that a slow machine makes no difference.
"""

import itertools
from collections.abc import Callable, Iterator

import pytest

from productrecs.core.ids import StoreId
from productrecs.http.route_table import ROUTES
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.tenancy.accounts.key_misuse.repository import (
    KeyMisuseRepository,
    MisuseKind,
)
from productrecs.tenancy.accounts.store_management import Registration, register_store
from tests.api.inside import Inside, of_our_own
from tests.api.routes import TABLE
from tests.support.service import Account, Merchant, Reply, eventually

TRIES = 400  # ten or twenty may come at once, and one or two a second from then on
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    """Return services that limit a key to two calls a second, and an address to one."""
    folder = tmp_path_factory.mktemp("rates")
    return build_services(Settings(data=folder, rate_per_key=2, rate_per_address=1))


@pytest.fixture(scope="module")
def inside(services: Services) -> Iterator[Inside]:
    """Run a process of them."""
    migrate(services.database)
    with Inside(of_our_own(services)) as started:
        yield started


@pytest.fixture
def merchant(services: Services, inside: Inside) -> Merchant:
    """Give a fresh store."""
    wanted = Registration(f"rates-{next(NUMBERS)}.example")
    store, secret = register_store(services.database, wanted, services.clock)
    account = Account(store.store_id, store.domain, store.publishable_key, secret)
    return Merchant(account, inside)


def somebody() -> dict[str, str]:
    """Return the headers of a call that a proxy passes on for a new public address."""
    return {"x-forwarded-for": f"9.9.9.{next(NUMBERS)}"}


def refused(ask: Callable[[], Reply]) -> Reply:
    """Ask until it is too often; return the refusal."""
    replies = (ask() for _ in range(TRIES))
    return next(reply for reply in replies if reply.status == 429)


def test_an_address_that_asks_too_often_waits_and_nobody_else_does(
    merchant: Merchant,
) -> None:
    page = {"origin": "https://shop.example", **somebody()}
    target = merchant.target("/v1/trending")

    reply = refused(lambda: merchant.client.ask("GET", target, None, page))
    other = merchant.client.ask("GET", target, None, somebody())

    assert reply.json["code"] == "too_many_requests"
    assert reply.json["doc_url"].endswith("/docs-md/errors.md#too_many_requests")
    assert int(reply.header("retry-after") or 0) >= 1
    assert (reply.header("ratelimit") or "").startswith('"address";r=0;t=')
    assert reply.header("access-control-allow-origin") == "*"
    assert reply.header("x-request-id") == reply.json["request_id"]
    assert other.status == 200
    policies = [v for k, v in other.headers if k == "ratelimit-policy"]
    assert policies == ['"address";q=10;w=10', '"key";q=20;w=10']


def test_a_key_that_is_used_too_often_waits_and_no_other_store_does(
    inside: Inside, merchant: Merchant
) -> None:
    reply = refused(merchant.trending)
    by_server = merchant.push({"id": "a"})

    assert reply.json["code"] == "too_many_requests"
    assert "from this key" in reply.json["detail"]
    assert by_server.status == 200  # the other key of the store
    assert inside.ask("GET", "/llms.txt").status == 200


def test_calls_over_the_limit_are_no_program_whose_events_are_left_out(
    services: Services, merchant: Merchant
) -> None:
    def misuses() -> list[MisuseKind]:
        with services.database.reading() as connection:
            store_id = StoreId(merchant.account.store_id)
            return [one.kind for one in KeyMisuseRepository(connection, store_id).all()]

    refused(merchant.trending)
    leak = f"/v1/trending?key={merchant.account.secret}"  # recorded in the same order
    merchant.client.ask("GET", leak, None, somebody())

    eventually(misuses)
    assert misuses() == [MisuseKind.LEAKED_SECRET]


def test_events_orders_and_the_health_are_never_limited(merchant: Merchant) -> None:
    here = somebody()
    target = merchant.target("/v1/trending")
    refused(lambda: merchant.client.ask("GET", target, None, here))
    key = merchant.account.publishable
    event = b'{"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}'
    order = b'{"order_id": "%d", "items": [{"item_id": "a"}]}'

    for number in range(25):
        calls = [
            merchant.client.ask("POST", f"/v1/events?key={key}", event, here),
            merchant.client.ask("POST", f"/v1/orders?key={key}", order % number, here),
            merchant.client.ask("GET", "/health/ready", None, here),
            merchant.client.ask("OPTIONS", "/v1/trending", None, here),
        ]
        assert [reply.status for reply in calls] == [200] * 4
        assert not any(k.startswith("ratelimit") for r in calls for k, _ in r.headers)


FREE = {"/v1/events", "/v1/orders", "/health/live", "/health/ready", "/metrics"}


def test_every_other_call_is_limited(inside: Inside) -> None:
    assert {path for path, route in ROUTES.items() if not route.is_rate_limited} == FREE

    for method, path in TABLE:
        if path in FREE:
            continue
        here = somebody()
        concrete = path.replace("{", "").replace("}", "")
        reply = refused(lambda: inside.ask(method, concrete, None, here))  # noqa: B023 - asked at once
        assert reply.json["code"] == "too_many_requests", path


def test_cached_lists_have_the_same_rate_limit(inside: Inside, merchant: Merchant) -> None:
    assert merchant.push({"id": "a"}, {"id": "b"}).status == 200
    target = merchant.target("/v1/recommendations", item_id="a")
    replies: dict[str, Reply | None] = {}

    def is_answered_both_ways() -> bool:
        replies["gate"] = inside.ask("GET", target, None, somebody())
        replies["short"] = inside.fast_reply(target, somebody())
        return replies["short"] is not None

    eventually(is_answered_both_ways, 30, 1)  # two calls a second, which the key may do

    here = somebody()
    allowed = list(
        itertools.takewhile(
            lambda reply: reply is not None,
            (inside.fast_reply(target, here) for _ in range(TRIES)),
        )
    )

    assert len(allowed) < TRIES
    assert refused(lambda: inside.ask("GET", target, None, here)).status == 429
    names = [
        sorted(k for k, _ in one.headers) for one in replies.values() if one is not None
    ]
    assert names[0] == names[1]
    assert names[0].count("ratelimit") == 2
