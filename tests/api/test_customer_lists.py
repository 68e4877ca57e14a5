"""Customer lists: what a customer's id shows to a caller who does not prove to be them."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest

from productrecs.core.clock import DAY_MS, system_ms
from productrecs.core.timestamps import iso
from productrecs.http.limits.customer_ids_per_network import MAX_CUSTOMERS
from productrecs.records.placements.placement import PlacementContent, Strategy
from tests.support.service import Merchant, Reply, Service, add_placement, eventually

PRICES: Final = range(10, 17)
CATALOG: Final = {f"{price}-{n}": price for price in PRICES for n in range(3)}
CUSTOMERS: Final = [str(number) for number in range(1, 5)]
MODES: Final = ("limited", "signed", "open")


class CustomerShop:
    """A shop whose customers have numbers, and what each of them bought and viewed."""

    def __init__(self, merchant: Merchant) -> None:
        self.merchant, items = merchant, list(CATALOG)
        self.bought = {
            customer: {items[(5 * n + 8 * line) % len(items)] for line in range(3)}
            for n, customer in enumerate(CUSTOMERS)
        }
        self.viewed = {customer: items[2 * n] for n, customer in enumerate(CUSTOMERS)}
        merchant.push(*({"id": i, "title": i, "price": p} for i, p in CATALOG.items()))
        for customer in CUSTOMERS:
            session = f"s_secret-of-{customer}"
            merchant.order(
                f"o{customer}",
                *self.bought[customer],
                user_id=customer,
                session_id=session,
                ordered_at=iso(system_ms() - 20 * DAY_MS),
            )
            view = {"event": "detail-page-view", "item_id": self.viewed[customer]}
            merchant.track(view | {"user_id": customer, "session_id": session})

    def proof(self, way: str, customer: str) -> dict[str, str]:
        """Return the parameters of a call that names a customer in some way."""
        return {
            "user_id": {"user_id": customer},
            "customer_id": {"customer_id": customer},
            "a stolen signature": {
                "customer_id": customer,
                "identity": self.merchant.identity("1000"),
            },
            "an expired signature": {
                "customer_id": customer,
                "identity": self.merchant.identity(customer, -1),
            },
            "another session": {"customer_id": customer, "user_id": "s_attacker"},
            "signed customer_id": {
                "customer_id": customer,
                "user_id": "s_new",
                "identity": self.merchant.identity(customer),
            },
            "signed user_id": {
                "user_id": customer,
                "identity": self.merchant.identity(customer),
            },
            "secret key": {"customer_id": customer},
            "own session": {"user_id": f"s_secret-of-{customer}"},
            "own session beside": {
                "user_id": customer,
                "session_id": f"s_secret-of-{customer}",
            },
        }[way]

    def ask(self, way: str, customer: str, **query: Any) -> Reply:
        """Ask for a list of a customer, named in some way."""
        target = self.merchant.target(
            "/v1/recommendations", **self.proof(way, customer), **query
        )
        headers = {"x-api-key": self.merchant.account.secret} if way == "secret key" else {}
        return self.merchant.client.ask("GET", target, None, headers)


@pytest.fixture(scope="module")
def shops(service: Service) -> Mapping[str, CustomerShop]:
    """Return a shop of each mode."""
    by_mode = {}
    for mode in MODES:
        settings = {"customer_lists": mode} if mode != "limited" else {}
        merchant = service.register(**settings)
        for strategy in (Strategy.BUY_AGAIN, Strategy.RECENTLY_VIEWED):
            content = PlacementContent(strategy=strategy, num=20)
            add_placement(merchant.account, strategy.value.replace("_", "-"), content)
        by_mode[mode] = CustomerShop(merchant)
        service.train(merchant)
    return by_mode


def left_out(shop: CustomerShop, way: str, customer: str) -> set[str]:
    """Return what a `mix` list of each price leaves out: what the customer bought."""
    listed: set[str] = set()
    for price in PRICES:
        only = f"price:{price}..{price}"
        listed |= set(shop.ask(way, customer, num=20, filter=only).ids)
    return set(CATALOG) - listed


def bought_again(shop: CustomerShop, way: str, customer: str) -> set[str]:
    return set(shop.ask(way, customer, placement="buy-again").ids)


def bought_with(shop: CustomerShop, way: str, customer: str) -> set[str]:
    return set(shop.ask(way, customer, num=20, source="buy").ids)


UNPROVEN: Final = (
    "user_id",
    "customer_id",
    "a stolen signature",
    "an expired signature",
    "another session",
)
PROVEN: Final = (
    "signed customer_id",
    "signed user_id",
    "secret key",
    "own session",
    "own session beside",
)


def purchases_used(
    shops: Mapping[str, CustomerShop],
    use: Callable[[CustomerShop, str, str], set[str]],
    mode: str,
) -> dict[str, int]:
    """Return how many purchases of all customers the lists of each way know."""
    shop = shops[mode]
    return {
        way: sum(
            len(use(shop, way, customer) & shop.bought[customer]) for customer in CUSTOMERS
        )
        for way in UNPROVEN + PROVEN
    }


PURCHASES: Final = 3 * len(CUSTOMERS)


@pytest.mark.parametrize(
    ("use", "mode", "unproven"),
    [
        # Ordinary lists believe an id: what it bought is not returned.
        (left_out, "limited", PURCHASES),
        (left_out, "signed", 0),
        (left_out, "open", PURCHASES),
        (bought_again, "limited", 0),
        (bought_again, "signed", 0),
        (bought_again, "open", PURCHASES),
    ],
)
def test_lists_know_the_purchases_of_an_unproven_id_as_the_setting_says(
    shops: Mapping[str, CustomerShop],
    use: Callable[[CustomerShop, str, str], set[str]],
    mode: str,
    unproven: int,
) -> None:
    expected = dict.fromkeys(UNPROVEN, unproven) | dict.fromkeys(PROVEN, PURCHASES)
    eventually(lambda: purchases_used(shops, use, mode) == expected)


@pytest.mark.parametrize("mode", MODES)
def test_products_bought_together_have_an_unproven_ids_orders_as_anchors(
    shops: Mapping[str, CustomerShop], mode: str
) -> None:
    shop, customer = shops[mode], CUSTOMERS[0]
    proven = bought_with(shop, "secret key", customer)
    assert bought_with(shop, "signed user_id", customer) == proven
    for way in UNPROVEN:
        assert bought_with(shop, way, customer) == (set() if mode == "signed" else proven)


@pytest.mark.parametrize("session", [{}, {"session_id": "s_theirs"}])
@pytest.mark.parametrize("has_secret", [False, True])
def test_what_a_customer_bought_is_in_no_ordinary_list_of_theirs(
    merchant: Merchant, session: dict[str, str], *, has_secret: bool
) -> None:
    items = [f"tent{n}" for n in range(6)]
    merchant.push(*({"id": i, "title": "Tent", "categories": ["tents"]} for i in items))
    order = {"order_id": "A", "user_id": "77", "items": [{"item_id": "tent0"}], **session}
    headers = {"x-api-key": merchant.account.secret} if has_secret else {}
    target = "/v1/orders" if has_secret else merchant.target("/v1/orders")
    reply = merchant.client.ask("POST", target, json.dumps(order).encode(), headers)
    assert reply.status == 200
    # A new session on another device, with the publishable key.
    for query in (
        {"user_id": "77"},
        {"customer_id": "77", "user_id": "s_new"},
        {"user_id": "77", "source": "browse"},
        {"user_id": "77", "item_id": "tent1"},
    ):
        anchor = {query.get("item_id", "tent0"), "tent0"}
        assert set(merchant.recommend(num=20, **query).ids) == set(items) - anchor
    assert set(merchant.recommend(num=20, user_id="78").ids) == set(items)


@pytest.mark.parametrize(
    ("mode", "way", "is_shown"),
    [
        *(("limited", way, False) for way in UNPROVEN),
        *(("signed", way, False) for way in UNPROVEN),
        *(("open", way, True) for way in UNPROVEN),
        *((mode, way, True) for mode in MODES for way in PROVEN),
    ],
)
def test_what_was_viewed_is_shown_to_who_proves_it(
    shops: Mapping[str, CustomerShop], mode: str, way: str, *, is_shown: bool
) -> None:
    shop, customer = shops[mode], CUSTOMERS[1]
    shown = shop.ask(way, customer, placement="recently-viewed").ids
    assert (shop.viewed[customer] in shown) is is_shown


def test_an_ordinary_list_goes_by_the_visits_of_an_unproven_id_unless_all_need_a_signature(
    service: Service,
) -> None:
    lists_by_mode = {}
    for mode in MODES:
        shop = service.register(customer_lists=mode)
        shop.push(
            *(
                {"id": f"{name}{n}", "title": name, "categories": [name], "price": 5}
                for name in ("lamp", "tent")
                for n in range(6)
            )
        )
        view = {"event": "detail-page-view", "item_id": "tent0"}
        shop.track(view | {"user_id": "7", "session_id": "s_of-7"})
        lists_by_mode[mode] = [
            shop.recommend(num=4, **shopper).ids
            for shopper in ({"user_id": "7"}, {"user_id": "s_of-7"}, {})
        ]

    by_id, by_session, anonymous = lists_by_mode["limited"]
    assert by_id == by_session != anonymous
    assert lists_by_mode["open"] == lists_by_mode["limited"]
    assert lists_by_mode["signed"] == [anonymous, by_session, anonymous]


CLAIMS: Final[Mapping[str, Callable[[Merchant, str, str], list[dict[str, str]]]]] = {
    "my id is a session of theirs": lambda _, me, them: [
        {"user_id": them, "session_id": me}
    ],
    "their id is a session of mine": lambda shop, me, them: [
        {"user_id": me, "session_id": them, "identity": shop.identity(me)}
    ],
    "both": lambda shop, me, them: [
        {"user_id": me, "session_id": them, "identity": shop.identity(me)},
        {"user_id": them, "session_id": me},
    ],
    "through a session": lambda shop, me, them: [
        {"user_id": me, "session_id": "s_between", "identity": shop.identity(me)},
        {"user_id": them, "session_id": "s_between"},
    ],
}


@pytest.mark.parametrize("is_early", [False, True])
@pytest.mark.parametrize("claim", CLAIMS)
def test_nobody_joins_another_customers_history_to_their_own(
    service: Service, claim: str, *, is_early: bool
) -> None:
    shop = service.register(customer_lists="signed")
    shop.push(*({"id": i, "title": i, "price": p} for i, p in CATALOG.items()))
    me, them = "900", "7"

    def attack() -> None:
        for one in CLAIMS[claim](shop, me, them):
            view = {"event": "detail-page-view", "item_id": "16-2"} | one
            assert "warnings" not in shop.track(view).json

    if is_early:
        attack()
    shop.order("theirs", "10-0", "11-1", user_id=them, session_id="s_theirs")
    if not is_early:
        attack()

    def bought(customer: str) -> set[str]:
        signed = {"customer_id": customer, "identity": shop.identity(customer)}
        lists = [
            shop.recommend(num=20, filter=f"price:{p}..{p}", user_id="s_between", **signed)
            for p in PRICES
        ]
        return set(CATALOG) - {item_id for one in lists for item_id in one.ids}

    assert (bought(me), bought(them)) == (set(), {"10-0", "11-1"})


def test_a_network_that_names_many_customers_is_served_as_anonymous(
    service: Service,
) -> None:
    shop = service.register()
    shop.push(
        *(
            {"id": f"{name}{n}", "title": name, "categories": [name], "price": 5}
            for name in ("lamp", "tent")
            for n in range(6)
        )
    )
    view = {"event": "detail-page-view", "item_id": "tent0", "session_id": "s_1"}
    shop.track(view | {"user_id": "victim"})

    def ask(network: str, **query: str) -> list[str]:
        target = shop.target("/v1/recommendations", num=4, **query)
        return shop.client.ask("GET", target, None, {"x-forwarded-for": network}).ids

    anonymous, personal = ask("9.9.7.1"), ask("9.9.7.1", customer_id="victim")
    assert personal != anonymous
    for n in range(MAX_CUSTOMERS - 1):
        ask("9.9.7.1", customer_id=f"{n}")
        ask("9.9.7.2", user_id=f"s_{n}")  # sessions are no customers
    assert ask("9.9.7.1", customer_id="victim") == personal
    ask("9.9.7.1", customer_id="one more")

    assert ask("9.9.7.1", customer_id="victim") == anonymous
    signed = shop.identity("victim")
    assert ask("9.9.7.1", customer_id="victim", identity=signed) == personal
    assert ask("9.9.7.1", user_id="s_1") == personal  # what the session itself did
    for network in ("9.9.7.2", "127.0.0.1"):
        assert ask(network, customer_id="victim") == personal


@pytest.mark.parametrize(
    ("sent", "warned"),
    [
        ({}, ""),
        ({"identity": None}, ""),
        ({"identity": "{signed}"}, ""),
        ({"identity": "{signed}x"}, "not of the form"),
        ({"identity": 7}, "not of the form"),
        ({"identity": "{expired}"}, "expired"),
        ({"identity": "{other}"}, "not that of this id"),
        ({"identity": "{late}"}, "more than 400 days"),
        ({"identity": "x" * 1_000}, "not of the form"),
    ],
)
def test_replies_say_what_is_wrong_with_an_identity_and_are_as_without_it(
    merchant: Merchant, sent: dict[str, Any], warned: str
) -> None:
    merchant.push({"id": "tent", "title": "Tent"})
    forms = {
        "signed": merchant.identity("7"),
        "expired": merchant.identity("7", -1),
        "other": merchant.identity("8"),
        "late": merchant.identity("7", 401 * 86_400),
    }
    fields = {
        name: value.format(**forms) if isinstance(value, str) else value
        for name, value in sent.items()
    } | {"user_id": "7", "session_id": "s_7"}

    view = {"event": "detail-page-view", "item_id": "tent"} | fields
    replies = [merchant.track(view), merchant.track(view, view)]
    replies.append(merchant.order("A", "tent", **fields))
    query = {name: value for name, value in fields.items() if value is not None}
    lists = [merchant.recommend(**query), merchant.recommend(item_id="tent", **query)]
    assert [reply.json["recommendations"] for reply in lists] == [
        merchant.recommend(**known).json["recommendations"]
        for known in ({"user_id": "7"}, {"user_id": "7", "item_id": "tent"})
    ]
    searches = [
        merchant.client.ask("GET", merchant.target("/v1/search", q=text, **query))
        for text in ("tent", "tent", "")
    ]
    assert all(isinstance(reply.json["results"], list) for reply in searches)

    for reply in (*replies, *lists, *searches):
        assert reply.status == 200
        warnings = reply.json.get("warnings", [])
        assert len(warnings) == bool(warned)
        assert all(warned in one for one in warnings)


def test_the_health_report_counts_refused_identities_by_reason(merchant: Merchant) -> None:
    merchant.push({"id": "tent", "title": "Tent"})
    view = {"event": "detail-page-view", "item_id": "tent", "user_id": "7"}
    expired, wrong = merchant.identity("7", -1), merchant.identity("8")
    for identity in (expired, wrong, merchant.identity("7")):
        merchant.track(view | {"identity": identity})
        merchant.recommend(user_id="7", identity=identity)
    merchant.order("A", "tent", user_id="7", identity=expired)

    def report() -> Any:
        target = "/integration/report?name=health"
        return merchant.client.ask("GET", target, None, merchant.server).json

    def refused() -> int:
        figures = {one["name"]: one["value"] for one in report()["figures"]}
        return int(figures["identities_refused"])

    eventually(lambda: refused() == 5)
    assert (
        "Signed identities refused in the last 7 days: it has expired (3); its signature "
        "is not that of this id and this store's secret key (2)."
    ) in report()["notes"]


def test_former_ids_are_linked_to_new_ones_by_the_shops_server(service: Service) -> None:
    shop = CustomerShop(service.register())
    new = {customer: f"c_{hash(customer):032x}" for customer in CUSTOMERS}
    pairs = [{"old": old, "new": new_id} for old, new_id in new.items()]

    def link(body: object) -> Reply:
        data = json.dumps(body).encode()
        headers = shop.merchant.server
        return shop.merchant.client.ask("POST", "/integration/customer-ids", data, headers)

    for _ in range(2):
        assert link({"customers": pairs}).json == {"ok": True, "linked": len(pairs)}
    for old, new_id in new.items():
        shop.bought[new_id], shop.viewed[new_id] = shop.bought[old], shop.viewed[old]
        assert left_out(shop, "signed user_id", new_id) == shop.bought[old]
        assert left_out(shop, "secret key", new_id) == shop.bought[old]
        assert left_out(shop, "customer_id", old) == set()
        assert left_out(shop, "secret key", old) == shop.bought[old]
