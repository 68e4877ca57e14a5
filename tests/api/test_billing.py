"""Billing: replies of every route when a plan is nearly used up, used up or stopped.

Every route in every state: what is metered answers with nothing in its own form, what
writes is refused, and what a shop tells is taken as ever.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pytest

from productrecs.core.clock import DAY_MS
from productrecs.core.errors import QueueFullError
from productrecs.core.ids import StoreId
from productrecs.core.timestamps import parse_timestamp
from productrecs.features.looks.look import LookContent
from productrecs.features.looks.look_editor import LookEditor
from productrecs.http.dispatch import admission, dispatcher
from productrecs.http.pipeline.mail_picture_pool import MailPicturePool
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.http.pipeline.route_declaration import CredentialKind
from productrecs.records.pictures.draw_product_card import ProductCard, draw_product_card
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_origins,
    change_subscription,
    find_store,
    register_store,
)
from productrecs.tenancy.billing.call_meter import month_at
from productrecs.tenancy.billing.metered_calls.repository import (
    MeteredCallRepository,
    add_calls,
)
from productrecs.tenancy.billing.plans_and_subscriptions import DEFAULT_PLANS, TRIAL
from tests.api.inside import Inside, of_our_own
from tests.api.routes import (
    EITHER,
    NEED_A_PLAN,
    PUBLISHABLE,
    SECRET,
    TABLE,
    Call,
    with_query,
)
from tests.support.pictures import drawn, see
from tests.support.service import (
    REGISTERED_BY,
    Account,
    Merchant,
    Reply,
    Service,
    eventually,
)

NOON: Final = parse_timestamp("2026-03-10T12:00:00Z")
APRIL: Final = parse_timestamp("2026-04-01T00:00:00Z")
QUOTA: Final = 10_000
Route = tuple[str, str]
KEYS: Final = {PUBLISHABLE, EITHER, SECRET}
BILLING: Final = ("x-billing-status", "x-quota-used", "x-quota-limit")

# What each metered route answers when there is no content to give (decisions, Billing).
EMPTY: Final[Mapping[Route, object]] = {
    ("GET", "/v1/recommendations"): {"recommendations": []},
    ("GET", "/v1/trending"): {"recommendations": []},
    ("GET", "/v1/search"): {"results": []},
    ("POST", "/v1/search/image"): {"results": []},
    ("GET", "/v1/looks"): {"look": None},
    ("POST", "/v1/shop-the-look/analyze"): {"hotspots": []},
    ("GET", "/v1/mail/products/{slot}"): {"products": []},
}
# What mails show of a shop whose plan is used up or over: its name and its start page.
MAILS: Final = {("GET", "/v1/mail/image/{slot}"), ("GET", "/v1/mail/link/{slot}")}
# What is neither metered nor refused, whatever the plan.
FREE: Final = {
    ("GET", "/v1/widget-config"),
    ("GET", "/v1/forecast/summary"),
    ("GET", "/v1/forecast/items/{item_id}"),
    ("POST", "/v1/events"),
    ("POST", "/v1/orders"),
    ("GET", "/v1/orders"),
    ("GET", "/v1/orders/{order_id}"),
    ("GET", "/v1/items"),
    ("GET", "/v1/items/{item_id}"),
    ("DELETE", "/v1/items/{item_id}"),
    ("GET", "/orders/upload/{upload_id}"),
    ("GET", "/integration/widget-config"),
    ("GET", "/integration/recommender-settings"),
    ("GET", "/integration/bundles"),
    ("GET", "/integration/purchase-orders"),
    ("GET", "/integration/tests"),
    ("DELETE", "/integration/bundles"),
    ("GET", "/integration/status"),
    ("GET", "/integration/report"),
    ("POST", "/integration/dashboard-link"),
}


@dataclass
class TrialStore:
    """One API process whose clock a test moves, and a store on the trial of 14 days."""

    services: Services
    inside: Inside
    merchant: Merchant
    clock: list[int]

    @property
    def store(self) -> Store:
        """The store as it is stored now."""
        return find_store(self.services.database, self.merchant.account.domain)

    def change(self, plan: str | None = None, **fields: int | None) -> None:
        """Store another plan, or fields of it, and wait until the process follows."""
        store = self.store
        held = replace(store.subscription, **fields)  # type: ignore[arg-type]  # its own fields
        if plan is not None:
            held = held.with_plan(DEFAULT_PLANS[plan], NOON)
        change_subscription(self.services.database, store, lambda _: held)
        accounts = self.context.accounts
        eventually(
            lambda: (now := accounts.by_id(store.store_id)) and now.subscription == held
        )

    @property
    def context(self) -> ProcessContext:
        """Everything of the process."""
        application = self.inside.application
        assert isinstance(application, dispatcher.Dispatcher)
        context = application._context  # noqa: SLF001 - to look at its memory
        assert context is not None
        return context

    def use(self, calls: int, month: str = "2026-03") -> None:
        """Let another process have counted so many calls, and this one know."""
        store = self.store
        meter = self.context.metering.meters.get(store.store_id)
        if meter is not None:
            eventually(lambda: not meter.months_to_flush()[-1].unsaved)
        with self.services.database.transaction() as transaction:
            more = calls - MeteredCallRepository(transaction, store.store_id).calls(month)
            add_calls(transaction, {(store.store_id, month): more})
        if meter is not None:
            eventually(lambda: meter.months_to_flush()[-1].used == calls)

    def stored(self, month: str = "2026-03") -> int:
        """Return what the database has counted."""
        with self.services.database.reading() as connection:
            return MeteredCallRepository(connection, self.store.store_id).calls(month)

    def calls(self) -> dict[Route, Call]:
        """Return a call of each route that wants a key; some prepare what they ask for."""
        Service(self.services.settings.data, self.services.settings.database_url).index()
        LookEditor(self.services.database, self.store, self.services.clock).add(
            [LookContent("a", "https://i.example/look.jpg")], publish=True
        )
        root, store_id = self.services.visual_model_folder, self.store.store_id
        see(self.services.database, root, store_id, {"a": drawn("red", "ball")})
        eventually(lambda: self.ask(("GET", "/v1/search")).json["results"])
        eventually(lambda: self.ask(("POST", "/v1/search/image")).json["results"])
        eventually(lambda: self.ask(("GET", "/v1/looks")).json["look"])
        mail_products = ("GET", "/v1/mail/products/{slot}")
        eventually(lambda: self.ask(mail_products).json.get("products"))
        return {
            route: row.call(self.merchant)
            for route, row in TABLE.items()
            if row.wants in KEYS and route not in MAILS
        }

    def ask(self, route: Route, call: Call | None = None, **headers: str) -> Reply:
        """Call a route as its table says, with the key it wants."""
        row = TABLE[route]
        call = call or row.call(self.merchant)
        query, own = "", dict(headers)
        if row.wants == PUBLISHABLE:
            query = f"key={self.merchant.account.publishable}"
        elif row.wants in {SECRET, EITHER}:
            own["x-api-key"] = self.merchant.account.secret
        target = with_query(call.target, query)
        return self.inside.ask(route[0], target, call.body, {**call.headers, **own})


def billing_headers(reply: Reply) -> tuple[str | None, ...]:
    """Return the billing headers of a reply."""
    return tuple(reply.header(name) for name in BILLING)


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TrialStore]:
    """Give a process on each database; its clock stands until it is moved."""
    folder, url, databases = tmp_path_factory.mktemp("billing"), None, None
    if request.param == "postgres":
        databases = request.getfixturevalue("migrated_databases")
        url = databases.take()
    Service(folder, url).prepare()
    clock = [NOON]
    services = replace(
        build_services(Settings(data=folder, database_url=url)), clock=lambda: clock[0]
    )
    with Inside(of_our_own(services)) as inside:
        nobody = Merchant(Account("", "", "", ""), inside)
        yield TrialStore(services, inside, nobody, clock)
    if databases is not None and url is not None:
        databases.give_back(url)


ON_SQLITE: Final = pytest.mark.parametrize("process", ["sqlite"], indirect=True)
"""Runs a test once: what it shows has nothing to do with the database."""


@pytest.fixture
def shop(process: TrialStore, request: pytest.FixtureRequest) -> TrialStore:
    """Give a fresh store on the trial, with three items and an upload, at noon."""
    process.clock[0] = NOON
    domain = f"{abs(hash(request.node.nodeid))}-{time.monotonic_ns()}.example"
    store, secret = register_store(
        process.services.database, Registration(domain, plan=TRIAL), process.services.clock
    )
    account = Account(store.store_id, store.domain, store.publishable_key, secret)
    merchant = Merchant(account, process.inside)
    settings = process.services.settings
    REGISTERED_BY[store.store_id] = Service(settings.data, settings.database_url)
    items = [{"id": item_id, "title": "Tent"} for item_id in "abc"]
    assert merchant.push(*items).status == 200
    return replace(process, merchant=merchant)


def test_every_route_is_metered_refused_or_free() -> None:
    with_a_key = {route for route, row in TABLE.items() if row.wants in KEYS}

    assert with_a_key == EMPTY.keys() | NEED_A_PLAN | FREE | MAILS
    assert not EMPTY.keys() & NEED_A_PLAN
    assert not FREE & (EMPTY.keys() | NEED_A_PLAN)


def check_every_route(
    shop: TrialStore,
    calls: Mapping[Route, Call],
    status: str | None,
    used: int | None = None,
) -> None:
    """Check what every route answers in a state: with content, with nothing, or refused."""
    quota = (None, None) if used is None else (str(used), str(QUOTA))
    is_empty = status in {"over_quota", "suspended"}
    for route, call in calls.items():
        reply = shop.ask(route, call)
        if route in EMPTY:
            assert (reply.status, reply.json == EMPTY[route]) == (200, is_empty), route
            assert billing_headers(reply) == (status, *quota), route
        elif route in NEED_A_PLAN and status == "suspended":
            assert (reply.status, reply.json.get("code")) == (402, "billing_inactive"), (
                route
            )
            assert billing_headers(reply) == (None, None, None)
        else:
            assert reply.status in {200, 202}, (route, reply)
            assert billing_headers(reply) == (None, None, None)


def test_within_the_plan_a_reply_has_no_billing_headers(shop: TrialStore) -> None:
    check_every_route(shop, shop.calls(), None)


def test_from_80_per_cent_on_metered_replies_warn_and_nothing_else_changes(
    shop: TrialStore,
) -> None:
    expected = []
    for used in (7_998, 7_999, 9_998, 9_999):
        shop.use(used)
        reply = shop.ask(("GET", "/v1/trending"))
        expected.append(billing_headers(reply))
        assert len(reply.ids) == 3
        eventually(lambda used=used: shop.stored() == used + 1)  # type: ignore[misc]

    assert expected == [
        (None, None, None),
        ("warn", "8000", "10000"),
        ("warn", "9999", "10000"),
        ("warn", "10000", "10000"),
    ]


def test_from_100_per_cent_on_metered_routes_answer_with_nothing_in_their_form(
    shop: TrialStore,
) -> None:
    calls = shop.calls()
    shop.use(QUOTA)

    check_every_route(shop, calls, "over_quota", QUOTA)
    assert shop.merchant.push({"id": "new"}).json["created"] == 1
    assert shop.stored() == QUOTA


@pytest.mark.parametrize("how", ["an operator", "the end of the trial"])
def test_a_suspended_store_gets_nothing_and_its_events_are_still_stored(
    shop: TrialStore, how: str
) -> None:
    calls = shop.calls()
    if how == "an operator":
        shop.change(suspended_at=NOON)
    else:
        shop.clock[0] = NOON + 14 * DAY_MS

    check_every_route(shop, calls, "suspended")
    looks = shop.ask(("GET", "/v1/looks"), Call("/v1/looks"))  # the list does not count
    assert [one["item_id"] for one in looks.json["items"]] == ["a"]
    assert billing_headers(looks) == (None, None, None)
    events = [{"event": "detail-page-view", "item_id": "a", "session_id": "s_1"}] * 50
    assert shop.merchant.track(*events).status == 200
    assert shop.merchant.order("o-1", "a", "b").json["items_ingested"] == 2
    assert shop.merchant.delete("a").status == 200


@pytest.mark.parametrize(
    ("after", "status_header", "status"),
    [(-1, None, 200), (0, "suspended", 402), (1, "suspended", 402)],
)
def test_the_trial_ends_after_14_days_to_the_millisecond(
    shop: TrialStore, after: int, status_header: str | None, status: int
) -> None:
    assert shop.merchant.trending().ids != []  # the meter knows the day before, too
    shop.clock[0] = NOON + 14 * DAY_MS + after

    reply = shop.merchant.trending()

    assert billing_headers(reply)[0] == status_header
    assert (reply.ids == []) is (status_header == "suspended")
    assert shop.merchant.push({"id": "a"}).status == status


@pytest.mark.parametrize(("after", "is_over"), [(-1, True), (0, False), (1, False)])
def test_a_new_month_of_utc_begins_at_nothing(
    shop: TrialStore, after: int, *, is_over: bool
) -> None:
    shop.change(ends_at=None)
    shop.use(QUOTA)
    assert billing_headers(shop.merchant.trending())[0] == "over_quota"
    shop.clock[0] = APRIL + after

    reply = shop.merchant.trending()

    assert (billing_headers(reply)[0] == "over_quota") is is_over
    if not is_over:
        eventually(lambda: shop.stored("2026-04") == 1)
        assert (shop.stored(), month_at(shop.clock[0]).name) == (QUOTA, "2026-04")


def test_a_larger_plan_and_the_end_of_a_suspension_hold_at_once(shop: TrialStore) -> None:
    shop.use(QUOTA)
    shop.change(suspended_at=NOON)
    seen = [billing_headers(shop.merchant.trending())]

    shop.change(suspended_at=None)
    seen.append(billing_headers(shop.merchant.trending()))
    shop.change("growth")
    seen.append(billing_headers(shop.merchant.trending()))

    assert seen == [
        ("suspended", "10000", "10000"),
        ("over_quota", "10000", "10000"),
        (None, None, None),
    ]


def test_only_what_was_answered_with_content_is_counted(shop: TrialStore) -> None:
    key = shop.merchant.account.publishable
    for target in (
        f"/v1/recommendations?num=99&key={key}",
        f"/v1/recommendations?source=similar&key={key}",
        f"/v1/trending?num=x&key={key}",
        "/v1/trending?key=pk_wrong",
        "/v1/trending",
    ):
        assert shop.inside.ask("GET", target).status in {401, 422}
    assert shop.inside.ask("OPTIONS", f"/v1/trending?key={key}").status == 200
    assert shop.inside.ask("POST", f"/v1/trending?key={key}").status == 405
    for route in FREE | NEED_A_PLAN:
        assert shop.ask(route).status in {200, 202}
    counted = [
        f"/v1/recommendations?item_id=a&key={key}",  # the fast lane, and made afresh
        f"/v1/recommendations?item_id=a&key={key}",  # from the replies that are kept
        f"/v1/recommendations?item_id=a&user_id=s_1&key={key}",
        f"/v1/trending?num=3&key={key}",
        f"/v1/trending?num=3&num=3&key={key}",  # the declared route
        f"/v1/recommendations?num=3&num=3&key={key}",
    ]
    for target in counted:
        assert shop.inside.ask("GET", target).status == 200

    shop.inside.ask("HEAD", counted[0])
    eventually(lambda: shop.stored() == len(counted) + 1)


@ON_SQLITE
def test_both_paths_send_the_same_billing_headers(shop: TrialStore) -> None:
    key = shop.merchant.account.publishable
    shop.use(8_500)

    fast = shop.inside.ask("GET", f"/v1/trending?num=3&key={key}")
    declared = shop.inside.ask("GET", f"/v1/trending?num=3&num=3&key={key}")
    refused = shop.inside.ask("GET", f"/v1/trending?num=99&key={key}")

    assert billing_headers(fast) == ("warn", "8501", "10000")
    assert billing_headers(declared) == ("warn", "8502", "10000")
    assert (refused.status, billing_headers(refused)[0]) == (422, "warn")


def test_a_full_catalog_takes_updates_and_refuses_new_ids_whole(shop: TrialStore) -> None:
    push = shop.merchant.push
    assert push(*({"id": f"i{n}"} for n in range(997))).json["total"] == 1_000

    over = push({"id": "a", "title": "changed"}, {"id": "new"})

    assert (over.status, over.json["code"]) == (402, "plan_limit_catalog")
    assert "1,001" in over.json["detail"]
    assert shop.merchant.trending(num=20).body.count(b"changed") == 0
    assert push({"id": "a", "title": "changed"}).json == {
        "ok": True,
        "created": 0,
        "updated": 1,
        "total": 1_000,
    }
    assert push({"id": "a"}, {"id": "a"}, {"id": "i1"}).json["updated"] == 2
    assert shop.merchant.delete("b").status == 200
    assert push({"id": "b"}).json["created"] == 1  # a deleted id is a new one
    assert push({"id": "new"}).status == 402
    shop.change("starter")
    assert push({"id": "new"}).json["total"] == 1_001


@ON_SQLITE
@pytest.mark.parametrize("state", ["warn", "over_quota", "suspended"])
def test_pages_of_allowed_origins_can_read_the_billing_headers(
    shop: TrialStore, state: str
) -> None:
    change_origins(shop.services.database, shop.store, add=["https://shop.example"])
    shop.change(suspended_at=NOON if state == "suspended" else None)
    shop.use(QUOTA if state == "over_quota" else 9_000)
    accounts, store_id = shop.context.accounts, StoreId(shop.merchant.account.store_id)
    eventually(lambda: (store := accounts.by_id(store_id)) and store.origins)

    mine = shop.ask(("GET", "/v1/trending"), origin="https://shop.example")
    foreign = shop.ask(("GET", "/v1/trending"), origin="https://other.example")

    assert billing_headers(mine)[0] == billing_headers(foreign)[0] == state
    assert mine.header("access-control-allow-origin") == "https://shop.example"
    exposed = (mine.header("access-control-expose-headers") or "").split(", ")
    assert {"X-Request-Id", "X-Billing-Status", "X-Quota-Used", "X-Quota-Limit"} <= set(
        exposed
    )
    assert foreign.header("access-control-allow-origin") is None
    assert mine.header("vary") == foreign.header("vary") == "Origin"


@ON_SQLITE
def test_control_a_gate_that_forgets_the_plan_is_noticed(
    shop: TrialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = shop.calls()
    shop.change(suspended_at=NOON)
    monkeypatch.setattr(admission, "requires_active_plan", lambda *_: False)
    with pytest.raises(AssertionError):
        check_every_route(shop, calls, "suspended")
    monkeypatch.undo()
    monkeypatch.setattr(admission.Admission, "apply_quota", lambda *_: None)
    with pytest.raises(AssertionError):
        check_every_route(shop, calls, "suspended")


@ON_SQLITE
def test_control_a_gate_that_refuses_all_writes_is_noticed(
    shop: TrialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = shop.calls()
    shop.change(suspended_at=NOON)
    monkeypatch.setattr(
        admission, "requires_active_plan", lambda _, wanted: wanted != CredentialKind.NONE
    )

    with pytest.raises(AssertionError):
        check_every_route(shop, calls, "suspended")


@ON_SQLITE
def test_a_mails_picture_is_metered_and_names_the_shop_when_the_plan_is_used_up(
    shop: TrialStore,
) -> None:
    image, link = ("GET", "/v1/mail/image/{slot}"), ("GET", "/v1/mail/link/{slot}")
    eventually(lambda: shop.ask(("GET", "/v1/mail/products/{slot}")).json.get("products"))
    shop.use(QUOTA - 1)
    product = shop.ask(image)
    eventually(lambda: shop.stored() == QUOTA)

    named = shop.ask(image)

    assert product.status == named.status == 200
    assert product.body != named.body
    card = ProductCard(shop.store.domain, "", 600)
    assert named.body == draw_product_card(card, b"")
    assert shop.stored() == QUOTA
    assert shop.ask(link).status == 302


@ON_SQLITE
def test_a_mails_picture_that_was_not_drawn_is_not_metered(
    shop: TrialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = ("GET", "/v1/mail/image/{slot}")
    picture = "https://i.example/tent.jpg"
    shop.merchant.push(*({"id": item_id, "image_url": picture} for item_id in "abc"))
    eventually(lambda: shop.ask(("GET", "/v1/mail/products/{slot}")).json.get("products"))
    meter = shop.context.metering.meters[shop.store.store_id]
    before = meter.months_to_flush()[-1].used

    async def draw_nothing(*_: object) -> bytes:
        message = "too many pictures wait"
        raise QueueFullError(message)

    with monkeypatch.context() as patch:
        patch.setattr(MailPicturePool, "draw_card_as_jpeg", draw_nothing)
        refused = shop.ask(image)
        used_by_refused = meter.months_to_flush()[-1].used - before
    drawn_reply = shop.ask(image)

    assert (refused.status, refused.header("location")) == (302, picture)
    assert used_by_refused == 0
    assert drawn_reply.status == 200
    assert meter.months_to_flush()[-1].used - before == 1
