"""E-mail confirmation: a mailed link that proves that its reader owns the login's address.

Only where an SMTP server is set up. Until then the dashboard asks, and can send it again.
"""

import logging
import threading
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import HOME_PATH, LOGIN_PATH, Page, Reply, Visit, form_pages
from productrecs.mail import send_mail
from productrecs.services import Services
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.login_and_sessions import (
    confirm_email,
    create_email_confirmation_token,
    find_user_to_confirm,
)
from productrecs.tenancy.users.login_attempt_limits import TooManyAttemptsError

CONFIRM_PATH: Final = "/dashboard/confirm"
_EXPIRED: Final = "This link was used already or is over seven days old."
_TEXT: Final = """This address is the login of the ProductRecs dashboard of {}.

Confirm that it is yours, within seven days:

{}

If it is not yours, do nothing.
"""
_log = logging.getLogger(__name__)


def needs_email_confirmation(visit: Visit) -> bool:
    """Return whether the dashboard asks the user to confirm the address."""
    if visit.session is None or visit.services.settings.smtp is None:
        return False
    user = visit.user
    return not user.is_from_shop and user.email is not None and user.confirmed_at is None


def mail_confirmation(visit: Visit, user: DashboardUser, domain: str) -> None:
    """Send the link to a user's address, in a thread; nothing without an SMTP server."""
    arguments = (visit.services, user, domain, visit.system_ms)
    threading.Thread(target=_send_confirmation_link, args=arguments, daemon=True).start()


def _send_confirmation_link(
    services: Services, user: DashboardUser, domain: str, now_ms: int
) -> None:
    server = services.settings.smtp
    if server is None or user.email is None:
        return
    try:
        token = create_email_confirmation_token(services.database, user, now_ms)
        link = f"{services.settings.base_url}{CONFIRM_PATH}?token={token}"
        send_mail(server, user.email, "Confirm your e-mail", _TEXT.format(domain, link))
    except ProductRecsError:
        _log.warning("confirmation not sent", exc_info=True)


def show_email_confirmation(visit: Visit) -> Reply:
    """Ask before a link confirms: programs that scan mails open links too."""
    token = visit.query["token"]
    user = find_user_to_confirm(visit.database, token, visit.system_ms)
    status = 404 if user is None else 200
    email = "" if user is None else user.email
    return visit.render("confirm.html", status=status, token=token, email=email)


def confirm_email_of_link(visit: Visit) -> Reply:
    """Confirm the address of a link."""
    user = confirm_email(visit.database, visit.form["token"], visit.system_ms)
    path = LOGIN_PATH if visit.session is None else HOME_PATH
    if user is None:
        return visit.redirect(path, _EXPIRED)
    return visit.redirect(path, f"{user.email} is confirmed.")


def send_confirmation_again(visit: Visit) -> Reply:
    """Send the link to the user's address again."""
    limits, counted = visit.context.login_limits, f"confirm {visit.user.login_key}"
    try:
        limits.check_attempts_left(counted)
    except TooManyAttemptsError as error:
        return visit.redirect(HOME_PATH, sentence(error))
    limits.count_failure(counted)
    if not needs_email_confirmation(visit):
        return visit.redirect(HOME_PATH, "Your e-mail is confirmed.")
    mail_confirmation(visit, visit.user, visit.store.domain)
    return visit.redirect(HOME_PATH, f"A link is on its way to {visit.user.email}.")


PAGES: Final = (
    Page(
        CONFIRM_PATH,
        "Confirm your e-mail",
        show_email_confirmation,
        confirm_email_of_link,
        is_public=True,
    ),
    *form_pages(
        CONFIRM_PATH,
        "Confirm your e-mail",
        ("send", send_confirmation_again, "Asked for a link to confirm the e-mail"),
        may_change=Role.VIEWER,
        is_of_login=True,
    ),
)
