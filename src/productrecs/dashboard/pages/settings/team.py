"""Team pages: the users of the dashboard, their roles, and invitations to join."""

from typing import Final

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.account.login import (
    logins_opened_by_password_rate_limited,
    start_session_and_redirect,
    start_session_or_ask_for_code,
)
from productrecs.mail import MailError, send_mail
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.team_members import (
    TeamChangeError,
    UnknownMemberOrInvitationError,
    accept_invitation,
    accept_invitation_with_login,
    change_role_and_return_old_user,
    create_member_invitation,
    delete_invitation,
    find_invitation,
    mark_invitation_mailed,
    remove_member,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser, InvalidEmailError, Role
from productrecs.tenancy.users.invitations.repository import (
    NEW_STORE,
    Invitation,
    InvitationError,
    InvitationRepository,
)
from productrecs.tenancy.users.login_and_sessions import (
    WrongPasswordError,
    find_logins_or_owners,
)
from productrecs.tenancy.users.login_attempt_limits import TooManyAttemptsError
from productrecs.tenancy.users.logins.repository import EmailTakenError, LoginRemovedError
from productrecs.tenancy.users.passwords import UnsuitablePasswordError
from productrecs.tenancy.users.repository import UserRepository

TEAM_PATH: Final = "/dashboard/team"
INVITATION_PATH: Final = "/dashboard/invitation"
_TEXT: Final = """You are invited to the ProductRecs dashboard of {}.

Open this link within seven days:

{}
"""
ROLES: Final = (
    ("viewer", "Viewer: sees everything, changes nothing"),
    (
        "editor",
        "Editor: changes rules, search, looks, lists and widgets",
    ),
    ("owner", "Owner: also keys, origins and the team"),
)


def create_and_mail_or_show_invitation(visit: Visit) -> Reply:
    """Create an invitation and show its link once."""
    email = visit.form["email"]
    try:
        token = create_member_invitation(
            visit.database, visit.user, email, _submitted_role(visit), visit.system_ms
        )
    except (InvalidEmailError, TeamChangeError) as error:
        return show_team(visit, status=422, email=email, error=sentence(error))
    path = f"{INVITATION_PATH}?token={token}"
    if _mail_invitation(visit, email, path):
        mark_invitation_mailed(visit.database, token)
        message = f"{email} is invited; we have sent the link by e-mail."
        return visit.redirect(TEAM_PATH, message)
    return show_team(visit, link=visit.base_url + path, invited=email)


def _mail_invitation(visit: Visit, email: str, path: str) -> bool:
    """Mail an invitation; return whether the mail was sent."""
    settings = visit.services.settings
    if settings.smtp is None:
        return False
    domain, contact = visit.store.domain, visit.store.settings.contact_email
    text = _TEXT.format(domain, f"{settings.base_url}{path}")
    if contact:
        text += f"\nQuestions? Write to {contact}, or answer this e-mail.\n"
    try:
        send_mail(settings.smtp, email, f"Join {domain}", text, reply_to=contact)
    except MailError:
        return False
    return True


def withdraw_invitation(visit: Visit) -> Reply:
    """Delete an invitation: its link stops working."""
    try:
        delete_invitation(visit.database, visit.store.store_id, visit.form["invitation"])
    except UnknownMemberOrInvitationError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    return visit.redirect(TEAM_PATH, "The invitation is withdrawn.")


def change_member_role(visit: Visit) -> Reply:
    """Change a member's role."""
    store_id, member = visit.store.store_id, visit.form["member"]
    try:
        role = _submitted_role(visit)
        before = change_role_and_return_old_user(visit.database, store_id, member, role)
    except UnknownMemberOrInvitationError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    except TeamChangeError as error:
        return show_team(visit, status=422, member_error=sentence(error))
    name = before.email or "The owner"
    return visit.redirect(TEAM_PATH, f"{name} is {role.label} now.")


def remove_team_member(visit: Visit) -> Reply:
    """Remove a member; every session of theirs in this store ends."""
    try:
        gone = remove_member(visit.database, visit.store.store_id, visit.form["member"])
    except UnknownMemberOrInvitationError as error:
        raise PageOrRecordNotFoundError(sentence(error)) from error
    except TeamChangeError as error:
        return show_team(visit, status=422, member_error=sentence(error))
    name = gone.email or "The owner"
    return visit.redirect(TEAM_PATH, f"{name} is removed, and logged out of this store.")


def _submitted_role(visit: Visit) -> Role:
    try:
        return Role[visit.form["role"].upper()]
    except KeyError:
        message = "choose a role: viewer, editor or owner"
        raise TeamChangeError(message) from None


def show_team(visit: Visit, status: int = 200, **values: object) -> Reply:
    """Show the members and the valid invitations."""
    store_id = visit.store.store_id
    with visit.database.reading() as connection:
        users = UserRepository(connection, store_id).all()
        invitations = InvitationRepository(connection, store_id).all(visit.system_ms)
    defaults = {"email": "", "error": "", "member_error": "", "link": "", "invited": ""}
    values_to_show: dict[str, object] = {**defaults, **values}
    return visit.render(
        "team.html",
        status=status,
        members=users,
        invitations=invitations,
        makers={user.user_id: user.email or "the owner" for user in users},
        roles=ROLES,
        labels=[(name, name.capitalize()) for name, _ in ROLES],
        **values_to_show,
    )


def show_invitation(visit: Visit) -> Reply:
    """Show the invitation, and the form for a password."""
    return _invitation_page(visit, visit.query["token"])


def join_team(visit: Visit) -> Reply:
    """Let the invited person in: a new login, or one that has other stores already."""
    token = visit.form["token"]
    invitation = find_invitation(visit.database, token, visit.system_ms)
    if invitation is None or _store_domain_of_invitation(visit, invitation) is None:
        return _invitation_page(visit, "")
    newcomer = DashboardUser(
        invitation.store_id, "", invitation.email, invitation.role, None
    )
    audited_database = visit.database_with_audit_entry(
        "Joined the team", f"as {invitation.role.label}", newcomer
    )
    try:
        user = _accept_invitation(visit, invitation, audited_database, token)
    except (InvitationError, LoginRemovedError):
        return _invitation_page(visit, "")
    except (UnsuitablePasswordError, WrongPasswordError, EmailTakenError) as error:
        return _invitation_page(visit, token, status=422, error=sentence(error))
    except TooManyAttemptsError as error:
        return _invitation_page(visit, token, status=429, error=sentence(error))
    start = (
        start_session_and_redirect
        if _is_for_logged_in_user(visit, invitation)
        else start_session_or_ask_for_code
    )
    return start(visit, user, message="Welcome to the team.")


def _accept_invitation(
    visit: Visit, invitation: Invitation, audited_database: Database, token: str
) -> DashboardUser:
    """Add the invited person; one who has a login proves it by session or password."""
    password, now_ms = visit.form.as_typed("password"), visit.system_ms
    if _is_for_logged_in_user(visit, invitation):
        return accept_invitation_with_login(audited_database, token, visit.user, now_ms)
    candidates = find_logins_or_owners(visit.database, invitation.email, None)
    if not candidates:
        return accept_invitation(audited_database, token, password, now_ms)
    logins = logins_opened_by_password_rate_limited(
        visit, candidates, password, invitation.email or ""
    )
    if not logins:
        message = "this is not the password of your login"
        raise WrongPasswordError(message)
    return accept_invitation_with_login(audited_database, token, logins[0], now_ms)


def _is_for_logged_in_user(visit: Visit, invitation: Invitation) -> bool:
    """Return whether the session is of a login with the invited e-mail."""
    if visit.session is None or visit.user.is_from_shop:
        return False
    return visit.user.email is not None and visit.user.email == invitation.email


def _invitation_page(visit: Visit, token: str, status: int = 200, error: str = "") -> Reply:
    invitation = find_invitation(visit.database, token, visit.system_ms)
    domain = _store_domain_of_invitation(visit, invitation)
    if invitation is None or domain is None:
        return visit.render("invitation.html", status=404, found=None)
    return visit.render(
        "invitation.html",
        status=status,
        found=invitation,
        shop=domain,
        token=token,
        error=error,
        is_own=_is_for_logged_in_user(visit, invitation),
        has_login=bool(find_logins_or_owners(visit.database, invitation.email, None)),
    )


def _store_domain_of_invitation(visit: Visit, invitation: Invitation | None) -> str | None:
    if invitation is None or invitation.store_id == NEW_STORE:
        return None
    store = visit.context.accounts.by_id(invitation.store_id)
    return None if store is None else store.domain


PAGES: Final = (
    Page(
        TEAM_PATH, "Team", show_team, group=NavigationGroup.SETTINGS, may_change=Role.OWNER
    ),
    *form_pages(
        TEAM_PATH,
        "Team",
        ("invite", create_and_mail_or_show_invitation, "Invited somebody"),
        ("withdraw", withdraw_invitation, "Withdrew an invitation"),
        ("role", change_member_role, "Changed a role"),
        ("remove", remove_team_member, "Removed a member"),
        may_change=Role.OWNER,
    ),
    Page(INVITATION_PATH, "Join the team", show_invitation, join_team, is_public=True),
)
