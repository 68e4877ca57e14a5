"""Weekly report subscription: on by its user alone, off by the page or a mailed link."""

from collections.abc import Mapping
from urllib.parse import urlencode

import pytest

from productrecs.tenancy.accounts.api_keys import sign_address
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.mail_subscriptions.repository import (
    MailSubscriptionRepository,
    MailTopic,
)
from productrecs.worker.weekly_report_mail import STOP_PATH
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member

PAGE = "/dashboard/security"
EMPTY: Mapping[str, str] = {}


def readers(office: Office, store: Store) -> list[str]:
    """Return the ids of those who receive the report."""
    with office.services.database.reading() as connection:
        mails = MailSubscriptionRepository(connection, store.store_id)
        return [one.user_id for one in mails.readers(MailTopic.WEEKLY_REPORT)]


def link(store: Store, user_id: str, changed: Mapping[str, str] = EMPTY) -> str:
    """Return the link of a mail to a user."""
    assert store.secrets.secret_hash is not None
    signature = sign_address(store.secrets.secret_hash, f"weekly-report:{user_id}")[:32]
    named = {"store": store.domain, "user": user_id, "signature": signature}
    return f"{STOP_PATH}?{urlencode({**named, **changed})}"


def test_a_member_turns_the_report_on_and_off(office: Office, store: Store) -> None:
    member = office.member(store)
    assert readers(office, store) == []

    member.post(f"{PAGE}/weekly-report", page=PAGE, mails="on")
    assert len(readers(office, store)) == 1

    member.post(f"{PAGE}/weekly-report", page=PAGE, mails="off")
    assert readers(office, store) == []


def test_a_mail_program_ends_the_report_without_a_login_or_a_token(
    office: Office, store: Store
) -> None:
    office.member(store).post(f"{PAGE}/weekly-report", page=PAGE, mails="on")
    (user_id,) = readers(office, store)
    stranger, path = Member(office.inside), link(store, user_id)

    form = stranger.get(path)
    still = readers(office, store)
    done = stranger.send(path, {"List-Unsubscribe": "One-Click"})

    assert (form.status, done.status) == (200, 200)
    assert still == [user_id]  # opening the link changes nothing
    assert readers(office, store) == []


@pytest.mark.parametrize(
    "changed", [{"signature": "0" * 32}, {"user": "another"}, {"store": "no.example"}]
)
def test_a_link_of_another_user_or_store_ends_nothing(
    office: Office, store: Store, changed: dict[str, str]
) -> None:
    office.member(store).post(f"{PAGE}/weekly-report", page=PAGE, mails="on")
    (user_id,) = readers(office, store)

    reply = Member(office.inside).send(link(store, user_id, changed), {})

    assert reply.status == 404
    assert readers(office, store) == [user_id]
