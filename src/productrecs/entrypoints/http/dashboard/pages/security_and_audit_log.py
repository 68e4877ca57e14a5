"""Security pages: the user's sessions and password, and the log of all changes."""

from typing import Final

from productrecs.entrypoints.http.dashboard.page import (
    Group,
    NotFoundError,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.http.dashboard.pages.team import sentence
from productrecs.tenancy.accounts.login.attempt_limits import TooManyAttemptsError
from productrecs.tenancy.accounts.login.sessions import (
    Session,
    WrongPasswordError,
    change_password,
    end_other_sessions,
    open_sessions,
)
from productrecs.tenancy.accounts.login.two_factor import has_second_factor
from productrecs.tenancy.accounts.login.users_and_passwords import (
    Role,
    WeakPasswordError,
    hash_token,
)
from productrecs.tenancy.accounts.team.repository import AuditRepository

SECURITY_PATH: Final = "/dashboard/security"
AUDIT_PATH: Final = "/dashboard/audit"
PAGE_SIZE: Final = 50
# Words of a user agent and what they name; the first found counts.
_BROWSERS: Final = (
    *(("Edg", "Edge"), ("OPR", "Opera"), ("SamsungBrowser", "Samsung Internet")),
    *(("Firefox", "Firefox"), ("FxiOS", "Firefox"), ("CriOS", "Chrome")),
    *(("Chrome", "Chrome"), ("Safari", "Safari")),
)
_SYSTEMS: Final = (
    *(("Windows", "Windows"), ("Android", "Android"), ("iPhone", "iPhone")),
    *(("iPad", "iPad"), ("CrOS", "ChromeOS"), ("Mac OS X", "macOS"), ("Linux", "Linux")),
)


def browser_name(agent: str) -> str:
    """Return a user agent as people name it, such as `Firefox on Windows`."""
    browser = next((name for word, name in _BROWSERS if word in agent), "")
    system = next((name for word, name in _SYSTEMS if word in agent), "")
    if not browser:
        return agent or "Unknown browser"
    return f"{browser} on {system}" if system else browser


def show_security(visit: Visit) -> Reply:
    """Show the user's sessions, and the form for a new password."""
    return security_page(visit)


def new_password(visit: Visit) -> Reply:
    """Replace the password; every other session of the user ends."""
    old, new = visit.form.as_typed("old_password"), visit.form.as_typed("new_password")
    counted = f"user {visit.user.store_id} {visit.user.user_id}"
    limits = visit.context.login_limits
    try:
        limits.check(counted)
        change_password(visit.database, session_of(visit), old, new)
    except WrongPasswordError as error:
        limits.failed(counted)
        return security_page(visit, status=422, old_error=sentence(error))
    except WeakPasswordError as error:
        return security_page(visit, status=422, new_error=sentence(error))
    except TooManyAttemptsError as error:
        return security_page(visit, status=429, old_error=sentence(error))
    message = "Your new password is set. Your other sessions ended."
    return visit.redirect(SECURITY_PATH, message)


def end_session(visit: Visit) -> Reply:
    """End one other session of the user, or all of them."""
    chosen = visit.form["session"]
    if chosen == "others":
        end_other_sessions(visit.database, session_of(visit))
        return visit.redirect(SECURITY_PATH, "Your other sessions ended.")
    if not end_other_sessions(visit.database, session_of(visit), chosen):
        message = "You have no such session; it may have ended already."
        raise NotFoundError(message)
    return visit.redirect(SECURITY_PATH, "The session ended.")


def session_of(visit: Visit) -> Session:
    """Return the session of a page that is not public."""
    if visit.session is None:
        raise NotFoundError
    return visit.session


def security_page(visit: Visit, status: int = 200, **errors: str) -> Reply:
    """Return the page, with errors next to its fields."""
    session = session_of(visit)
    shown = {"old_error": "", "new_error": "", **errors}
    return visit.render(
        "security.html",
        status=status,
        sessions=open_sessions(visit.database, session, visit.system_ms),
        own=hash_token(session.token),
        system_ms=visit.system_ms,
        has_factor=has_second_factor(visit.database, session.user),
        browser_name=browser_name,
        **shown,
    )


def show_log(visit: Visit) -> Reply:
    """Show a page of the log of changes, the newest line first."""
    before = visit.query["before"]
    with visit.database.reading() as connection:
        log = AuditRepository(connection, visit.store.store_id)
        found = log.page(PAGE_SIZE + 1, before)
    shown = found[:PAGE_SIZE]
    older = shown[-1].entry_id if len(found) > PAGE_SIZE else ""
    return visit.render("audit.html", entries=shown, older=older, is_first=not before)


PAGES: Final = (
    Page(
        SECURITY_PATH,
        "Login and security",
        show_security,
        group=Group.SETTINGS,
        may_change=Role.VIEWER,
        is_of_login=True,
    ),
    Page(
        f"{SECURITY_PATH}/password",
        "Login and security",
        None,
        new_password,
        may_change=Role.VIEWER,
        is_of_login=True,
        action="Changed the own password",
    ),
    Page(
        f"{SECURITY_PATH}/sessions",
        "Login and security",
        None,
        end_session,
        may_change=Role.VIEWER,
        is_of_login=True,
        action="Ended own sessions",
    ),
    Page(AUDIT_PATH, "Audit log", show_log, group=Group.SETTINGS),
)
