"""Alert e-mails: products to order and falls of search relevance, to those who asked."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.core.timestamps import iso
from productrecs.features.forecast.forecast_replies import HORIZON_DAYS
from productrecs.features.search.relevance.query_set import add_query_by_hand
from productrecs.features.search.relevance.relevance_monitoring import read_measures
from productrecs.features.search.relevance.repository import (
    ConfigurationChange,
    RelevanceRepository,
    StoredMeasure,
)
from productrecs.records.catalog.catalog_push import upsert_items
from productrecs.records.catalog.item import ItemPatch
from productrecs.records.purchase_orders.purchase_order_line import PurchaseOrderLine
from productrecs.records.purchase_orders.repository import PurchaseOrderRepository
from productrecs.services import Services, build_services
from productrecs.settings import Settings, SmtpServer
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.storage.sql.database import Database
from productrecs.storage.sql.sequence_and_item_numbers import StoreLogTransaction
from productrecs.storage.sql.tables import forecast_runs, item_forecasts, items
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)
from productrecs.tenancy.users.repository import UserRepository
from productrecs.worker.alert_mails import (
    alerted_products,
    due_stock_actions,
    mail_and_record_stock_alerts,
    mail_newest_search_alarm,
)
from productrecs.worker.child_process_jobs import build_command_job_worker
from tests.support.dashboard import add_store, add_user
from tests.support.smtp import MailServer

ALARM = StoredMeasure(
    measured_at=2_000,
    ndcg=0.6,
    no_results=0.1,
    click_through=None,
    queries=20,
    judged_queries=12,
    ndcg_before=0.8,
    ndcg_same=0.6,
    is_alarm=True,
    changes=(ConfigurationChange("3 products were changed or removed"),),
)


def stock(services: Services, store: Store, **quantities: int) -> None:
    """Push products with a stock."""
    patches = [
        ItemPatch(name, {"title": name.title(), "price": 10.0, "stock_qty": count})
        for name, count in quantities.items()
    ]
    with services.database.transaction() as transaction:
        log = StoreLogTransaction(
            services.database, transaction, store.store_id, services.numbers
        )
        upsert_items(log, patches, services.clock(), None)
    log.cache_committed_numbers()


def forecast(services: Services, store: Store, each: float = 3.0) -> None:
    """Store a run in which every product sells `each` a day."""
    now_ms, total = services.clock(), {"mean": [each] * HORIZON_DAYS}
    ahead = np.full((2, HORIZON_DAYS), each, "<f4").tobytes()
    with services.database.transaction() as transaction:
        for table in (forecast_runs, item_forecasts):
            transaction.execute(table.delete().where(table.c.store_id == store.store_id))
        transaction.execute(
            forecast_runs.insert().values(
                store_id=store.store_id,
                generated_at=now_ms,
                first_day=iso(now_ms + 86_400_000)[:10],
                target_mode="units",
                history="[]",
                total=json.dumps(total),
                items=2,
                learned=0,
                seconds=1.0,
            )
        )
        numbers = transaction.execute(
            sa.select(items.c.number).where(items.c.store_id == store.store_id)
        ).scalars()
        for number in numbers.all():
            transaction.execute(
                item_forecasts.insert().values(
                    store_id=store.store_id,
                    item=number,
                    method="statistical",
                    days=json.dumps([[each] * 4] * HORIZON_DAYS),
                    expected=each * HORIZON_DAYS,
                    spread=0.1,
                    ahead=ahead,
                )
            )


def order(services: Services, store: Store, product: str, units: int) -> None:
    """Record goods on order that arrive in ten days."""
    now_ms = services.clock()
    line = PurchaseOrderLine(product, units, iso(now_ms + 10 * 86_400_000)[:10])
    with services.database.transaction() as transaction:
        PurchaseOrderRepository(transaction, store.store_id).add([line], now_ms)


def turn_on(database: Database, store: Store) -> None:
    """Let the owner ask for the e-mails."""
    with database.transaction() as transaction:
        users = UserRepository(transaction, store.store_id)
        subscriptions = MailSubscriptionRepository(transaction, store.store_id)
        subscriptions.set_subscription(users.all()[0].user_id, MailTopic.STOCK, is_on=True)


def test_a_product_to_order_is_mailed_once_and_the_next_one_too(
    sqlite_database: Database, data_folder: Path
) -> None:
    del sqlite_database  # it has migrated the folder
    with MailServer() as server:
        smtp = SmtpServer("127.0.0.1", server.port, "none", "recs@example.com")
        base = "https://recs.example.com"
        settings = Settings(data=data_folder, smtp=smtp, base_url=base)
        services = replace(build_services(settings), clock=system_ms)
        wanted = {"demand_forecast": "true", "contact_email": "buyer@stock.example"}
        store = add_store(services, "stock.example", **wanted)
        stock(services, store, lamp=2, vase=900)

        def night() -> int:
            alerted = alerted_products(services, store)
            forecast(services, store)
            return mail_and_record_stock_alerts(services, store, alerted)

        unasked = night()
        turn_on(services.database, store)
        sent = [night(), night()]
        stock(services, store, vase=3)
        sent.append(night())
        stock(services, store, lamp=900, vase=900)
        sent.append(night())
        stock(services, store, lamp=1)
        sent.append(night())
        order(services, store, "vase", units=900)
        stock(services, store, vase=3)
        sent.append(night())
        due = {one.item_id for one in due_stock_actions(services, store)}
        services.close()

    assert (unasked, sent) == (0, [1, 0, 1, 0, 1, 0])
    assert due == {"lamp"}, "of the vase, enough is on order"
    texts = [mail.get_content() for mail in server.mails]
    assert [("Lamp" in text, "Vase" in text) for text in texts] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert server.mails[0]["To"] == "owner@stock.example"
    assert server.mails[0]["Reply-To"] == "buyer@stock.example"
    assert server.mails[0]["Subject"] == "stock.example: 1 product to order"
    assert f"{base}/dashboard/demand" in texts[0]


def test_a_failed_mail_is_sent_the_next_night(
    sqlite_database: Database, data_folder: Path
) -> None:
    del sqlite_database
    settings = Settings(
        data=data_folder, smtp=SmtpServer("127.0.0.1", 9, "none", "a@example.com")
    )
    services = replace(build_services(settings), clock=system_ms)
    store = add_store(services, "stock.example", demand_forecast="true")
    stock(services, store, lamp=2)
    turn_on(services.database, store)
    forecast(services, store)

    sent = mail_and_record_stock_alerts(services, store, frozenset())
    alerted = alerted_products(services, store)
    services.close()

    assert (sent, alerted) == (0, frozenset())


def store_measure(services: Services, store: Store, measure: StoredMeasure) -> None:
    with services.database.transaction() as transaction:
        RelevanceRepository(transaction, store.store_id).add_measure(measure)


def test_an_alarm_is_mailed_once_to_those_who_asked_for_it(
    sqlite_database: Database, data_folder: Path
) -> None:
    del sqlite_database  # it has migrated the folder
    with MailServer() as server:
        smtp = SmtpServer("127.0.0.1", server.port, "none", "recs@example.com")
        base = "https://recs.example.com"
        settings = Settings(data=data_folder, smtp=smtp, base_url=base)
        services = replace(build_services(settings), clock=system_ms)
        store = add_store(services, "search.example")
        add_user(services, store, Role.EDITOR)
        store_measure(services, store, replace(ALARM, measured_at=1_000, is_alarm=False))
        sent = [mail_newest_search_alarm(services, store, 1_000)]
        store_measure(services, store, ALARM)
        sent.append(mail_newest_search_alarm(services, store, 2_000))
        with services.database.transaction() as transaction:
            users = UserRepository(transaction, store.store_id)
            owner = next(one for one in users.all() if one.role is Role.OWNER)
            subscriptions = MailSubscriptionRepository(transaction, store.store_id)
            subscriptions.set_subscription(
                owner.user_id, MailTopic.SEARCH_RELEVANCE, is_on=True
            )
        sent.append(mail_newest_search_alarm(services, store, 2_000))
        sent.append(mail_newest_search_alarm(services, store, 2_001))
        services.close()

    assert sent == [0, 0, 1, 0]
    (mail,) = server.mails
    assert mail["To"] == "owner@search.example"
    text = mail.get_content()
    assert "fell from 0.80 to 0.60, by 25%" in text
    assert "3 products were changed or removed" in text
    assert "https://recs.example.com/dashboard/search/relevance" in text


def test_the_worker_measures_a_store_in_a_process_of_its_own(
    sqlite_database: Database, data_folder: Path
) -> None:
    del sqlite_database
    services = build_services(Settings(data=data_folder))
    store = add_store(services, "search.example")
    add_query_by_hand(services.database, store, "lamp", services.clock())
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "measure-search"))

    assert build_command_job_worker(services).run_next_job()

    (measure,) = read_measures(services.database, store.store_id)
    assert (measure.queries, measure.no_results, measure.ndcg) == (1, 1.0, None)
    services.close()
