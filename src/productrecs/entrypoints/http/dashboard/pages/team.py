"""Team page: the users of the dashboard, their roles, and invitations."""

from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.entrypoints.http.dashboard.page import (
    Group,
    NotFoundError,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.mail import MailError, send_mail
from productrecs.tenancy.accounts.login.repository import UserRepository
from productrecs.tenancy.accounts.login.users_and_passwords import EmailError, Role
from productrecs.tenancy.accounts.team.members import (
    MemberError,
    UnknownMemberError,
    change_role,
    invite,
    remove_member,
    withdraw,
)
from productrecs.tenancy.accounts.team.repository import InvitationRepository

TEAM_PATH: Final = "/dashboard/team"
INVITATION_PATH: Final = "/dashboard/invitation"
_TEXT: Final = """You are invited to the ProductRecs dashboard of {}.

Choose your password here, within seven days:

{}
"""
ROLES: Final = (
    ("viewer", "Viewer: sees everything, changes nothing"),
    ("editor", "Editor: changes rules, search, looks, widgets and settings"),
    ("owner", "Owner: also keys, origins and the team"),
)


def show_team(visit: Visit) -> Reply:
    """Show the members and the valid invitations."""
    return _team(visit)


def send_invitation(visit: Visit) -> Reply:
    """Create an invitation and show its link once."""
    email = visit.form["email"]
    try:
        role, store_id = _role(visit), visit.store.store_id
        token = invite(visit.database, store_id, email, role, visit.system_ms)
    except (EmailError, MemberError) as error:
        return _team(visit, status=422, email=email, error=sentence(error))
    path = f"{INVITATION_PATH}?token={token}"
    if _mailed(visit, email, path):
        message = f"{email} is invited; the link is on its way by e-mail."
        return visit.redirect(TEAM_PATH, message)
    return _team(visit, link=visit.base_url + path, invited=email)


def _mailed(visit: Visit, email: str, path: str) -> bool:
    """Mail an invitation; return whether the mail was sent."""
    settings = visit.services.settings
    if settings.smtp is None:
        return False
    text = _TEXT.format(visit.store.domain, f"{settings.base_url}{path}")
    try:
        send_mail(settings.smtp, email, f"Join {visit.store.domain}", text)
    except MailError:
        return False
    return True


def withdraw_invitation(visit: Visit) -> Reply:
    """Delete an invitation: its link stops working."""
    try:
        withdraw(visit.database, visit.store.store_id, visit.form["invitation"])
    except UnknownMemberError as error:
        raise NotFoundError(sentence(error)) from error
    return visit.redirect(TEAM_PATH, "The invitation is withdrawn.")


def set_role(visit: Visit) -> Reply:
    """Change a member's role."""
    store_id, member = visit.store.store_id, visit.form["member"]
    try:
        role = _role(visit)
        before = change_role(visit.database, store_id, member, role)
    except UnknownMemberError as error:
        raise NotFoundError(sentence(error)) from error
    except MemberError as error:
        return _team(visit, status=422, member_error=sentence(error))
    name = before.email or "The owner"
    return visit.redirect(TEAM_PATH, f"{name} is {role.label} now.")


def remove(visit: Visit) -> Reply:
    """Remove a member; every session of theirs ends."""
    try:
        gone = remove_member(visit.database, visit.store.store_id, visit.form["member"])
    except UnknownMemberError as error:
        raise NotFoundError(sentence(error)) from error
    except MemberError as error:
        return _team(visit, status=422, member_error=sentence(error))
    name = gone.email or "The owner"
    return visit.redirect(TEAM_PATH, f"{name} is removed, and logged out everywhere.")


def sentence(error: ProductRecsError) -> str:
    """Return an error's message as a sentence."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _role(visit: Visit) -> Role:
    try:
        return Role[visit.form["role"].upper()]
    except KeyError:
        message = "choose a role: viewer, editor or owner"
        raise MemberError(message) from None


def _team(visit: Visit, status: int = 200, **values: object) -> Reply:
    store_id = visit.store.store_id
    with visit.database.reading() as connection:
        users = UserRepository(connection, store_id).all()
        invitations = InvitationRepository(connection, store_id).all(visit.system_ms)
    empty = {"email": "", "error": "", "member_error": "", "link": "", "invited": ""}
    shown: dict[str, object] = {**empty, **values}
    return visit.render(
        "team.html",
        status=status,
        members=users,
        invitations=invitations,
        roles=ROLES,
        labels=[(name, name.capitalize()) for name, _ in ROLES],
        **shown,
    )


PAGES: Final = (
    Page(TEAM_PATH, "Team", show_team, group=Group.SETTINGS, may_change=Role.OWNER),
    Page(
        f"{TEAM_PATH}/invite",
        "Team",
        None,
        send_invitation,
        may_change=Role.OWNER,
        action="Invited somebody",
    ),
    Page(
        f"{TEAM_PATH}/withdraw",
        "Team",
        None,
        withdraw_invitation,
        may_change=Role.OWNER,
        action="Withdrew an invitation",
    ),
    Page(
        f"{TEAM_PATH}/role",
        "Team",
        None,
        set_role,
        may_change=Role.OWNER,
        action="Changed a role",
    ),
    Page(
        f"{TEAM_PATH}/remove",
        "Team",
        None,
        remove,
        may_change=Role.OWNER,
        action="Removed a member",
    ),
)
