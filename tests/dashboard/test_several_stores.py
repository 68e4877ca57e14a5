"""One login with several stores: roles per store, switching, and each store by itself."""

import re

import pytest

from productrecs.storage.sql.audit_log import AuditLogRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import (
    all_stores,
    delete_store,
    find_store,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.login_and_sessions import create_reset_token
from productrecs.tenancy.users.passwords import validate_and_hash_password
from productrecs.tenancy.users.repository import UserRepository
from tests.dashboard.conftest import Office
from tests.dashboard.test_security_pages import challenge, code_now, send, set_up
from tests.dashboard.test_sign_in_link import follow, link
from tests.dashboard.test_team_pages import JOIN, TEAM, invited
from tests.support.dashboard import PASSWORD, Member, add_store, add_user, text_of
from tests.support.service import Reply

COOKIE, SECURITY = "productrecs_session", "/dashboard/security"
ORIGINS = "/dashboard/account/origins/add"


@pytest.fixture
def other(office: Office, store: Store) -> Store:  # noqa: ARG001 - it sets the time
    return add_store(office.services, f"branch-{office.now_ms}.example")


def join(office: Office, store: Store, other: Store, role: str = "viewer") -> Member:
    """Return the owner of `store`, who has joined `other` in a role and is in it."""
    person = office.member(store)
    _reply, token = invited(office.member(other), f"owner@{store.domain}", role)
    joined = person.post(JOIN, page=f"{JOIN}?token={token}", token=token)
    assert joined.status == 303
    return person


def switch(person: Member, to: Store, page: str = "/dashboard") -> Reply:
    return person.post("/dashboard/switch", page=page, to_store=to.store_id)


def shop_of(person: Member) -> str:
    """Return the store that a person is in, "" if nobody is logged in."""
    found = re.search(
        r'<summary title="([^"]+)"|class="shop" title="([^"]+)"', page(person)
    )
    return "" if found is None else found[1] or found[2]


def page(person: Member) -> str:
    return person.get("/dashboard").body.decode()


def users(office: Office, store: Store) -> dict[str | None, DashboardUser]:
    with office.services.database.reading() as connection:
        return {one.email: one for one in UserRepository(connection, store.store_id).all()}


def same_email(office: Office, store: Store, other: Store, password: str) -> str:
    """Give the owner of `other` the e-mail of `store`'s, as earlier releases allowed."""
    email = f"owner@{store.domain}"
    with office.services.database.transaction() as transaction:
        owners = UserRepository(transaction, other.store_id)
        owners.set_email("owner", email)
        owners.set_password("owner", validate_and_hash_password(password))
    return email


def log_of(office: Office, store: Store) -> list[tuple[str, str, str]]:
    with office.services.database.reading() as connection:
        lines = AuditLogRepository(connection, store.store_id).page(100)
    return [(line.action, line.actor, line.detail) for line in lines]


def test_a_login_has_a_role_of_its_own_in_each_store(
    office: Office, store: Store, other: Store
) -> None:
    person = join(office, store, other)

    def may_add(name: str) -> int:
        return person.post(ORIGINS, page="/dashboard", origin=f"https://{name}").status

    assert shop_of(person) == other.domain
    assert (may_add("a.example"), "Role: viewer" in text_of(person.get("/dashboard"))) == (
        403,
        True,
    )
    assert switch(person, store).status == 303
    assert shop_of(person) == store.domain
    assert may_add("b.example") == 303
    database = office.services.database
    assert find_store(database, other.domain).origins == frozenset()
    assert find_store(database, store.domain).origins == {"https://b.example"}


def test_an_invitation_of_a_login_asks_for_its_password_and_makes_no_second_one(
    office: Office, store: Store, other: Store
) -> None:
    _reply, token = invited(office.member(other), f"owner@{store.domain}")
    guest, address = Member(office.inside), f"{JOIN}?token={token}"

    wrong = guest.post(JOIN, page=address, token=token, password="a new password")
    strange = office.member(other).post(JOIN, page=address, token=token, password="x" * 9)
    right = guest.post(JOIN, page=address, token=token, password=PASSWORD)

    assert (wrong.status, strange.status, right.status) == (422, 422, 303)
    email = f"owner@{store.domain}"
    mine, theirs = users(office, store)[email], users(office, other)[email]
    assert mine.login_id == theirs.login_id is not None
    assert theirs.role is Role.EDITOR
    again = Member(office.inside)
    assert again.log_in(email).status == 303
    assert shop_of(again) == other.domain  # the store that was entered last


def test_passwords_are_not_guessed_at_an_invitation(
    office: Office, store: Store, other: Store
) -> None:
    _reply, token = invited(office.member(other), f"owner@{store.domain}")
    guest, address = Member(office.inside), f"{JOIN}?token={token}"
    guest.headers = {"x-forwarded-for": "203.0.113.77"}

    def attempt() -> int:
        return guest.post(JOIN, page=address, token=token, password="a guess").status

    assert [attempt() for _ in range(11)][-2:] == [422, 429]
    assert guest.log_in(f"owner@{store.domain}").status == 429, "they count together"


@pytest.mark.parametrize("way", ["stranger", "removed", "forged", "get", "shop", "guest"])
def test_a_user_cannot_switch_to_a_store_without_access(
    office: Office, store: Store, other: Store, way: str
) -> None:
    person = join(office, store, other, "editor")
    switch(person, store)
    wanted, status = {"to_store": other.store_id}, 404
    if way == "stranger":
        third = add_store(office.services, f"third-{store.domain}")
        wanted = {"to_store": third.store_id}
    if way == "removed":
        user_id = users(office, other)[f"owner@{store.domain}"].user_id
        office.member(other).post(f"{TEAM}/remove", page=TEAM, member=user_id)
    if way == "shop":
        person, status = Member(office.inside), 403
        follow(person, link(office, store)["path"])
        assert other.domain not in page(person)
    if way == "guest":
        person, status = Member(office.inside), 303
    if way == "forged":
        reply = person.send("/dashboard/switch", {**wanted, "csrf": "0" * 48})
        status = 403
    elif way == "get":
        reply = person.get(f"/dashboard/switch?to_store={other.store_id}")
        status = 303  # to the page above; nothing is switched
    else:
        reply = person.post("/dashboard/switch", page="/dashboard", **wanted)

    assert reply.status == status
    assert shop_of(person) == ("" if way == "guest" else store.domain)


def test_a_page_of_the_store_before_changes_nothing_after_a_switch(
    office: Office, store: Store, other: Store
) -> None:
    person = join(office, store, other, "owner")
    before = dict(person.cookies)
    found = re.search(r'name="csrf" value="(\w+)"', page(person))
    assert found is not None
    switch(person, store)

    old_tab = person.send(ORIGINS, {"csrf": found[1], "origin": "https://a.example"})
    old_session = Member(office.inside, before)
    mixed = Member(office.inside, dict(person.cookies))
    mixed.cookies[COOKIE] = f"{other.store_id}.{person.cookies[COOKIE].partition('.')[2]}"

    assert old_tab.status == 403
    assert [shop_of(one) for one in (old_session, mixed)] == ["", ""]
    for one in (store, other):
        assert find_store(office.services.database, one.domain).origins == frozenset()


def test_leaving_a_store_or_its_end_leaves_the_others(
    office: Office, store: Store, other: Store
) -> None:
    person = join(office, store, other)
    third = add_store(office.services, f"third-{store.domain}")
    _reply, token = invited(office.member(third), f"owner@{store.domain}")
    person.post(JOIN, page=f"{JOIN}?token={token}", token=token)
    user_id = users(office, other)[f"owner@{store.domain}"].user_id

    office.member(other).post(f"{TEAM}/remove", page=TEAM, member=user_id)
    assert (shop_of(person), other.domain in page(person)) == (third.domain, False)
    delete_store(office.services.database, third)
    assert shop_of(person) == ""

    assert person.log_in(f"owner@{store.domain}").status == 303
    assert shop_of(person) == store.domain


def test_a_password_and_its_sessions_belong_to_the_login_in_all_stores(
    office: Office, store: Store, other: Store
) -> None:
    here = join(office, store, other, "owner")
    there = office.member(store)
    switch(there, store)
    stranger = office.member(other)
    shown = text_of(here.get(SECURITY))
    sent = {"old_password": PASSWORD, "new_password": "another password"}

    assert f"in {store.domain}" in shown
    assert here.post(f"{SECURITY}/password", page=SECURITY, **sent).status == 303

    assert [shop_of(one) for one in (here, there)] == [other.domain, ""]
    assert shop_of(stranger) == other.domain, "the store's other owner stays logged in"
    for name in (f"owner@{store.domain}", store.domain):
        assert Member(office.inside).log_in(name).status == 422
        assert Member(office.inside).log_in(name, "another password").status == 303
    token = create_reset_token(
        office.services.database,
        users(office, store)[f"owner@{store.domain}"],
        office.now_ms,
    )
    reset = {"token": token, "password": "a third password"}
    address = f"/dashboard/reset?token={token}"
    assert (
        Member(office.inside).post("/dashboard/reset", page=address, **reset).status == 303
    )
    assert shop_of(here) == ""
    assert stranger.post("/dashboard/logout", page="/dashboard").status == 303


def test_one_session_ends_another_in_another_store_but_no_strangers(
    office: Office, store: Store, other: Store
) -> None:
    here = join(office, store, other)
    there, stranger = office.member(store), office.member(other)
    switch(there, store)

    assert here.post(f"{SECURITY}/sessions", page=SECURITY, session="others").status == 303

    assert [shop_of(one) for one in (here, there, stranger)] == [
        other.domain,
        "",
        other.domain,
    ]


def test_a_second_factor_guards_every_store_and_its_code_works_once_in_any(
    office: Office, store: Store, other: Store
) -> None:
    person = join(office, store, other, "owner")
    secret, _codes = set_up(office, person)
    office.now_ms += 60_000
    guest, by_email, token = challenge(office, store)
    by_domain = Member(office.inside).log_in(store.domain)
    code = code_now(office, secret)

    assert (by_email.status, by_domain.status) == (200, 200), "both ask for the code"
    assert send(guest, token, code) == 303
    second = Member(office.inside)
    found = re.search(r'name="token" value="([\w.]+)"', by_domain.body.decode())
    assert found is not None
    assert send(second, found[1], code) == 422, "the code was used in the other store"
    assert (switch(guest, store).status, shop_of(guest)) == (303, store.domain)
    office.now_ms += 60_000
    off = f"{SECURITY}/two-factor"
    code = code_now(office, secret)
    assert person.post(f"{off}/off", page=off, code=code).status == 303
    assert Member(office.inside).log_in(store.domain).status == 303


def test_the_audit_log_of_the_entered_store_names_store_and_person(
    office: Office, store: Store, other: Store
) -> None:
    person = join(office, store, other)
    switch(person, store)
    switch(person, other)

    line = ("Switched to this store", f"owner@{store.domain}", f"Store: {other.domain}")
    assert log_of(office, other)[0] == line
    assert log_of(office, store)[0][2] == f"Store: {store.domain}"
    assert other.domain not in str(log_of(office, store))


def test_an_email_does_not_register_twice_but_its_login_adds_a_store(
    office: Office, store: Store
) -> None:
    email, domain = f"owner@{store.domain}", f"second-{store.domain}"
    fields = {"domain": domain, "email": email.upper(), "password": PASSWORD}
    fields["currency"] = "EUR"

    refused = Member(office.inside).post("/dashboard/register", **fields)
    from_shop = Member(office.inside)
    follow(from_shop, link(office, store)["path"])
    shop = from_shop.post("/dashboard/register", **fields)
    assert domain not in {one.domain for one in all_stores(office.services.database)}
    person = office.member(store)
    form = person.get("/dashboard/register").body.decode()
    added = person.post("/dashboard/register", domain=domain, currency="EUR")

    assert (refused.status, shop.status, added.status) == (422, 422, 303)
    assert "has a login already. Log in first" in text_of(refused)
    assert 'name="password"' not in form
    assert shop_of(person) == domain
    second = find_store(office.services.database, domain)
    assert users(office, second)[email].role is Role.OWNER
    assert (switch(person, store).status, shop_of(person)) == (303, store.domain)


def test_a_link_from_the_shop_switches_a_session_of_the_same_login(
    office: Office, store: Store, other: Store
) -> None:
    person = join(office, store, other, "owner")
    email = f"owner@{store.domain}"

    follow(person, link(office, store, email=email)["path"])
    assert shop_of(person) == store.domain
    assert "signed in by your shop" not in page(person)
    guest = Member(office.inside)
    follow(guest, link(office, other, email=email)["path"])
    assert shop_of(guest) == other.domain
    assert store.domain not in page(guest).replace(email, "")
    assert "signed in by your shop" in page(guest)
    assert "/dashboard/switch" not in page(guest)


@pytest.mark.parametrize("password", [PASSWORD, "another password"])
def test_two_logins_of_an_earlier_release_become_one_by_their_one_password(
    office: Office, store: Store, other: Store, password: str
) -> None:
    email = same_email(office, store, other, password)
    open_there = Member(office.inside)
    open_there.log_in(other.domain, password)
    person = Member(office.inside)

    assert person.log_in(email).status == 303

    is_proved = password == PASSWORD
    assert shop_of(person) in {store.domain, other.domain}
    assert ("/dashboard/switch" in page(person)) is is_proved
    assert (switch(person, other).status == 303) is is_proved
    assert Member(office.inside).log_in(other.domain, password).status == 303


def test_joined_logins_both_ask_for_the_second_factor_that_one_had(
    office: Office, store: Store, other: Store
) -> None:
    email = same_email(office, store, other, PASSWORD)
    without = Member(office.inside)
    without.log_in(other.domain)
    assert shop_of(without) == other.domain
    owner = Member(office.inside)
    owner.log_in(store.domain)
    set_up(office, owner)

    reply = Member(office.inside).log_in(email)

    assert reply.status == 200
    assert Member(office.inside).log_in(other.domain).status == 200
    assert shop_of(without) == "", "it never passed the second factor"


def test_a_user_without_other_stores_sees_no_switch(office: Office, store: Store) -> None:
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, store, Role.VIEWER))

    assert "/dashboard/switch" not in page(viewer)
    assert shop_of(viewer) == store.domain
