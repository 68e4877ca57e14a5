"""Two-factor login: set up, enforced, replays refused, recovery codes used once."""

import re

import sqlalchemy as sa

from productrecs.storage.sql.tables import dashboard_second_factors
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import find_or_create_owner
from productrecs.tenancy.users.login_and_sessions import create_reset_token
from productrecs.tenancy.users.stored_secret_cipher import KEY_FILE, is_encrypted
from productrecs.tenancy.users.two_factor import CHALLENGE_MS, STEP_MS, totp_code
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of
from tests.support.service import Reply

PAGE, CODE = "/dashboard/security/two-factor", "/dashboard/login/code"


def code_now(office: Office, secret: str, steps: int = 0) -> str:
    return totp_code(secret, office.now_ms // STEP_MS + steps)


def set_up(office: Office, member: Member) -> tuple[str, list[str]]:
    """Turn it on; return the secret and the recovery codes."""
    assert member.post(PAGE, page=PAGE).status == 303
    shown = member.get(PAGE)
    found = re.search(r"<code>([A-Z2-7]{32})</code>", shown.body.decode())
    assert found is not None
    assert "data:image/svg+xml;base64," in shown.body.decode()
    wrong = member.post(f"{PAGE}/on", page=PAGE, code="000000")
    done = member.post(f"{PAGE}/on", page=PAGE, code=code_now(office, found[1]))
    assert (wrong.status, done.status) == (422, 200)
    return found[1], re.findall(r"\b[a-z2-9]{5}-[a-z2-9]{5}\b", text_of(done))


def challenge(office: Office, store: Store) -> tuple[Member, Reply, str]:
    """Log in with the right password; return who waits for a code."""
    guest = Member(office.inside)
    reply = guest.log_in(f"owner@{store.domain}")
    found = re.search(r'name="token" value="([\w.]+)"', reply.body.decode())
    return guest, reply, found[1] if found else ""


def send(guest: Member, token: str, code: str) -> int:
    sent = {"token": token, "code": code}
    return guest.post(CODE, page="/dashboard/login", **sent).status


def stored_secret(office: Office, store: Store) -> str:
    factors = dashboard_second_factors.c
    query = sa.select(factors.secret).where(factors.store_id == store.store_id)
    with office.services.database.reading() as connection:
        return str(connection.execute(query).scalar_one())


def store_secret(office: Office, store: Store, secret: str) -> None:
    query = dashboard_second_factors.update().values(secret=secret)
    with office.services.database.transaction() as transaction:
        transaction.execute(
            query.where(dashboard_second_factors.c.store_id == store.store_id)
        )


def test_login_asks_for_a_code_that_works_once(office: Office, store: Store) -> None:
    secret, _codes = set_up(office, office.member(store))
    office.now_ms += STEP_MS
    guest, reply, token = challenge(office, store)

    assert reply.status == 200
    assert guest.get("/dashboard").status == 303
    assert send(guest, token, "123456") == 422
    code = code_now(office, secret)
    assert send(guest, token, code) == 303
    assert guest.get("/dashboard").status == 200

    other, _reply, second = challenge(office, store)
    assert send(other, second, code) == 422, "a replay"
    assert send(other, second, code_now(office, secret, 1)) == 303


def test_the_code_that_turned_it_on_does_not_log_in(office: Office, store: Store) -> None:
    secret, _codes = set_up(office, office.member(store))
    guest, _reply, token = challenge(office, store)

    assert send(guest, token, code_now(office, secret)) == 422
    assert send(guest, token, code_now(office, secret, -1)) == 422


def test_each_recovery_code_works_once(office: Office, store: Store) -> None:
    _secret, codes = set_up(office, office.member(store))
    assert len(set(codes)) == 10

    statuses = []
    for code in (codes[3].upper(), codes[3], codes[4].replace("-", " ")):
        guest, _reply, token = challenge(office, store)
        statuses.append(send(guest, token, code))

    assert statuses == [303, 422, 303]


def test_a_challenge_ends_after_five_minutes_and_works_once(
    office: Office, store: Store
) -> None:
    secret, _codes = set_up(office, office.member(store))
    office.now_ms += STEP_MS
    guest, _reply, token = challenge(office, store)
    assert send(guest, token, code_now(office, secret)) == 303
    again = Member(office.inside)
    assert send(again, token, code_now(office, secret, 1)) == 303
    assert again.get("/dashboard").status == 303, "it leads to the login"

    late, _reply, second = challenge(office, store)
    office.now_ms += CHALLENGE_MS
    assert send(late, second, code_now(office, secret)) == 303
    assert late.get("/dashboard").status == 303


def test_codes_cannot_be_guessed(office: Office, store: Store) -> None:
    secret, _codes = set_up(office, office.member(store))
    office.now_ms += STEP_MS
    guest, _reply, token = challenge(office, store)

    for _ in range(12):
        send(guest, token, "000000")

    assert send(guest, token, code_now(office, secret)) == 422
    reply = guest.post(CODE, page="/dashboard/login", token=token, code="1")
    assert "try again in" in text_of(reply)


def test_a_reset_link_does_not_go_around_it(office: Office, store: Store) -> None:
    set_up(office, office.member(store))
    database = office.services.database
    token = create_reset_token(
        database, find_or_create_owner(database, store), office.now_ms
    )
    guest, link = Member(office.inside), f"/dashboard/reset?token={token}"

    reply = guest.post(
        "/dashboard/reset", page=link, token=token, password="another password"
    )

    assert "authenticator app" in text_of(reply)
    assert guest.get("/dashboard").status == 303


def test_it_is_turned_off_with_a_code(office: Office, store: Store) -> None:
    member = office.member(store)
    _secret, codes = set_up(office, member)

    again = member.post(PAGE, page=PAGE)
    wrong = member.post(f"{PAGE}/off", page=PAGE, code="000000")
    right = member.post(f"{PAGE}/off", page=PAGE, code=codes[0])

    assert (again.status, wrong.status, right.status) == (422, 422, 303)
    assert Member(office.inside).log_in(store.domain).status == 303


def test_the_database_never_holds_the_secret(office: Office, store: Store) -> None:
    member = office.member(store)
    assert member.post(PAGE, page=PAGE).status == 303
    begun = stored_secret(office, store)

    secret, _codes = set_up(office, member)

    for stored in (begun, stored_secret(office, store)):
        assert is_encrypted(stored)
        assert secret not in stored


def test_a_secret_of_an_earlier_release_is_encrypted_when_its_code_is_used(
    office: Office, store: Store
) -> None:
    secret, _codes = set_up(office, office.member(store))
    store_secret(office, store, secret)
    office.now_ms += STEP_MS

    for _ in range(2):
        guest, _reply, token = challenge(office, store)
        assert send(guest, token, code_now(office, secret)) == 303
        assert is_encrypted(stored_secret(office, store))
        office.now_ms += STEP_MS


def test_without_its_key_the_page_says_what_to_do_and_recovery_codes_work(
    office: Office, store: Store
) -> None:
    secret, codes = set_up(office, office.member(store))
    office.now_ms += STEP_MS
    key_file = office.services.settings.data / KEY_FILE
    key = key_file.read_text()
    key_file.write_text("the key of another installation")
    try:
        guest, _reply, token = challenge(office, store)
        sent = {"token": token, "code": code_now(office, secret)}
        refused = guest.post(CODE, page="/dashboard/login", **sent)

        assert refused.status == 422
        assert "Use a recovery code, or ask the operator" in text_of(refused)
        assert send(guest, token, codes[0]) == 303
        assert guest.post(f"{PAGE}/off", page=PAGE, code=codes[1]).status == 303
    finally:
        key_file.write_text(key)
    set_up(office, office.member(store))


def test_recovery_codes_cannot_be_guessed_while_the_key_is_missing(
    office: Office, store: Store
) -> None:
    set_up(office, office.member(store))
    key_file = office.services.settings.data / KEY_FILE
    key = key_file.read_text()
    key_file.write_text("the key of another installation")
    try:
        guest, _reply, token = challenge(office, store)
        for _ in range(12):
            send(guest, token, "aaaaa-aaaaa")

        reply = guest.post(CODE, page="/dashboard/login", token=token, code="1")

        assert "try again in" in text_of(reply)
    finally:
        key_file.write_text(key)
