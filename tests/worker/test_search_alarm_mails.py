"""Search alarms: the worker measures a store, and mails a loss to who asked for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from productrecs.core.clock import system_ms
from productrecs.features.search.relevance.query_set import add_query
from productrecs.features.search.relevance.relevance_history import read_measures
from productrecs.features.search.relevance.repository import (
    ConfigurationChange,
    RelevanceRepository,
    StoredMeasure,
)
from productrecs.services import build_services
from productrecs.settings import Settings, SmtpServer
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.repository import UserRepository
from productrecs.worker.isolated_jobs import build_command_job_worker
from productrecs.worker.search_alarm_mails import mail_search_alarm
from tests.support.dashboard import add_store, add_user
from tests.support.smtp import MailServer

if TYPE_CHECKING:
    from pathlib import Path

    from productrecs.services import Services
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store

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
        sent = [mail_search_alarm(services, store, 1_000)]
        store_measure(services, store, ALARM)
        sent.append(mail_search_alarm(services, store, 2_000))
        with services.database.transaction() as transaction:
            users = UserRepository(transaction, store.store_id)
            owner = next(one for one in users.all() if one.role is Role.OWNER)
            users.set_search_mails(owner.user_id, is_on=True)
        sent.append(mail_search_alarm(services, store, 2_000))
        sent.append(mail_search_alarm(services, store, 2_001))
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
    add_query(services.database, store, "lamp", services.clock())
    with services.database.transaction() as transaction:
        services.queue.enqueue(transaction, NewJob(store.store_id, "measure-search"))

    assert build_command_job_worker(services).run_next_job()

    (measure,) = read_measures(services.database, store.store_id)
    assert (measure.queries, measure.no_results, measure.ndcg) == (1, 1.0, None)
    services.close()
