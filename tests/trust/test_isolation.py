"""Store isolation: nothing of one store shows in another's replies or changes by them.

Two stores use the same ids for everything. Every text that store A says of itself holds a
canary, and so does no text of B: then B calls every route with A's ids.
"""

import hashlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from productrecs.core.ids import StoreId
from productrecs.http.dispatch import admission
from productrecs.http.pipeline.authentication import Caller, RequestKeys
from productrecs.http.pipeline.route_declaration import CredentialKind
from productrecs.report_registry import REPORT_TYPES
from productrecs.services import build_services
from productrecs.settings import Settings
from productrecs.storage.sql.tables import metadata
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from tests.api.inside import Inside, of_our_own
from tests.api.routes import (
    ASSISTANT_CALLS,
    PHOTO,
    TABLE,
    UPLOAD,
    Call,
    body,
    form,
    routes_of_the_service,
    upload,
)
from tests.support.service import OPERATOR, Merchant, Reply, Service, eventually

CANARY: Final = "kanarienvogel"
IDS: Final = [f"item-{n}" for n in range(12)]
ONLY_A: Final = "only-in-a"
TYPES: Final = ("recs", "search")
SHOPPERS: Final = ("s_1", "s_2", "customer-1", "only-of-a")
# What the machinery writes by itself, whoever calls: not what a store sent.
BACKGROUND: Final = {
    *("jobs", "duties", "models", "pictures", "search_counts", "question_counts"),
    *("attribution_marks", "credit_days", "touch_days", "event_hours", "outcomes"),
    *("look_days", "key_uses", "assistant_calls", "assistant_attributions"),
    "data_sizes",
    *("mail_choices", "mail_days"),
    *("experiment_days", "outcome_days", "insights", "stock_outs"),
    *("forecast_drafts", "forecast_runs", "item_forecasts"),
    *("relevance_queries", "relevance_measures"),
}
BY_ITSELF: Final = {
    "model_id",
    "pictured_seq",
    "picture_seq",
    "visual_seq",
    "visual_taught_seq",
    "visual_id",
}
VARIANT: Final = {"name": "b", "share": 50, "changes": {"search_sold_out": "last"}}
Calls = Sequence[Call]


@dataclass(frozen=True)
class A:
    """The store that the other asks for."""

    merchant: Merchant
    upload_id: str
    bundle_id: int = 1


def settle(merchant: Merchant) -> A:
    """Let A say the rest of what a store can say: its look, its platform, its past."""
    server, css = merchant.server, f"/* {CANARY} */"
    calls = [
        *(
            (
                "PUT",
                f"/integration/widget-config?type={one}",
                body(settings={"title": CANARY}, custom_css=css),
            )
            for one in TYPES
        ),
        ("POST", "/integration/connect", body(store_url=f"https://{CANARY}.example")),
        ("POST", "/integration/tests", body(name="canarys-test", variants=[VARIANT])),
    ]
    for method, target, sent in calls:
        reply = merchant.client.ask(method, target, sent, server)
        assert reply.status == 200, reply
    upload_id = upload(
        merchant, f"order_id,item_id,customer_id\n{CANARY},{IDS[0]},{CANARY}\n"
    )

    def is_done() -> bool:
        reply = merchant.client.ask("GET", f"/orders/upload/{upload_id}", None, server)
        return bool(reply.json["status"] == "done")

    eventually(is_done, 30)
    bundle = body(item_ids=[ONLY_A, IDS[0]], name=CANARY)
    made = merchant.client.ask("POST", "/integration/bundles", bundle, server)
    return A(merchant, upload_id, made.json["id"])


def live(merchant: Merchant, mark: str, *, is_a: bool) -> None:
    """Let a store have a catalog, shoppers and orders; `mark` is in every text of it."""
    items = [
        {
            "id": item_id,
            "title": f"{mark} {item_id}",
            "sku": f"{mark}-sku",
            "description": mark,
            "categories": ["shared", mark],
            "category_ids": [mark],
            "price": 10,
            "product_url": f"https://shop.example/{mark}/{item_id}",
            "image_url": f"https://shop.example/{mark}/{item_id}.jpg",
        }
        for item_id in (*IDS, ONLY_A)[: 13 if is_a else 12]
    ]
    assert merchant.push(*items).status == 200
    for shopper in SHOPPERS[: 4 if is_a else 3]:
        events: list[dict[str, object]] = [
            {"event": "detail-page-view", "item_id": item_id, "session_id": shopper}
            for item_id in IDS
        ]
        events.append({"event": "search-pref", "search_query": mark, "session_id": shopper})
        assert merchant.track(*events).status == 200
        for n in range(3):
            items_of_order = (*IDS[n : n + 4], ONLY_A)[: 5 if is_a else 4]
            sent = merchant.order(f"{shopper}-{n}", *items_of_order, user_id=shopper)
            assert sent.json["duplicate"] is False


def _lists(_a: A) -> Calls:
    queries = [f"item_id={query}" for query in (*IDS[:4], ONLY_A)]
    queries += [
        f"{name}={query}" for name in ("user_id", "customer_id") for query in SHOPPERS
    ]
    queries += [f"item_ids={','.join(IDS[:5])}", f"item_ids={ONLY_A},{IDS[0]}", "num=20"]
    return [
        Call(f"/v1/recommendations?num=20&source={source}&{query}")
        for source in ("mix", "buy", "browse")
        for query in queries
    ] + [
        Call(f"/v1/recommendations?num=20&source=similar&{query}") for query in queries[:5]
    ]


def _events(_a: A) -> Calls:
    return [
        Call(
            "/v1/events",
            body(event=event, item_id=item_id, session_id=shopper, order_id=f"{shopper}-0"),
        )
        for event in ("detail-page-view", "buy", "add-to-cart")
        for item_id in (*IDS[:3], ONLY_A)
        for shopper in SHOPPERS
    ]


def _orders(_a: A) -> Calls:
    return [
        Call("/v1/orders", body(order_id=f"{shopper}-{n}", items=[{"item_id": IDS[n]}]))
        for shopper in SHOPPERS
        for n in range(3)
    ]


def _plain(*targets: str) -> Callable[[A], Calls]:
    return lambda _: [Call(target) for target in targets]


_COUNT: Final = itertools.count()  # a set is stored once

# Every route, asked by B for what is A's: a route without a row fails.
CALLS: Final[dict[tuple[str, str], Callable[[A], Calls]]] = {
    ("GET", "/v1/recommendations"): _lists,
    ("GET", "/v1/trending"): _plain(
        *(f"/v1/trending?num=20&user_id={s}" for s in SHOPPERS)
    ),
    ("GET", "/v1/search"): _plain(
        "/v1/search",
        # The beginning of the canary: B's own report tells what B's shoppers asked.
        *(f"/v1/search?num=50&q={one}" for one in (CANARY[:8], ONLY_A, *IDS[:3])),
    ),
    ("GET", "/v1/widget-config"): _plain(*(f"/v1/widget-config?type={t}" for t in TYPES)),
    ("POST", "/v1/search/image"): lambda _: [
        Call("/v1/search/image", body(image=PHOTO, num=20))
    ],
    ("POST", "/v1/shop-the-look/analyze"): lambda _: [
        Call("/v1/shop-the-look/analyze", body(image=PHOTO))
    ],
    ("GET", "/v1/looks"): _plain(
        *(f"/v1/looks?item_id={one}" for one in (ONLY_A, *IDS[:3])), "/v1/looks"
    ),
    ("GET", "/v1/forecast/summary"): _plain("/v1/forecast/summary"),
    ("GET", "/v1/forecast/items/{item_id}"): _plain(
        *(f"/v1/forecast/items/{one}" for one in (ONLY_A, *IDS[:3]))
    ),
    ("POST", "/v1/events"): _events,
    ("POST", "/v1/orders"): _orders,
    ("POST", "/v1/items"): lambda _: [
        Call("/v1/items", body(items=[{"id": one, "price": 1}])) for one in (*IDS, "only-b")
    ],
    ("GET", "/v1/items"): _plain("/v1/items", "/v1/items?fields=id"),
    ("GET", "/v1/items/{item_id}"): _plain(*(f"/v1/items/{i}" for i in (ONLY_A, *IDS))),
    ("GET", "/v1/orders"): _plain("/v1/orders", "/v1/orders?fields=id"),
    ("GET", "/v1/orders/{order_id}"): _plain("/v1/orders/s_1-0", "/v1/orders/s_2-0"),
    ("DELETE", "/v1/items/{item_id}"): _plain(*(f"/v1/items/{i}" for i in (ONLY_A, *IDS))),
    ("POST", "/orders/upload"): lambda _: [
        Call("/orders/upload", form(f"order_id,item_id\ns_1-0,{IDS[5]}"), UPLOAD)
    ],
    ("GET", "/orders/upload/{upload_id}"): lambda a: [
        Call(f"/orders/upload/{a.upload_id}")
    ],
    ("POST", "/integration/connect"): _plain("/integration/connect"),
    ("GET", "/integration/widget-config"): _plain(
        *(f"/integration/widget-config?type={one}" for one in TYPES)
    ),
    ("PUT", "/integration/widget-config"): lambda _: [
        Call(f"/integration/widget-config?type={one}", body(settings={"title": "sparrow"}))
        for one in TYPES
    ],
    ("GET", "/integration/recommender-settings"): _plain(
        "/integration/recommender-settings"
    ),
    ("PUT", "/integration/recommender-settings"): lambda _: [
        Call("/integration/recommender-settings", body(rec_num=9))
    ],
    ("GET", "/integration/bundles"): _plain("/integration/bundles"),
    ("POST", "/integration/bundles"): lambda _: [
        Call(
            "/integration/bundles",
            body(item_ids=[ONLY_A, f"with-{next(_COUNT)}"], state="rejected"),
        )
    ],
    ("PUT", "/integration/bundles"): lambda a: [
        Call(f"/integration/bundles?id={a.bundle_id}", body(name="sparrow"))
    ],
    ("DELETE", "/integration/bundles"): lambda a: [
        Call(f"/integration/bundles?id={a.bundle_id}")
    ],
    ("GET", "/integration/purchase-orders"): _plain("/integration/purchase-orders"),
    ("PUT", "/integration/purchase-orders"): lambda _: [
        Call(
            "/integration/purchase-orders",
            body(
                lines=[{"item_id": ONLY_A, "quantity": 1, "expected_day": "2026-03-01"}],
            ),
        )
    ],
    ("GET", "/integration/tests"): _plain("/integration/tests"),
    ("POST", "/integration/tests"): lambda _: [
        Call("/integration/tests", body(name=f"test-{next(_COUNT)}", variants=[VARIANT]))
    ],
    ("PUT", "/integration/tests"): lambda _: [
        Call("/integration/tests", body(name="canarys-test", action="remove"))
    ],
    ("POST", "/integration/engines/init"): lambda _: [
        Call("/integration/engines/init", body(currency="GBP"))
    ],
    ("POST", "/integration/sync-engines"): _plain("/integration/sync-engines"),
    ("POST", "/integration/train"): _plain("/integration/train"),
    ("GET", "/integration/status"): _plain("/integration/status"),
    ("GET", "/integration/report"): _plain(
        *(f"/integration/report?name={one}" for one in REPORT_TYPES)
    ),
    ("POST", "/integration/customer-ids"): lambda _: [
        Call(
            "/integration/customer-ids",
            body(customers=[{"old": one, "new": f"{one}-new"} for one in SHOPPERS]),
        )
    ],
    ("POST", "/integration/dashboard-link"): lambda a: [
        Call(
            "/integration/dashboard-link", body(email=f"owner@{a.merchant.account.domain}")
        )
    ],
    ("GET", "/health/live"): _plain("/health/live"),
    ("GET", "/health/ready"): _plain("/health/ready"),
    ("GET", "/metrics"): lambda _: [Call("/metrics", None, OPERATOR)],
    ("GET", "/openapi.json"): _plain("/openapi.json"),
    ("GET", "/ucp-schemas/related-products.json"): _plain(
        "/ucp-schemas/related-products.json"
    ),
    ("GET", "/docs"): _plain("/docs"),
    ("GET", "/docs/{asset}"): _plain("/docs/pages.css"),
    ("GET", "/llms.txt"): _plain("/llms.txt"),
    ("GET", "/llms-full.txt"): _plain("/llms-full.txt"),
    ("GET", "/docs-md/{slug}.md"): _plain("/docs-md/keys.md"),
    ("GET", "/guides"): _plain("/guides"),
    ("GET", "/guides/{slug}"): _plain("/guides/keys"),
    # A store's scripts are for whoever knows its domain; a stranger's domain has none.
    ("GET", "/widget/v1/{store_domain}.js"): _plain("/widget/v1/nobody.example.js"),
    ("GET", "/widget/v1/search-{store_domain}.js"): _plain(
        "/widget/v1/search-nobody.example.js"
    ),
    ("GET", "/widget/v1/look-{store_domain}.js"): _plain(
        "/widget/v1/look-nobody.example.js"
    ),
    ("GET", "/widget/v1/_/{build}.js"): _plain("/widget/v1/_/tools.js"),
    ("GET", "/plugin/service-recommender.zip"): _plain("/plugin/service-recommender.zip"),
    ("GET", "/plugin/productrecs.ocmod.zip"): _plain("/plugin/productrecs.ocmod.zip"),
    ("GET", "/plugin/productrecs-prestashop.zip"): _plain(
        "/plugin/productrecs-prestashop.zip"
    ),
    # So are the pictures of its looks, for whoever knows which: see test_looks.
    ("GET", "/look-pictures/{store_domain}/{picture_id}.jpg"): _plain(
        "/look-pictures/nobody.example/0f343b0931126a20f133d67c2b018a3b.jpg"
    ),
    # Feeds are for whoever knows their signed address: see test_product_feeds.
    ("GET", "/product-feeds/{store_domain}/{file_name}"): lambda a: [
        Call(f"/product-feeds/{a.merchant.account.domain}/google.xml?signature=0")
    ],
    # Mail slots are for whoever knows their signed address: see test_mail_slots.
    **{
        ("GET", f"/v1/mail/{part}/{{slot}}"): _plain(
            f"/v1/mail/{part}/newsletter?signature=0&user_id=only-of-a"
        )
        for part in ("image", "link", "products")
    },
    # A store's catalog is for all assistants, while it is on: see test_assistant_catalog.
    **{
        (method, f"/ucp/{{store_domain}}/{path}"): _plain(
            f"/ucp/nobody.example/{path.replace('{version}', '2026-08-25')}"
        )
        for method, path, _ in ASSISTANT_CALLS
    },
    ("POST", "/mcp"): lambda _: [
        Call("/mcp", body(jsonrpc="2.0", id=1, method="tools/list"))
    ],
    ("GET", "/"): _plain("/"),
}


def ask_everything(caller: Merchant, a: A, times: int = 2) -> list[tuple[str, Reply]]:
    """Return every reply to a caller who asks every route for what is A's, `times` over."""
    keys = {"x-pub-key": caller.account.publishable, "x-api-key": caller.account.secret}
    return [
        (
            f"{method} {call.target} {call.body!r}",
            caller.client.ask(method, call.target, call.body, {**call.headers, **keys}),
        )
        for _ in range(times)  # again: from whatever was cached of the first time
        for (method, _), calls in CALLS.items()
        for call in calls(a)
    ]


def leaks(replies: list[tuple[str, Reply]]) -> list[str]:
    """Return the calls whose reply holds anything of A's."""
    return [
        call
        for call, reply in replies
        # Some replies are files, which are no UTF-8.
        if CANARY in (text := reply.body.decode("latin-1")) + str(reply.headers)
        or f'"id":"{ONLY_A}","title"' in text
    ]


def row_hash(service: Service, merchant: Merchant) -> str:
    """Return a hash of every row that a store has, in every table."""
    digest = hashlib.sha256()
    with service.database() as database, database.reading() as connection:
        for table in metadata.sorted_tables:
            if "store_id" not in table.c or table.name in BACKGROUND:
                continue
            columns = [column for column in table.columns if column.name not in BY_ITSELF]
            query = (
                sa.select(*columns)
                .where(table.c.store_id == merchant.account.store_id)
                .order_by(*table.primary_key.columns)
            )
            rows = [tuple(row) for row in connection.execute(query)]
            digest.update(repr((table.name, rows)).encode())
    return digest.hexdigest()


def test_every_route_has_its_calls() -> None:
    assert set(CALLS) == set(TABLE) == routes_of_the_service()


@pytest.mark.parametrize(
    ("database_kind", "workers", "times", "calls"),
    [
        ("sqlite", 2, 2, 800),
        # Processes and caches are the same over both databases: here one of each will do.
        pytest.param("postgres", 1, 1, 200, marks=pytest.mark.postgres),
        pytest.param("sqlite", 2, 6, 2_400, marks=pytest.mark.trust),
        pytest.param(
            *("postgres", 2, 6, 2_400), marks=(pytest.mark.postgres, pytest.mark.trust)
        ),
    ],
    indirect=["database_kind"],
)
def test_nothing_of_a_store_shows_in_anothers_replies_or_changes_by_its_calls(
    data_folder: Path, database_url: str | None, workers: int, times: int, calls: int
) -> None:
    with Service(data_folder, database_url, workers).prepare() as service:
        a, b = service.register(), service.register()
        live(a, CANARY, is_a=True)
        live(b, "sparrow", is_a=False)
        theirs = settle(a)
        for merchant in (a, b):
            service.train(merchant)
        everywhere = service.everywhere(b)
        eventually(lambda: all(_bought_together(there) for there in everywhere))
        before = row_hash(service, a)

        replies = [
            reply for there in everywhere for reply in ask_everything(there, theirs, times)
        ]

        assert leaks(replies) == []
        assert len([one for _, one in replies if b"sparrow" in one.body]) > 50
        assert {reply.status for _, reply in replies} == {200, 202, 302, 404}
        assert len(replies) >= calls
        assert row_hash(service, a) == before
        assert len(leaks(ask_everything(a, theirs, 1))) > 50  # the canary sings at home


def _bought_together(merchant: Merchant) -> list[str]:
    return merchant.recommend(source="buy", item_id=IDS[0]).ids


def test_control_a_service_that_takes_one_store_for_another_leaks(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(data_folder).prepare()
    a, b = service.register(), service.register()
    with Inside(of_our_own(build_services(Settings(data=data_folder)))) as inside:
        live(a.through(inside), CANARY, is_a=True)
        live(b.through(inside), "sparrow", is_a=False)
        before = row_hash(service, a)

        def takes_all_for_a(
            _keys: RequestKeys, wanted: CredentialKind, accounts: AccountDirectory
        ) -> Caller:
            store = accounts.by_id(StoreId(a.account.store_id))
            assert store is not None
            return Caller(store, wanted)

        monkeypatch.setattr(admission, "authenticate", takes_all_for_a)
        replies = ask_everything(b.through(inside), A(a, "none"))

    assert len(leaks(replies)) > 20
    assert row_hash(service, a) != before
