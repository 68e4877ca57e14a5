"""Sign-in link of a store's plugin: once, within a minute, as an editor at most."""

import json
import re
from typing import Any

import pytest

from productrecs.dashboard.page_registry import PAGES
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.accounts.store_management import rotate_secret
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.tenancy.users.login_and_sessions import LINK_MS
from tests.dashboard.conftest import Office
from tests.dashboard.test_security_pages import code_now, send, set_up
from tests.support.dashboard import Member, add_store, add_user, text_of


def link(office: Office, store: Store, **said: str) -> Any:
    secret = rotate_secret(office.services.database, store, office.now_ms)
    body, headers = json.dumps(said).encode(), {"x-api-key": secret}
    reply = office.inside.ask("POST", "/integration/dashboard-link", body, headers)
    assert reply.status == 200, reply.body
    return reply.json


def follow(guest: Member, path: str) -> Any:
    """Open a link and press its button; the query holds its token."""
    return guest.post("/dashboard/sign-in", page=path, token=path.partition("token=")[2])


def is_inside(guest: Member) -> bool:
    return guest.get("/dashboard").status == 200


@pytest.mark.parametrize("who", ["owner", "viewer", "nobody"])
def test_a_link_signs_in_the_login_with_the_email_once(
    office: Office, store: Store, who: str
) -> None:
    viewer = add_user(office.services, store, Role.VIEWER)
    said = {"owner": {}, "viewer": {"email": viewer.upper()}}.get(who, {"email": "x@y.z"})
    guest, other = Member(office.inside), Member(office.inside)

    found = link(office, store, **said)
    follow(guest, found["path"])
    follow(other, found["path"])

    assert found["signs_in"] is is_inside(guest) is (who != "nobody")
    assert not is_inside(other)
    if who != "nobody":
        assert (viewer in text_of(guest.get("/dashboard"))) is (who == "viewer")


def test_an_expired_link_or_one_of_another_store_does_not_sign_in(
    office: Office, store: Store
) -> None:
    other = add_store(office.services, f"other-{office.now_ms}.example")
    guest = Member(office.inside)

    assert link(office, other, email=f"owner@{store.domain}")["signs_in"] is False
    late = link(office, store)["path"]
    office.now_ms += LINK_MS + 1
    follow(guest, late)
    follow(guest, f"/dashboard/sign-in?token={other.store_id}.x")

    assert not is_inside(guest)


def test_a_link_asks_for_the_code_of_a_second_factor(office: Office, store: Store) -> None:
    secret, _codes = set_up(office, office.member(store))
    office.now_ms += 60_000
    guest = Member(office.inside)
    path = link(office, store)["path"]

    send(guest, path.partition("token=")[2], code_now(office, secret))
    assert not is_inside(guest), "a link's token is no login that waits for a code"
    page = follow(guest, path)

    assert not is_inside(guest)
    found = re.search(r'name="token" value="([\w.]+)"', page.body.decode())
    assert found is not None
    assert send(guest, found[1], code_now(office, secret)) == 303
    assert is_inside(guest)
    assert "Role: editor, signed in by your shop" in text_of(guest.get("/dashboard"))


def test_a_link_gives_an_owner_an_editors_session_that_cannot_change_its_login(
    office: Office, store: Store
) -> None:
    guest = Member(office.inside)
    follow(guest, link(office, store)["path"])
    home = guest.get("/dashboard")
    found = re.search(r'name="csrf" value="(\w+)"', home.body.decode())
    assert found is not None
    changing = [page for page in PAGES if page.change is not None and not page.is_public]

    refused = {
        page.path
        for page in changing
        if guest.send(page.path, {"csrf": found[1]}).status == 403
    }

    assert "Role: editor, signed in by your shop" in text_of(home)
    assert refused == {
        page.path
        for page in changing
        if page.may_change is Role.OWNER
        or page.path.startswith("/dashboard/security")
        or page.path in {"/dashboard/switch", "/dashboard/confirm/send"}
    }
    for path in ("/dashboard/security", "/dashboard/security/two-factor"):
        assert "log in with your password" in text_of(guest.get(path))


def test_a_link_leaves_a_session_with_a_password_as_it_is(
    office: Office, store: Store
) -> None:
    owner = office.member(store)

    assert owner.get(link(office, store)["path"]).header("location") == "/dashboard"
    assert "Role: owner" in text_of(owner.get("/dashboard"))


def test_a_page_asks_before_a_link_signs_in_and_opening_it_uses_nothing_up(
    office: Office, store: Store
) -> None:
    theirs = add_store(office.services, f"attacker-{office.now_ms}.example")
    victim, merchant = office.member(store), Member(office.inside)
    path = link(office, theirs)["path"]

    for method in ("HEAD", "GET"):
        office.inside.ask(method, path, None, {"sec-purpose": "prefetch"})
    shown = text_of(victim.get(path))
    token = path.partition("token=")[2]
    forged = victim.send("/dashboard/sign-in", {"token": token, "csrf": "0" * 48})
    home = text_of(victim.get("/dashboard"))

    for part in (theirs.domain, f"owner@{theirs.domain}", f"owner@{store.domain}"):
        assert part in shown
    assert forged.status == 403
    assert store.domain in home
    assert theirs.domain not in home
    assert follow(merchant, path).status == 303
    assert theirs.domain in text_of(merchant.get("/dashboard"))
