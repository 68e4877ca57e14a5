"""Weekly report mail: once a week, in the store's time zone, to those who asked."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from productrecs.core.clock import HOUR_MS, MINUTE_MS
from productrecs.records.search_counts.repository import SearchCount, SearchCountRepository
from productrecs.services import build_services
from productrecs.settings import Settings, SmtpServer
from productrecs.storage.jobs.job_queue import NewJob
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)
from productrecs.tenancy.users.repository import UserRepository
from productrecs.worker.store_jobs import build_store_job_worker
from productrecs.worker.weekly_report_mail import (
    is_stop_signature_valid,
    mail_due_weekly_reports,
    newest_due_week,
    stores_with_due_weekly_reports,
)
from tests.support.dashboard import add_store, add_user
from tests.support.smtp import MailServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from productrecs.services import Services
    from productrecs.storage.sql.database import Database
    from productrecs.tenancy.accounts.store import Store

BASE = "https://recs.example.com"
MONDAY = datetime(2026, 3, 9, tzinfo=UTC)  # in Tokyo it is nine in the morning


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


class Shop:
    """A store in Tokyo, its clock, and the mails it sends."""

    def __init__(self, folder: Path, server: MailServer) -> None:
        self.now_ms = ms(MONDAY - timedelta(days=5))
        smtp = SmtpServer("127.0.0.1", server.port, "none", "recs@example.com")
        settings = Settings(data=folder, smtp=smtp, base_url=BASE)
        self.services: Services = replace(
            build_services(settings), clock=lambda: self.now_ms
        )
        self.store: Store = add_store(
            self.services, "shop.example", timezone="Asia/Tokyo", language="de"
        )
        self.server = server

    def subscribe(self, user_id: str) -> None:
        """Turn a user's report on now."""
        with self.services.database.transaction() as transaction:
            mails = MailSubscriptionRepository(transaction, self.store.store_id)
            mails.set_subscription(user_id, MailTopic.WEEKLY_REPORT, is_on=True)
            mails.record_weekly_report(user_id, self.now_ms)

    def due_at(self, moment: datetime) -> int:
        """Return how many mails a worker sends at a moment."""
        self.now_ms, before = ms(moment), len(self.server.mails)
        due = stores_with_due_weekly_reports(self.services, [self.store])
        for store_id in due:
            assert store_id == self.store.store_id
            mail_due_weekly_reports(self.services, self.store)
        return len(self.server.mails) - before


def owner_of(shop: Shop) -> str:
    """Return the owner's id."""
    with shop.services.database.reading() as connection:
        users = UserRepository(connection, shop.store.store_id).all()
    return next(one.user_id for one in users if one.role is Role.OWNER)


@pytest.fixture
def shop(sqlite_database: Database, data_folder: Path) -> Iterator[Shop]:
    del sqlite_database  # it has migrated the folder
    with MailServer() as server:
        found = Shop(data_folder, server)
        yield found
        found.services.close()


def test_the_report_is_mailed_once_in_the_morning_after_the_week_to_those_who_asked(
    shop: Shop,
) -> None:
    subscriber = add_user(shop.services, shop.store, Role.VIEWER)
    add_user(shop.services, shop.store, Role.EDITOR)
    shop.subscribe("viewer")
    tokyo_morning = MONDAY - timedelta(hours=2)  # 07:00 there

    sent = [
        shop.due_at(moment)
        for moment in (
            tokyo_morning - timedelta(days=1),
            tokyo_morning - timedelta(minutes=1),
            tokyo_morning,
            tokyo_morning + timedelta(minutes=10),
            tokyo_morning + timedelta(days=6),
            tokyo_morning + timedelta(days=7, hours=3),
            tokyo_morning + timedelta(days=15),  # the worker did not run in time
        )
    ]

    assert sent == [0, 0, 1, 0, 0, 1, 0]
    assert {mail["To"] for mail in shop.server.mails} == {subscriber}
    assert shop.server.mails[0]["Subject"] == (
        "shop.example: your week, 2026-03-02 to 2026-03-08"
    )


def test_the_report_has_the_weeks_figures_in_the_stores_format(shop: Shop) -> None:
    shop.subscribe(owner_of(shop))
    days = {"2026-03-01": 7, "2026-03-02": 1_200, "2026-03-08": 300, "2026-03-09": 9}
    with shop.services.database.transaction() as transaction:
        counts = SearchCountRepository(transaction, shop.store.store_id)
        for day, searches in days.items():
            tent = SearchCount("tent", searches, 0)
            pegs = SearchCount("tent pegs", searches, searches)
            counts.add(day, {"tent": tent, "peg tent": pegs})

    shop.due_at(MONDAY)
    text = shop.server.mails[0].get_content()

    assert "Sales after recommendations: 0,00" in text
    assert "Searches: 3.000; 50,0 % found nothing" in text
    assert "- tent pegs: 1.500 times" in text
    assert "- tent: " not in text
    assert f"{BASE}/dashboard?from=2026-03-02&until=2026-03-08" in text


def test_a_mail_names_a_signed_link_that_ends_the_report_of_its_reader_alone(
    shop: Shop,
) -> None:
    owner = owner_of(shop)
    shop.subscribe(owner)
    shop.due_at(MONDAY)
    mail = shop.server.mails[0]

    link = re.fullmatch(r"<(.*)>", mail["List-Unsubscribe"].replace("\n", ""))
    assert link is not None
    assert link[1] in mail.get_content()
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    query = {name: value[0] for name, value in parse_qs(urlsplit(link[1]).query).items()}
    signature, secrets = query["signature"], shop.store.secrets
    assert query["user"] == owner
    for user_id, sent, is_valid in (
        (owner, signature, True),
        ("viewer", signature, False),
        (owner, signature[:-1], False),
        (owner, "", False),
    ):
        assert is_stop_signature_valid(secrets, user_id, sent, shop.now_ms) is is_valid


def test_a_mail_that_is_refused_is_tried_again_and_the_others_are_sent_once(
    shop: Shop,
) -> None:
    add_user(shop.services, shop.store, Role.VIEWER, "refused")
    shop.subscribe("refused")
    shop.subscribe(owner_of(shop))

    first = shop.due_at(MONDAY)
    due_again = stores_with_due_weekly_reports(shop.services, [shop.store])
    second = shop.due_at(MONDAY + timedelta(minutes=10))

    assert (first, due_again, second) == (1, [shop.store.store_id], 0)


@pytest.mark.parametrize(
    ("timezone", "week_start", "days"),
    [
        ("UTC", "monday", ("2026-03-02", "2026-03-08")),
        ("America/Los_Angeles", "monday", ("2026-02-23", "2026-03-01")),
        ("UTC", "sunday", ("2026-03-01", "2026-03-07")),
    ],
)
def test_a_week_ends_by_the_stores_zone_and_first_day(
    timezone: str, week_start: str, days: tuple[str, str]
) -> None:
    settings = StoreSettings(timezone=timezone, week_start=week_start)
    week = newest_due_week(settings, ms(MONDAY + timedelta(hours=8)))

    assert (str(week.first_day), str(week.last_day)) == days
    assert week.due_at % HOUR_MS == 0


def test_a_worker_sends_it_by_its_schedule(shop: Shop) -> None:
    shop.subscribe(owner_of(shop))
    shop.now_ms = ms(MONDAY) + MINUTE_MS
    worker = build_store_job_worker(shop.services)
    with shop.services.database.transaction() as transaction:
        job = NewJob(shop.store.store_id, "mail-weekly-reports")
        shop.services.queue.enqueue(transaction, job)

    while worker.run_next_job():
        pass

    assert len(shop.server.mails) == 1
