"""Invitation page: a one-time link with which a person joins a store's team."""

from typing import Final

from productrecs.entrypoints.http.dashboard.page import Page, Reply, Visit
from productrecs.entrypoints.http.dashboard.pages.login import enter
from productrecs.entrypoints.http.dashboard.pages.team import INVITATION_PATH, sentence
from productrecs.tenancy.accounts.login.users_and_passwords import (
    DashboardUser,
    WeakPasswordError,
)
from productrecs.tenancy.accounts.team.members import accept, find_invitation
from productrecs.tenancy.accounts.team.repository import (
    NEW_STORE,
    Invitation,
    InvitationError,
)


def show_invitation(visit: Visit) -> Reply:
    """Show the invitation, and the form for a password."""
    return _page(visit, visit.query["token"])


def join(visit: Visit) -> Reply:
    """Create the user and start the first session."""
    token, password = visit.form["token"], visit.form.as_typed("password")
    found = find_invitation(visit.database, token, visit.system_ms)
    if found is None:
        return _page(visit, "")
    newcomer = DashboardUser(found.store_id, "", found.email, found.role, None)
    log = visit.recording("Joined the team", f"as {found.role.label}", newcomer)
    try:
        user = accept(log, token, password, visit.system_ms)
    except InvitationError:
        return _page(visit, "")
    except WeakPasswordError as error:
        return _page(visit, token, status=422, error=sentence(error))
    return enter(visit, user, message="Welcome to the team.")


def _page(visit: Visit, token: str, status: int = 200, error: str = "") -> Reply:
    found = find_invitation(visit.database, token, visit.system_ms)
    shop = _shop_of(visit, found)
    if found is None or shop is None:
        return visit.render("invitation.html", status=404, found=None)
    return visit.render(
        "invitation.html", status=status, found=found, shop=shop, token=token, error=error
    )


def _shop_of(visit: Visit, found: Invitation | None) -> str | None:
    if found is None or found.store_id == NEW_STORE:
        return None
    store = visit.context.accounts.by_id(found.store_id)
    return None if store is None else store.domain


PAGES: Final = (
    Page(INVITATION_PATH, "Join the team", show_invitation, join, is_public=True),
)
