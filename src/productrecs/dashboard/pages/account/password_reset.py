"""Password reset page: a one-time link, valid for 30 minutes, and the new password.

With an SMTP server the link is sent by e-mail. The operator can always create one with
`productrecs account reset-link`.
"""

import logging
import threading
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.account.login import start_session_or_ask_for_code
from productrecs.mail import send_mail
from productrecs.services import Services
from productrecs.settings import SmtpServer
from productrecs.tenancy.users.login_and_sessions import (
    ResetLinkError,
    create_reset_token,
    find_logins_or_owners,
    is_valid_reset_token,
    reset_password_and_join_logins,
)
from productrecs.tenancy.users.login_attempt_limits import TooManyAttemptsError
from productrecs.tenancy.users.passwords import UnsuitablePasswordError

RESET_PATH: Final = "/dashboard/reset"
_TEXT: Final = """Somebody asked for a new password for your ProductRecs dashboard.

Choose it here, within 30 minutes:

{}

If it was not you, do nothing: your password stays as it is.
"""
_log = logging.getLogger(__name__)


def show_password_reset(visit: Visit) -> Reply:
    """Show how to get a link; with a valid link, the form for a new password."""
    token = visit.query["token"]
    if token and not is_valid_reset_token(visit.database, token, visit.system_ms):
        return _password_reset_page(visit, status=404, is_expired=True)
    return _password_reset_page(visit, token)


def send_link_or_set_password(visit: Visit) -> Reply:
    """Send a link to an address; or, with a valid link, store the new password."""
    if visit.form["email"] and not visit.form["token"]:
        return _send_reset_link_rate_limited(visit)
    return _set_password_and_log_in(visit)


def _send_reset_link_rate_limited(visit: Visit) -> Reply:
    """Send a link to an address; the reply is the same for unknown addresses."""
    server, limits = visit.services.settings.smtp, visit.context.login_limits
    if server is None:
        return _password_reset_page(visit)
    email = visit.form["email"].lower()[:320]
    limit_keys = (f"reset {email}", f"reset from {visit.network}")
    try:
        limits.check_attempts_left(*limit_keys)
    except TooManyAttemptsError as error:
        return _password_reset_page(visit, status=429, error=sentence(error))
    limits.count_failure(*limit_keys)
    # In a thread: the reply's time must not reveal whether the address has a login.
    arguments = (visit.services, server, email, visit.system_ms)
    threading.Thread(target=_mail_reset_links, args=arguments, daemon=True).start()
    return _password_reset_page(visit, sent_to=email)


def _mail_reset_links(
    services: Services, server: SmtpServer, email: str, now_ms: int
) -> None:
    """Send a link for each login of an address, if there is one."""
    try:
        links = []
        for user in find_logins_or_owners(services.database, email, None):
            token = create_reset_token(services.database, user, now_ms, mailed=True)
            links.append(f"{services.settings.base_url}{RESET_PATH}?token={token}")
        if links:
            send_mail(server, email, "Reset your password", _TEXT.format("\n".join(links)))
    except ProductRecsError:
        _log.warning("reset link not sent", exc_info=True)


def _set_password_and_log_in(visit: Visit) -> Reply:
    """Store the new password, end every session, and log in."""
    token, password = visit.form["token"], visit.form.as_typed("password")
    limit_key, limits = f"reset link from {visit.network}", visit.context.login_limits
    try:
        limits.check_attempts_left(limit_key)
        user = reset_password_and_join_logins(
            visit.database, token, password, visit.system_ms
        )
    except TooManyAttemptsError as error:
        return _password_reset_page(visit, status=429, error=sentence(error))
    except ResetLinkError:
        limits.count_failure(limit_key)
        return _password_reset_page(visit, status=404, is_expired=True)
    except UnsuitablePasswordError as error:
        return _password_reset_page(visit, token, status=422, error=sentence(error))
    return start_session_or_ask_for_code(visit, user, message="Your new password is set.")


def _password_reset_page(
    visit: Visit,
    token: str = "",
    *,
    status: int = 200,
    error: str = "",
    is_expired: bool = False,
    sent_to: str = "",
) -> Reply:
    return visit.render(
        "reset.html",
        status=status,
        token=token,
        error=error,
        is_expired=is_expired,
        sent_to=sent_to,
        has_mail=visit.services.settings.smtp is not None,
    )


PAGES: Final = (
    Page(
        RESET_PATH,
        "Reset your password",
        show_password_reset,
        send_link_or_set_password,
        is_public=True,
    ),
)
