"""Password reset page: a link that works once, for 30 minutes, and the new password.

The operator makes a link with `productrecs account reset-link`.
"""

from typing import Final

from productrecs.entrypoints.http.dashboard.page import Page, Reply, Visit
from productrecs.entrypoints.http.dashboard.pages.login import enter
from productrecs.tenancy.accounts.login.passwords import WeakPasswordError
from productrecs.tenancy.accounts.login.sessions import (
    ResetLinkError,
    is_reset_token,
    reset_password,
)

RESET_PATH: Final = "/dashboard/reset"


def show_reset(visit: Visit) -> Reply:
    """Show how to get a link; with a good one, the form for a new password."""
    token = visit.query["token"]
    if token and not is_reset_token(visit.database, token, visit.system_ms):
        return visit.render("reset.html", status=404, token="", is_expired=True, error="")
    return visit.render("reset.html", token=token, is_expired=False, error="")


def choose_password(visit: Visit) -> Reply:
    """Store the new password, end every session, and log in."""
    token, password = visit.form["token"], visit.form.as_typed("password")
    try:
        user = reset_password(visit.database, token, password, visit.system_ms)
    except ResetLinkError:
        return visit.render("reset.html", status=404, token="", is_expired=True, error="")
    except WeakPasswordError as error:
        said = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return visit.render(
            "reset.html", status=422, token=token, is_expired=False, error=said
        )
    return enter(visit, user, message="Your new password is set.")


PAGES: Final = (
    Page(RESET_PATH, "Reset your password", show_reset, choose_password, is_public=True),
)
