"""Two-factor pages: set up and turn off an authenticator app, and log in with its code."""

import base64
import io
from collections.abc import Callable, Sequence
from typing import Final

from productrecs.entrypoints.http.dashboard.page import (
    LOGIN_PATH,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.http.dashboard.pages.login import safe_path, start_session
from productrecs.entrypoints.http.dashboard.pages.security_and_audit_log import (
    SECURITY_PATH,
)
from productrecs.entrypoints.http.dashboard.pages.team import sentence
from productrecs.tenancy.accounts.login.attempt_limits import TooManyAttemptsError
from productrecs.tenancy.accounts.login.two_factor import (
    FactorError,
    WrongCodeError,
    begin_factor,
    challenged_user,
    complete_challenge,
    confirm_factor,
    has_second_factor,
    pending_secret,
    provisioning_uri,
    remove_factor,
    use_code,
)
from productrecs.tenancy.accounts.login.users_and_passwords import DashboardUser, Role

TWO_FACTOR_PATH: Final = f"{SECURITY_PATH}/two-factor"
CODE_PATH: Final = f"{LOGIN_PATH}/code"
_ISSUER: Final = "ProductRecs"


def show_two_factor(visit: Visit) -> Reply:
    """Show the status of the second factor, and how to change it."""
    return _page(visit)


def set_up(visit: Visit) -> Reply:
    """Create a secret and show its QR code; a code has to confirm it."""
    try:
        begin_factor(visit.database, visit.user)
    except FactorError as error:
        return _page(visit, status=422, error=sentence(error))
    return visit.redirect(TWO_FACTOR_PATH)


def turn_on(visit: Visit) -> Reply:
    """Turn it on with the first code; show the recovery codes once."""
    try:
        codes = _limited(visit, visit.user, lambda: _confirm(visit))
    except (WrongCodeError, TooManyAttemptsError) as error:
        return _page(visit, status=422, error=sentence(error))
    return _page(visit, codes=codes)


def turn_off(visit: Visit) -> Reply:
    """Turn it off with a code."""
    try:
        _limited(visit, visit.user, lambda: _use(visit, visit.user))
    except (WrongCodeError, TooManyAttemptsError) as error:
        return _page(visit, status=422, error=sentence(error))
    remove_factor(visit.database, visit.user)
    return visit.redirect(TWO_FACTOR_PATH, "Two-factor login is off.")


def log_in_with_code(visit: Visit) -> Reply:
    """Complete a login after the password check."""
    token = visit.form["token"]
    user = challenged_user(visit.database, token, visit.system_ms)
    if user is None:
        message = "That took over five minutes. Log in again."
        return visit.redirect(LOGIN_PATH, message)
    try:
        _limited(visit, user, lambda: _use(visit, user))
    except (WrongCodeError, TooManyAttemptsError) as error:
        return visit.render(
            "login_code.html",
            status=422,
            token=token,
            next_path=visit.form["next"],
            error=sentence(error),
        )
    if not complete_challenge(visit.database, user, token):
        return visit.redirect(LOGIN_PATH)
    return start_session(visit, user, safe_path(visit.form["next"]))


def _confirm(visit: Visit) -> list[str]:
    return confirm_factor(visit.database, visit.user, visit.form["code"], visit.system_ms)


def _use(visit: Visit, user: DashboardUser) -> list[str]:
    use_code(visit.database, user, visit.form["code"], visit.system_ms)
    return []


def _limited(
    visit: Visit, user: DashboardUser, attempt: Callable[[], list[str]]
) -> list[str]:
    """Return the result of an attempt with a code; wrong codes are limited by user.

    Raises:
        WrongCodeError: the code is wrong.
        TooManyAttemptsError: too many codes were wrong.
    """
    counted, limits = f"code {user.store_id} {user.user_id}", visit.context.login_limits
    limits.check(counted)
    try:
        done = attempt()
    except WrongCodeError:
        limits.failed(counted)
        raise
    limits.succeeded(counted)
    return done


def _page(
    visit: Visit, status: int = 200, error: str = "", codes: Sequence[str] = ()
) -> Reply:
    secret = pending_secret(visit.database, visit.user)
    name = visit.user.email or visit.store.domain
    uri = "" if secret is None else provisioning_uri(secret, name, _ISSUER)
    return visit.render(
        "two_factor.html",
        status=status,
        is_on=has_second_factor(visit.database, visit.user),
        secret=secret or "",
        picture=_qr_code(uri) if uri else "",
        codes=codes,
        error=error,
    )


def _qr_code(text: str) -> str:
    """Return a QR code as the data URL of an SVG picture."""
    import segno  # noqa: PLC0415 - loaded by this one page

    drawn = io.BytesIO()
    code = segno.make(text, error="m", micro=False)
    code.save(drawn, kind="svg", scale=5, border=4, light="#fff", xmldecl=False)
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}"


PAGES: Final = (
    Page(
        TWO_FACTOR_PATH,
        "Two-factor login",
        show_two_factor,
        set_up,
        may_change=Role.VIEWER,
        is_of_login=True,
        action="Began to set up two-factor login",
    ),
    Page(
        f"{TWO_FACTOR_PATH}/on",
        "Two-factor login",
        None,
        turn_on,
        may_change=Role.VIEWER,
        is_of_login=True,
        action="Turned two-factor login on",
    ),
    Page(
        f"{TWO_FACTOR_PATH}/off",
        "Two-factor login",
        None,
        turn_off,
        may_change=Role.VIEWER,
        is_of_login=True,
        action="Turned two-factor login off",
    ),
    Page(CODE_PATH, "Log in", None, log_in_with_code, is_public=True),
)
