"""Security pages: the user's sessions, password, and second factor for the login."""

import base64
import io
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from productrecs.core.clock import DAY_MS
from productrecs.core.ids import StoreId
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.mail_subscription_choices import user_gets_mails
from productrecs.dashboard.page import (
    LOGIN_PATH,
    NavigationGroup,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.account.login import safe_path, start_session_and_redirect
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.login_and_sessions import (
    ABSOLUTE_MS,
    Session,
    WrongPasswordError,
    active_sessions,
    change_password_and_end_sessions,
    end_other_sessions,
)
from productrecs.tenancy.users.login_attempt_limits import TooManyAttemptsError
from productrecs.tenancy.users.mail_subscriptions.repository import MailTopic
from productrecs.tenancy.users.passwords import UnsuitablePasswordError
from productrecs.tenancy.users.random_tokens import hash_token
from productrecs.tenancy.users.two_factor import (
    SecondFactorEnabledError,
    UncheckableCodeError,
    WrongCodeError,
    begin_second_factor,
    challenged_user,
    complete_challenge,
    confirm_second_factor,
    disable_second_factor,
    has_second_factor,
    pending_secret,
    provisioning_uri,
    use_second_factor_code,
)

SECURITY_PATH: Final = "/dashboard/security"
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


def change_password_and_end_other_sessions(visit: Visit) -> Reply:
    """Replace the password; every other session of the user ends."""
    old, new = visit.form.as_typed("old_password"), visit.form.as_typed("new_password")
    limit_key = f"user {visit.user.login_key}"
    limits = visit.context.login_limits
    try:
        limits.check_attempts_left(limit_key)
        change_password_and_end_sessions(visit.database, require_session(visit), old, new)
    except WrongPasswordError as error:
        limits.count_failure(limit_key)
        return show_login_and_security(visit, status=422, old_error=sentence(error))
    except UnsuitablePasswordError as error:
        return show_login_and_security(visit, status=422, new_error=sentence(error))
    except TooManyAttemptsError as error:
        return show_login_and_security(visit, status=429, old_error=sentence(error))
    message = "Your new password is set. Your other sessions ended."
    return visit.redirect(SECURITY_PATH, message)


def end_one_or_all_other_sessions(visit: Visit) -> Reply:
    """End one other session of the user, or all of them."""
    chosen = visit.form["session"]
    if chosen == "others":
        end_other_sessions(visit.database, require_session(visit))
        return visit.redirect(SECURITY_PATH, "Your other sessions ended.")
    if not end_other_sessions(visit.database, require_session(visit), chosen):
        message = "You have no such session; it may have ended already."
        raise PageOrRecordNotFoundError(message)
    return visit.redirect(SECURITY_PATH, "The session ended.")


def require_session(visit: Visit) -> Session:
    """Return the session of a page that is not public."""
    if visit.session is None:
        raise PageOrRecordNotFoundError
    return visit.session


def show_login_and_security(visit: Visit, status: int = 200, **errors: str) -> Reply:
    """Show the user's sessions, and the form for a new password with its errors."""
    session = require_session(visit)
    field_errors = {"old_error": "", "new_error": "", **errors}
    return visit.render(
        "security.html",
        status=status,
        sessions=active_sessions(visit.database, session, visit.system_ms),
        own=hash_token(session.token),
        system_ms=visit.system_ms,
        most_days=ABSOLUTE_MS // DAY_MS,
        has_factor=has_second_factor(visit.database, session.user),
        can_mail=visit.services.settings.smtp is not None,
        has_weekly_report=user_gets_mails(visit, MailTopic.WEEKLY_REPORT),
        browser_name=browser_name,
        domain_of=lambda store_id: _domain_of(visit, store_id),
        **field_errors,
    )


def _domain_of(visit: Visit, store_id: StoreId) -> str:
    store = visit.context.accounts.by_id(store_id)
    return "another store" if store is None else store.domain


TWO_FACTOR_PATH: Final = f"{SECURITY_PATH}/two-factor"
CODE_PATH: Final = f"{LOGIN_PATH}/code"
_ISSUER: Final = "ProductRecs"
_Result = TypeVar("_Result")
_CODE_ERRORS: Final = (WrongCodeError, UncheckableCodeError, TooManyAttemptsError)


def begin_two_factor(visit: Visit) -> Reply:
    """Create a secret and show its QR code; a code has to confirm it."""
    try:
        begin_second_factor(visit.database, visit.services.cipher, visit.user)
    except SecondFactorEnabledError as error:
        return show_two_factor(visit, status=422, error=sentence(error))
    return visit.redirect(TWO_FACTOR_PATH)


def turn_on_two_factor(visit: Visit) -> Reply:
    """Turn it on with the first code; show the recovery codes once."""
    try:
        codes = _attempt_code_rate_limited(
            visit, visit.user, lambda: _confirm_factor(visit)
        )
    except _CODE_ERRORS as error:
        return show_two_factor(visit, status=422, error=sentence(error))
    return show_two_factor(visit, codes=codes)


def turn_off_two_factor(visit: Visit) -> Reply:
    """Turn it off with a code."""
    try:
        _attempt_code_rate_limited(visit, visit.user, lambda: _use_code(visit, visit.user))
    except _CODE_ERRORS as error:
        return show_two_factor(visit, status=422, error=sentence(error))
    disable_second_factor(visit.database, visit.user)
    return visit.redirect(TWO_FACTOR_PATH, "Two-factor login is off.")


def log_in_with_code(visit: Visit) -> Reply:
    """Complete a login after the password check."""
    token = visit.form["token"]
    user = challenged_user(visit.database, token, visit.system_ms)
    if user is None:
        message = "That took over five minutes. Log in again."
        return visit.redirect(LOGIN_PATH, message)
    try:
        _attempt_code_rate_limited(visit, user, lambda: _use_code(visit, user))
    except _CODE_ERRORS as error:
        return visit.render(
            "login_code.html",
            status=422,
            token=token,
            next_path=visit.form["next"],
            error=sentence(error),
        )
    if not complete_challenge(visit.database, user, token):
        return visit.redirect(LOGIN_PATH)
    return start_session_and_redirect(visit, user, safe_path(visit.form["next"]))


def _confirm_factor(visit: Visit) -> list[str]:
    cipher, code = visit.services.cipher, visit.form["code"]
    return confirm_second_factor(visit.database, cipher, visit.user, code, visit.system_ms)


def _use_code(visit: Visit, user: DashboardUser) -> None:
    cipher, code = visit.services.cipher, visit.form["code"]
    use_second_factor_code(visit.database, cipher, user, code, visit.system_ms)


def _attempt_code_rate_limited(
    visit: Visit, user: DashboardUser, attempt: Callable[[], _Result]
) -> _Result:
    """Return the result of an attempt with a code; wrong codes are limited by user.

    Raises:
        WrongCodeError: the code is wrong.
        UncheckableCodeError: it cannot be checked, and was no recovery code.
        TooManyAttemptsError: too many codes were wrong.
    """
    limit_key, limits = f"code {user.login_key}", visit.context.login_limits
    limits.check_attempts_left(limit_key)
    try:
        result = attempt()
    except (WrongCodeError, UncheckableCodeError):
        limits.count_failure(limit_key)
        raise
    limits.clear_failures(limit_key)
    return result


def show_two_factor(
    visit: Visit, status: int = 200, error: str = "", codes: Sequence[str] = ()
) -> Reply:
    """Show the status of the second factor, and how to change it."""
    secret = pending_secret(visit.database, visit.services.cipher, visit.user)
    name = visit.user.email or visit.store.domain
    uri = "" if secret is None else provisioning_uri(secret, name, _ISSUER)
    return visit.render(
        "two_factor.html",
        status=status,
        is_on=has_second_factor(visit.database, visit.user),
        secret=secret or "",
        picture=_qr_code_data_url(uri) if uri else "",
        codes=codes,
        error=error,
    )


def _qr_code_data_url(text: str) -> str:
    """Return a QR code as the data URL of an SVG picture."""
    import segno  # noqa: PLC0415 - loaded by this one page

    drawn = io.BytesIO()
    code = segno.make(text, error="m", micro=False)
    code.save(drawn, kind="svg", scale=5, border=4, light="#fff", xmldecl=False)
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"


PAGES: Final = (
    Page(
        SECURITY_PATH,
        "Login and security",
        show_login_and_security,
        group=NavigationGroup.SETTINGS,
        may_change=Role.VIEWER,
        is_of_login=True,
    ),
    *form_pages(
        SECURITY_PATH,
        "Login and security",
        ("password", change_password_and_end_other_sessions, "Changed the own password"),
        ("sessions", end_one_or_all_other_sessions, "Ended own sessions"),
        may_change=Role.VIEWER,
        is_of_login=True,
    ),
    Page(
        TWO_FACTOR_PATH,
        "Two-factor login",
        show_two_factor,
        begin_two_factor,
        may_change=Role.VIEWER,
        is_of_login=True,
        action="Began to set up two-factor login",
    ),
    *form_pages(
        TWO_FACTOR_PATH,
        "Two-factor login",
        ("on", turn_on_two_factor, "Turned two-factor login on"),
        ("off", turn_off_two_factor, "Turned two-factor login off"),
        may_change=Role.VIEWER,
        is_of_login=True,
    ),
    Page(CODE_PATH, "Log in", None, log_in_with_code, is_public=True),
)
