"""Reset links and invitations by e-mail, with an SMTP server of the test's own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from productrecs.core.clock import system_ms
from productrecs.entrypoints.http.application import create_application
from productrecs.entrypoints.services import build_services
from productrecs.settings import Settings, SettingsError, SmtpServer, from_environment
from tests.api.inside import Inside
from tests.entrypoints.http.dashboard.conftest import Office
from tests.support.dashboard import Member, add_store, text_of
from tests.support.service import Service, eventually
from tests.support.smtp import MailServer

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = "https://recs.example.com"
RESET = "/dashboard/reset"


@pytest.fixture(scope="module")
def server() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def mailing(
    tmp_path_factory: pytest.TempPathFactory, server: MailServer
) -> Iterator[Office]:
    place = Service(tmp_path_factory.mktemp("mailing")).prepare()
    smtp = SmtpServer(
        "127.0.0.1", server.port, "none", "Recs <recs@example.com>", "me", "pass"
    )
    settings = Settings(data=place.folder, base_url=BASE, smtp=smtp)
    services = replace(build_services(settings), clock=system_ms)
    with Inside(create_application(services, draining=[])) as inside:
        yield Office(services, inside, system_ms())


@pytest.fixture(autouse=True)
def _empty(server: MailServer) -> None:
    server.mails.clear()


def links_in(server: MailServer, to: str) -> list[str]:
    """Return the links of the newest mail to `to`; an earlier test's may still arrive."""
    newest = [mail for mail in server.mails if mail["To"] == to][-1]
    return re.findall(rf"{BASE}(/dashboard/\S+)", newest.get_content())


def test_a_reset_link_comes_by_mail_whatever_host_asked(
    mailing: Office, server: MailServer
) -> None:
    store = add_store(mailing.services, "reset.example")
    guest = Member(mailing.inside, headers={"host": "evil.example"})

    reply = guest.post(RESET, email=f" Owner@{store.domain}")
    eventually(lambda: server.mails)
    (link,) = links_in(server, f"owner@{store.domain}")
    token = link.partition("token=")[2]
    done = guest.post(RESET, page=link, token=token, password="another password")

    assert "we have sent a link to it" in text_of(reply)
    assert server.mails[0]["To"] == f"owner@{store.domain}"
    assert server.logins[-1] == "\0me\0pass"
    assert done.status == 303
    assert Member(mailing.inside).log_in(store.domain, "another password").status == 303


def test_who_asks_does_not_learn_who_has_a_login(
    mailing: Office, server: MailServer
) -> None:
    add_store(mailing.services, "known.example")
    emails = ["owner@known.example", "nobody@nowhere.example"]

    replies = [Member(mailing.inside).post(RESET, email=email) for email in emails]
    eventually(lambda: server.mails)

    told = [text_of(one).replace(to, "") for one, to in zip(replies, emails, strict=True)]
    assert told[0] == told[1]
    assert [one.status for one in replies] == [200, 200]
    assert [mail["To"] for mail in server.mails] == ["owner@known.example"]


def test_links_are_not_sent_without_end(mailing: Office, server: MailServer) -> None:
    add_store(mailing.services, "often.example")
    guest = Member(mailing.inside, headers={"x-forwarded-for": "203.0.113.9"})

    statuses = [guest.post(RESET, email="owner@often.example").status for _ in range(14)]

    assert statuses[0] == 200
    assert statuses[-1] == 429
    assert len(server.mails) < 14


def test_an_invitation_goes_by_mail_else_its_link_is_shown(
    mailing: Office, server: MailServer
) -> None:
    store = add_store(mailing.services, "team.example")
    member, team = mailing.member(store), "/dashboard/team"

    sent = member.post(f"{team}/invite", page=team, email="bea@team.example", role="viewer")
    shown = member.post(
        f"{team}/invite", page=team, email="refused@team.example", role="viewer"
    )

    assert sent.status == 303
    (link,) = links_in(server, "bea@team.example")
    assert "team.example" in text_of(Member(mailing.inside).get(link))
    assert "/dashboard/invitation?token=" in text_of(shown)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"PRODUCTRECS_BASE_URL": ""}, "needs PRODUCTRECS_BASE_URL"),
        ({"PRODUCTRECS_SMTP_FROM": ""}, "must name the sender"),
        ({"PRODUCTRECS_SMTP_SECURITY": "ssl"}, "use starttls, tls or none"),
        ({}, ""),
    ],
)
def test_a_mail_server_is_set_up_as_a_whole(changed: dict[str, str], told: str) -> None:
    environment = {
        "PRODUCTRECS_BASE_URL": BASE,
        "PRODUCTRECS_SMTP_HOST": "mail.example.com",
        "PRODUCTRECS_SMTP_FROM": "recs@example.com",
        "PRODUCTRECS_SMTP_PASSWORD": "secret",
    }
    if told:
        with pytest.raises(SettingsError, match=told):
            from_environment(environment | changed)
        return

    found = from_environment(environment).smtp

    expected = SmtpServer("mail.example.com", 587, "starttls", "recs@example.com")
    assert found == replace(expected, password="secret")
