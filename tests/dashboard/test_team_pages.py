"""Team, own sessions and password, and the audit log, without a browser."""

import re

import pytest

from productrecs.dashboard.pages.settings.audit_log import PAGE_SIZE
from productrecs.storage.sql.audit_log import RETENTION_MS, AuditEntry, AuditLogRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.team_members import INVITATION_MS
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.repository import UserRepository
from tests.dashboard.conftest import Office
from tests.support.dashboard import PASSWORD, Member, add_user, text_of
from tests.support.service import Reply

TEAM, JOIN, SECURITY = "/dashboard/team", "/dashboard/invitation", "/dashboard/security"


def invited(member: Member, email: str, role: str = "editor") -> tuple[Reply, str]:
    reply = member.post(f"{TEAM}/invite", page=TEAM, email=email, role=role)
    found = re.search(r"invitation\?token=([\w.]+)", reply.body.decode())
    return reply, found[1] if found else ""


def users_of(office: Office, store: Store) -> dict[str, DashboardUser]:
    with office.services.database.reading() as connection:
        users = UserRepository(connection, store.store_id).all()
    return {user.email or "": user for user in users}


def log_of(office: Office, store: Store) -> list[AuditEntry]:
    with office.services.database.reading() as connection:
        return AuditLogRepository(connection, store.store_id).page(100)


def test_an_invitation_lets_one_person_in_once(office: Office, store: Store) -> None:
    _reply, token = invited(office.member(store), "Bea@Shop.Example")
    guest, link = Member(office.inside), f"{JOIN}?token={token}"
    assert "editor" in text_of(guest.get(link))

    short = guest.post(JOIN, page=link, token=token, password="short")
    joined = guest.post(JOIN, page=link, token=token, password=PASSWORD)
    again = Member(office.inside).get(link)

    assert (short.status, joined.status, again.status) == (422, 303, 404)
    assert users_of(office, store)["bea@shop.example"].role is Role.EDITOR
    assert guest.get("/dashboard").status == 200
    assert Member(office.inside).log_in("bea@shop.example").status == 303


def test_an_invitation_expires_and_can_be_withdrawn(office: Office, store: Store) -> None:
    member = office.member(store)
    _reply, first = invited(member, "old@shop.example")
    _reply, second = invited(member, "gone@shop.example")
    page = member.get(TEAM).body.decode()
    ids = re.findall(r'name="invitation" value="(\w+)"', page)
    assert len(ids) == 2

    for one in ids[:1]:
        assert member.post(f"{TEAM}/withdraw", page=TEAM, invitation=one).status == 303
    guest = Member(office.inside)
    after = sorted(guest.get(f"{JOIN}?token={one}").status for one in (first, second))
    office.now_ms += INVITATION_MS

    assert after == [200, 404]
    for one in (first, second):
        assert guest.get(f"{JOIN}?token={one}").status == 404


@pytest.mark.parametrize(
    ("path", "fields"),
    [(f"{TEAM}/remove", {}), (f"{TEAM}/role", {"role": "editor"})],
    ids=["removed", "no owner any more"],
)
def test_invitations_end_when_their_maker_may_invite_no_more(
    office: Office, store: Store, path: str, fields: dict[str, str]
) -> None:
    """A removed owner came back as an owner, with the link of an invitation of theirs."""
    first, maker = office.member(store), Member(office.inside)
    maker.log_in(add_user(office.services, store, Role.OWNER, "second"))
    _reply, theirs = invited(maker, "back-door@shop.example", "owner")
    _reply, other = invited(first, "bea@shop.example")
    page = text_of(first.get(TEAM))
    assert f"by second@{store.domain}" in page
    assert f"by owner@{store.domain}" in page

    gone = first.post(path, page=TEAM, member="second", **fields)

    guest = Member(office.inside)
    assert gone.status == 303
    assert guest.get(f"{JOIN}?token={theirs}").status == 404
    assert guest.get(f"{JOIN}?token={other}").status == 200


@pytest.mark.parametrize(
    ("email", "role", "message"),
    [
        ("no address", "editor", "is not an e-mail address"),
        ("OWNER", "editor", "in your team already"),
        ("a@b.example", "emperor", "choose a role"),
    ],
)
def test_an_invitation_that_cannot_be_says_why_beside_the_field(
    office: Office, store: Store, email: str, role: str, message: str
) -> None:
    address = email.replace("OWNER", f"owner@{store.domain}")
    reply, token = invited(office.member(store), address, role)

    assert (reply.status, token) == (422, "")
    assert message in text_of(reply).lower() or message in text_of(reply)
    assert f'value="{address}"' in reply.body.decode()


def test_roles_change_at_once_but_never_the_last_owner(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    viewer = Member(office.inside)
    assert viewer.log_in(add_user(office.services, store, Role.VIEWER)).status == 303
    path = "/dashboard/account/origins/add"
    change = f"{TEAM}/role"

    last = member.post(change, page=TEAM, member="owner", role="viewer")
    gone = member.post(f"{TEAM}/remove", page=TEAM, member="owner")
    raised = member.post(change, page=TEAM, member="viewer", role="owner")
    may = viewer.post(path, page="/dashboard", origin="https://a.example")
    lowered = member.post(change, page=TEAM, member="owner", role="viewer")
    now = member.post(path, page="/dashboard", origin="https://b.example")

    assert (last.status, gone.status) == (422, 422)
    assert "needs an owner" in text_of(last)
    assert (raised.status, may.status, lowered.status, now.status) == (303, 303, 303, 403)


def test_who_is_removed_is_logged_out(office: Office, store: Store) -> None:
    member, editor = office.member(store), Member(office.inside)
    email = add_user(office.services, store, Role.EDITOR)
    editor.log_in(email)
    assert editor.get("/dashboard").status == 200

    assert member.post(f"{TEAM}/remove", page=TEAM, member="editor").status == 303

    assert editor.get("/dashboard").status == 303
    assert editor.log_in(email).status == 422


def test_a_user_ends_only_own_sessions(office: Office, store: Store) -> None:
    email = add_user(office.services, store, Role.VIEWER)
    here, there, third = (Member(office.inside) for _ in range(3))
    for one in (here, there, third):
        one.log_in(email)
    owner = office.member(store)
    path = f"{SECURITY}/sessions"
    ids = re.findall(r'name="session" value="(\w{64})"', here.get(SECURITY).body.decode())

    strange = owner.post(path, page=SECURITY, session=ids[0])
    one_ended = here.post(path, page=SECURITY, session=ids[0])
    left = sorted(one.get("/dashboard").status for one in (there, third))
    here.post(path, page=SECURITY, session="others")

    assert (len(ids), strange.status, one_ended.status) == (2, 404, 303)
    assert left == [200, 303]
    assert [one.get("/dashboard").status for one in (here, there, third)] == [200, 303, 303]
    assert owner.get("/dashboard").status == 200


def test_a_password_is_changed_with_the_old_one(office: Office, store: Store) -> None:
    member, other = office.member(store), office.member(store)
    path = f"{SECURITY}/password"

    def change(old: str, new: str) -> int:
        sent = {"old_password": old, "new_password": new}
        return member.post(path, page=SECURITY, **sent).status

    assert change("wrong password", "another password") == 422
    assert change(PASSWORD, "short") == 422
    assert change(PASSWORD, "another password") == 303

    assert member.get("/dashboard").status == 200
    assert other.get("/dashboard").status == 303
    guest = Member(office.inside)
    assert guest.log_in(store.domain).status == 422
    assert guest.log_in(store.domain, "another password").status == 303
    assert not any("password" in line.detail for line in log_of(office, store))


def test_each_change_is_one_line_of_the_audit_log(office: Office, store: Store) -> None:
    member, page = office.member(store), "/dashboard/account"
    before = len(log_of(office, store))

    member.post(f"{page}/origins/add", page=page, origin="https://shop.example")
    member.post(f"{page}/origins/add", page=page, origin="no origin")
    member.post(f"{page}/secret", page=page)
    lines = log_of(office, store)[: -before or None]

    assert [(line.action, line.detail) for line in lines] == [
        ("Replaced the secret key", ""),
        ("Added an origin", "Origin: https://shop.example"),
    ]
    assert {line.actor for line in lines} == {f"owner@{store.domain}"}
    shown = text_of(member.get("/dashboard/audit"))
    assert "Added an origin" in shown
    assert "sk_" not in shown


def test_the_audit_log_names_members_by_their_address(office: Office, store: Store) -> None:
    member = office.member(store)
    email = add_user(office.services, store, Role.VIEWER)

    member.post(f"{TEAM}/role", page=TEAM, member="viewer", role="editor")
    member.post(f"{TEAM}/remove", page=TEAM, member="viewer")

    removed, changed = log_of(office, store)[:2]
    assert changed.detail == f"{email}: Role: viewer → editor"
    assert removed.detail == f"{email}: Role: editor"


def test_the_audit_log_has_pages_and_keeps_400_days(office: Office, store: Store) -> None:
    member, now = office.member(store), office.now_ms
    with office.services.database.transaction() as transaction:
        log = AuditLogRepository(transaction, store.store_id)
        for number in range(PAGE_SIZE):
            log.add(AuditEntry(now - RETENTION_MS - number, "x", f"change {number:03}"))

    first = member.get("/dashboard/audit").body.decode()
    link = re.search(r'href="(/dashboard/audit\?before=[^"]+)"', first)
    assert link is not None
    second = text_of(member.get(link[1]))
    with office.services.database.transaction() as transaction:
        AuditLogRepository(transaction, store.store_id).purge(now)

    assert "change 048" in first
    assert "change 048" not in second
    assert "change 049" in second
    assert {line.action for line in log_of(office, store)} == {"Logged in", "change 000"}
