"""Login page: e-mail (or the store's domain) and password, or a link; and log out."""

import re
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from productrecs.core.ids import StoreId
from productrecs.dashboard.cookies import SESSION, VISITOR
from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    HOME_PATH,
    LOGIN_PATH,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
)
from productrecs.http.pipeline.route_declaration import SIGN_IN_PATH
from productrecs.tenancy.accounts.domains_and_origins import DomainError, normalise_domain
from productrecs.tenancy.accounts.repository import AccountRepository
from productrecs.tenancy.users.dashboard_user import DashboardUser, Role
from productrecs.tenancy.users.login_and_sessions import (
    begin_session,
    end_session,
    find_logins_or_owners,
    join_logins,
    login_in_store,
    logins_opened_by_password,
    use_sign_in_token,
    user_of_sign_in_token,
)
from productrecs.tenancy.users.login_attempt_limits import TooManyAttemptsError
from productrecs.tenancy.users.two_factor import (
    create_challenge,
    has_second_factor,
)

SWITCH_PATH: Final = "/dashboard/switch"
_EXPIRED: Final = (
    "The link was used already or is over a minute old. "
    "Open the dashboard from your shop again, or log in here."
)
_WRONG: Final = "The e-mail (or domain) and the password do not belong together."


def show_login(visit: Visit) -> Reply:
    """Show the form; redirect a user who is already logged in."""
    if visit.session is not None:
        return visit.redirect(safe_path(visit.query["next"]))
    return _login_page(visit, next_path=visit.query["next"])


def log_in(visit: Visit) -> Reply:
    """Start a session if the password is correct."""
    name, password = visit.form["name"].lower()[:320], visit.form.as_typed("password")
    email = name if "@" in name else None
    domain = None if email else _domain_or_none(name)
    store_id = None if domain is None else _find_store_id_by_domain(visit, domain)
    candidates = find_logins_or_owners(visit.database, email, store_id)
    try:
        logins = logins_opened_by_password_rate_limited(
            visit, candidates, password, domain or name
        )
    except TooManyAttemptsError as error:
        return _login_page(visit, status=429, error=sentence(error), name=name)
    if not logins:
        return _login_page(visit, status=422, error=_WRONG, name=name)
    if email is not None:
        logins = join_logins(visit.database, logins)
    if len(logins) > 1:
        return _several_stores_page(visit, logins, name)
    return start_session_or_ask_for_code(
        visit, logins[0], safe_path(visit.form["next"]), password=password
    )


def logins_opened_by_password_rate_limited(
    visit: Visit, candidates: list[DashboardUser], password: str, tried_name: str
) -> list[DashboardUser]:
    """Return the logins that a password opens; count failures at them and the address.

    `tried_name` is counted where nobody has the name.

    Raises:
        TooManyAttemptsError: too many failed.
    """
    # By login, so that each spelling of a domain, and the e-mail, count together.
    account_keys = [_limit_key_of(login) for login in candidates] or [
        f"account {tried_name}"
    ]
    limit_keys, limits = (
        (*account_keys, f"address {visit.network}"),
        visit.context.login_limits,
    )
    limits.check_attempts_left(*limit_keys)
    matches = logins_opened_by_password(candidates, password)
    if matches:
        limits.clear_failures(*map(_limit_key_of, matches))
    else:
        limits.count_failure(*limit_keys)
    return matches


def _limit_key_of(user: DashboardUser) -> str:
    """Return the name under which failures at a login are counted."""
    return f"account {user.login_key}"


def switch_store(visit: Visit) -> Reply:
    """Go on in another store of the login: a new session begins there, this one ends.

    So a page that is still open in another tab cannot change the wrong store.
    """
    target = login_in_store(visit.database, visit.user, StoreId(visit.form["to_store"]))
    if target is None:
        message = "Your login has no such store; open the page again."
        raise PageOrRecordNotFoundError(message)
    return start_session_and_redirect(visit, target, action="Switched to this store")


def show_link_login(visit: Visit) -> Reply:
    """Ask whether to follow a login link that a store's plugin requested; use nothing up.

    Whoever holds a store's secret key can make such a link and send it to others.
    """
    token = visit.query["token"]
    user = user_of_sign_in_token(visit.database, token, visit.system_ms)
    store = None if user is None else visit.context.accounts.by_id(user.store_id)
    if user is None or store is None:
        return visit.redirect(LOGIN_PATH, _EXPIRED)
    if visit.session is not None and _is_session_of_user(visit, user):
        return visit.redirect(HOME_PATH)  # a session with a password may do more
    return visit.render("sign_in.html", shop=store.domain, login=user, token=token)


def _is_session_of_user(visit: Visit, user: DashboardUser) -> bool:
    """Return whether the session is the user's, in the same store."""
    return visit.user.is_same_login(user) and visit.user.store_id == user.store_id


def log_in_by_link(visit: Visit) -> Reply:
    """Use the link up and start its session."""
    user = use_sign_in_token(visit.database, visit.form["token"], visit.system_ms)
    if user is None:
        return visit.redirect(LOGIN_PATH, _EXPIRED)
    if visit.session is not None:
        # A session with a password may do more than the link, in each of its stores.
        own = login_in_store(visit.database, visit.user, user.store_id)
        if own is not None and not visit.user.is_from_shop and own.is_same_login(user):
            return start_session_and_redirect(visit, own, action="Switched to this store")
    return start_session_or_ask_for_code(visit, user)


def log_out(visit: Visit) -> Reply:
    """End the session."""
    if visit.session is not None:
        end_session(visit.database, visit.session)
    reply = visit.redirect(LOGIN_PATH, "You are logged out.")
    return replace(reply, cookies={**reply.cookies, SESSION: None})


def start_session_or_ask_for_code(
    visit: Visit,
    user: DashboardUser,
    path: str = HOME_PATH,
    message: str = "",
    password: str | None = None,
) -> Reply:
    """Start a session, or ask for the code of the second factor."""
    if has_second_factor(visit.database, user):
        token = create_challenge(visit.database, user, visit.system_ms)
        return visit.render("login_code.html", token=token, next_path=path, error="")
    return start_session_and_redirect(visit, user, path, message, password)


def start_session_and_redirect(
    visit: Visit,
    user: DashboardUser,
    path: str = HOME_PATH,
    message: str = "",
    password: str | None = None,
    action: str = "",
) -> Reply:
    """Return a redirect with the cookie of a new session; an earlier one ends."""
    if visit.session is not None:
        end_session(visit.database, visit.session)
    action = action or ("Logged in from the shop" if user.is_from_shop else "Logged in")
    store = visit.context.accounts.by_id(user.store_id)
    detail = "" if store is None else f"Store: {store.domain}"
    database = visit.database_with_audit_entry(action, detail, user=user)
    session = begin_session(database, user, visit.system_ms, password, visit.browser)
    reply = visit.redirect(path, message)
    cookies = {**reply.cookies, SESSION: session.token, VISITOR: None}
    return replace(reply, cookies=cookies)


def _several_stores_page(
    visit: Visit, logins: list[DashboardUser], typed_email: str
) -> Reply:
    """List the stores of logins that match, and that two second factors hold apart."""
    stores = [visit.context.accounts.by_id(login.store_id) for login in logins]
    domains = sorted(store.domain for store in stores if store is not None)
    message = (
        f"{typed_email} owns several stores. Log in with the domain of login instead of "
        f"the e-mail: {', '.join(domains)}."
    )
    return _login_page(visit, status=422, error=message, name=domains[0] if domains else "")


def _domain_or_none(name: str) -> str | None:
    try:
        return normalise_domain(name)
    except DomainError:
        return None


def _find_store_id_by_domain(visit: Visit, domain: str) -> StoreId | None:
    with visit.database.reading() as connection:
        store = AccountRepository(connection).find(domain)
    return None if store is None else store.store_id


def _login_page(
    visit: Visit, *, status: int = 200, error: str = "", name: str = "", next_path: str = ""
) -> Reply:
    is_open_to_others = visit.base_url.startswith("http://") and not _is_local(visit)
    return visit.render(
        "login.html",
        status=status,
        error=error,
        name=name,
        next_path=next_path or visit.form["next"],
        is_unencrypted=is_open_to_others,
    )


def _is_local(visit: Visit) -> bool:
    host = visit.request.url.hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def safe_path(path: str) -> str:
    """Return the redirect target: a page of the dashboard, never another site."""
    is_ours = re.match(rf"{HOME_PATH}(?:[/?]|$)", path) is not None
    is_ours = is_ours and "\\" not in path and path.isprintable()
    return quote(path, safe="/?=&%+") if is_ours else HOME_PATH


PAGES: Final = (
    Page(LOGIN_PATH, "Log in", show_login, log_in, is_public=True),
    Page(
        SWITCH_PATH,
        "Switch store",
        None,
        switch_store,
        may_change=Role.VIEWER,
        is_of_login=True,
        is_audited=False,  # the audit log of the other store gets the line
    ),
    Page("/dashboard/logout", "Log out", None, log_out, is_public=True),
    Page(SIGN_IN_PATH, "Sign in", show_link_login, log_in_by_link, is_public=True),
)
