"""Reset links and invitations by e-mail, with an SMTP server of the test's own."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from productrecs.application import create_application
from productrecs.core.clock import system_ms
from productrecs.services import build_services
from productrecs.settings import Settings, SettingsError, SmtpServer, from_environment
from productrecs.tenancy.accounts.team_members import create_registration_invitation
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.repository import UserRepository
from tests.api.inside import Inside
from tests.dashboard.conftest import Office
from tests.support.dashboard import PASSWORD, Member, add_store, text_of
from tests.support.service import Service, eventually
from tests.support.smtp import MailServer

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
    settings = Settings(
        data=place.folder, base_url=BASE, smtp=smtp, registration="invitation"
    )
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


def test_a_reset_mail_links_to_the_configured_host_only(
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

    pages = [text_of(one).replace(to, "") for one, to in zip(replies, emails, strict=True)]
    assert pages[0] == pages[1]
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
    contact = {"contact_email": "help@team.example"}
    store = add_store(mailing.services, "team.example", **contact)
    member, team = mailing.member(store), "/dashboard/team"

    sent = member.post(f"{team}/invite", page=team, email="bea@team.example", role="viewer")
    shown = member.post(
        f"{team}/invite", page=team, email="refused@team.example", role="viewer"
    )

    assert sent.status == 303
    (link,) = links_in(server, "bea@team.example")
    assert "team.example" in text_of(Member(mailing.inside).get(link))
    assert server.mails[-1]["Reply-To"] == "help@team.example"
    assert "Questions? Write to help@team.example" in server.mails[-1].get_content()
    assert "/dashboard/invitation?token=" in text_of(shown)


def test_who_registers_confirms_the_address_by_a_mailed_link(
    mailing: Office, server: MailServer
) -> None:
    guest, email = Member(mailing.inside), "anna@confirm.example"
    invited = create_registration_invitation(
        mailing.services.database, email, mailing.now_ms
    )
    address = f"/dashboard/register?token={invited}"
    fields = {"domain": "confirm.example", "email": email, "currency": "EUR"}
    guest.post(
        "/dashboard/register", page=address, token=invited, password=PASSWORD, **fields
    )
    home = text_of(guest.get("/dashboard"))
    eventually(lambda: server.mails)
    server.mails.clear()
    again = guest.post("/dashboard/confirm/send", page="/dashboard")
    eventually(lambda: server.mails)
    (link,) = links_in(server, email)
    token = link.partition("token=")[2]
    reader = Member(mailing.inside)

    as_reset = reader.get(f"{RESET}?token={token}").status
    only_opened = (
        reader.get(link).status,
        "Confirm anna" in text_of(guest.get("/dashboard")),
    )
    done = [
        reader.post("/dashboard/confirm", page=link, token=token).header("location"),
        reader.get(link).status,
    ]

    assert f"Confirm {email}" in home
    assert (again.status, as_reset, only_opened) == (303, 404, (200, True))
    assert done == ["/dashboard/login", 404]
    assert "Confirm anna" not in text_of(guest.get("/dashboard"))


def test_mailed_links_confirm_the_address_and_shown_ones_do_not(
    mailing: Office, server: MailServer
) -> None:
    store, team = add_store(mailing.services, "proof.example"), "/dashboard/team"
    owner, join = mailing.member(store), "/dashboard/invitation"
    asks = "Confirm {}@proof.example"
    assert asks.format("owner") in text_of(owner.get("/dashboard"))

    def joined(name: str, token: str) -> bool:
        guest, address = Member(mailing.inside), f"{join}?token={token}"
        guest.post(join, page=address, token=token, password=PASSWORD)
        return asks.format(name) in text_of(guest.get("/dashboard"))

    invited = {"page": team, "role": "viewer"}
    owner.post(f"{team}/invite", email="mailed@proof.example", **invited)
    (mailed,) = links_in(server, "mailed@proof.example")
    shown = owner.post(f"{team}/invite", email="refused@proof.example", **invited)
    found = re.search(r"invitation\?token=([\w.]+)", shown.body.decode())
    assert found is not None

    assert joined("mailed", mailed.partition("token=")[2]) is False
    assert joined("refused", found[1]) is True

    server.mails.clear()
    Member(mailing.inside).post(RESET, email="owner@proof.example")
    eventually(lambda: server.mails)
    (link,) = links_in(server, "owner@proof.example")
    sent = {"token": link.partition("token=")[2], "password": "another password"}
    guest = Member(mailing.inside)
    assert guest.post(RESET, page=link, **sent).status == 303
    assert asks.format("owner") not in text_of(guest.get("/dashboard"))


def test_a_mailed_reset_makes_one_login_of_those_with_the_address(
    mailing: Office, server: MailServer
) -> None:
    stores = [add_store(mailing.services, f"{name}.example") for name in ("left", "right")]
    email, database = "owner@left.example", mailing.services.database
    squatter = mailing.member(stores[1])
    with database.transaction() as transaction:
        owners = UserRepository(transaction, stores[1].store_id)
        owners.set_email("owner", email)
        owners.set_password("owner", validate_and_hash_password("the password of somebody"))

    Member(mailing.inside).post(RESET, email=email)
    eventually(lambda: server.mails)
    links = links_in(server, email)
    sent = {"token": links[0].partition("token=")[2], "password": "another password"}
    person = Member(mailing.inside)
    assert person.post(RESET, page=links[0], **sent).status == 303

    assert "/dashboard/switch" in person.get("/dashboard").body.decode()
    assert squatter.get("/dashboard").status == 303
    assert person.get(links[1]).status == 404, "the other link ended"
    for store in stores:
        log_in = Member(mailing.inside).log_in
        assert log_in(store.domain, "another password").status == 303


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"PRODUCTRECS_BASE_URL": ""}, "needs PRODUCTRECS_BASE_URL"),
        ({"PRODUCTRECS_SMTP_FROM": ""}, "must name the sender"),
        ({"PRODUCTRECS_SMTP_SECURITY": "ssl"}, "use starttls, tls or none"),
        ({}, ""),
    ],
)
def test_a_mail_server_is_set_up_as_a_whole(changed: dict[str, str], error: str) -> None:
    environment = {
        "PRODUCTRECS_BASE_URL": BASE,
        "PRODUCTRECS_SMTP_HOST": "mail.example.com",
        "PRODUCTRECS_SMTP_FROM": "recs@example.com",
        "PRODUCTRECS_SMTP_PASSWORD": "secret",
    }
    if error:
        with pytest.raises(SettingsError, match=error):
            from_environment(environment | changed)
        return

    found = from_environment(environment).smtp

    expected = SmtpServer("mail.example.com", 587, "starttls", "recs@example.com")
    assert found == replace(expected, password="secret")
