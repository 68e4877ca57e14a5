"""Registration page: creates a store from a domain, an e-mail and a password."""

from collections.abc import Mapping
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.dashboard.formats import (
    currency_options,
    language_options,
    sentence,
)
from productrecs.dashboard.page import Page, Reply, Visit
from productrecs.dashboard.pages.account.email_confirmation import (
    mail_confirmation,
)
from productrecs.dashboard.pages.account.login import (
    start_session_and_redirect,
    start_session_or_ask_for_code,
)
from productrecs.tenancy.accounts.currency_language_and_zone_codes import known_codes
from productrecs.tenancy.accounts.domains_and_origins import DomainError, normalise_domain
from productrecs.tenancy.accounts.repository import DomainTakenError
from productrecs.tenancy.accounts.store_management import (
    Registration,
    all_stores,
    find_or_create_owner,
    register_store,
    revoke_secret_keys,
)
from productrecs.tenancy.accounts.store_settings import SettingError, StoreSettings
from productrecs.tenancy.accounts.team_members import find_invitation
from productrecs.tenancy.billing.plans_and_subscriptions import (
    UNLIMITED,
    Plan,
    find_plan,
)
from productrecs.tenancy.users.dashboard_user import DashboardUser, InvalidEmailError, Role
from productrecs.tenancy.users.invitations.repository import NEW_STORE, InvitationError
from productrecs.tenancy.users.login_attempt_limits import TooManyAttemptsError
from productrecs.tenancy.users.logins.repository import EmailTakenError, LoginRemovedError
from productrecs.tenancy.users.passwords import UnsuitablePasswordError
from productrecs.tenancy.users.repository import UserRepository

START_PATH: Final = "/dashboard/start"
OPEN: Final = "open"
INVITATION: Final = "invitation"
_FIELDS: Final[dict[type[ProductRecsError], str]] = {
    DomainError: "domain",
    DomainTakenError: "domain",
    InvalidEmailError: "email",
    EmailTakenError: "email",
    LoginRemovedError: "domain",
    UnsuitablePasswordError: "password",
    SettingError: "currency",
}
_FIELD_ERRORS: Final[tuple[type[ProductRecsError], ...]] = (*_FIELDS, TooManyAttemptsError)


class RegistrationClosedError(ProductRecsError):
    """This installation accepts no registrations from the web."""


def show_registration(visit: Visit) -> Reply:
    """Show the form, or how to get a store if registration is closed."""
    return _registration_page(visit, visit.query["token"])


def register_and_log_in(visit: Visit) -> Reply:
    """Create the store and log its owner in; a logged-in user gets one more store."""
    mode, token = _registration_mode(visit), visit.form["token"]
    if mode not in {OPEN, INVITATION}:
        message = "registration is closed here; ask who runs this service for a store"
        raise RegistrationClosedError(message)
    limits = visit.context.login_limits
    limit_key = f"registration {visit.network}"
    form = visit.form
    settings = {
        name: form[name] for name in ("currency", "timezone", "language") if form[name]
    }
    if settings.get("timezone") not in known_codes().timezones:
        settings.pop("timezone", None)  # a browser may know other names
    try:
        limits.check_attempts_left(limit_key)
        registration = _read_registration(visit, settings)
        store, _secret = register_store(
            visit.database,
            registration,
            visit.context.clock,
            token if mode == INVITATION else None,
        )
    except InvitationError:
        return _registration_page(visit, token, status=422)
    except _FIELD_ERRORS as error:
        name = _FIELDS.get(type(error), "domain")
        error_text = str(error)
        if isinstance(error, DomainTakenError):
            error_text = "this domain has a store already; log in, or reset its password"
        if isinstance(error, EmailTakenError):
            limits.count_failure(limit_key)  # so that nobody asks for many addresses
            error_text = f"{error}. Log in first: your login can have several stores"
        return _registration_page(visit, token, {name: sentence(error_text)}, status=422)
    revoke_secret_keys(visit.database, store)  # nobody has seen it; Get started creates one
    limits.count_failure(limit_key)  # each store counts, which limits mass registration
    visit.refresh_accounts()
    owner = find_or_create_owner(visit.database, store)
    days = registration.plan.days
    trial = (
        "" if days is None else f" Your plan {registration.plan.name} runs for {days} days."
    )
    if registration.owner is not None:
        return start_session_and_redirect(
            visit, owner, START_PATH, f"Your store is made.{trial}"
        )
    mail_confirmation(visit, owner, store.domain)
    return start_session_or_ask_for_code(visit, owner, START_PATH, f"Welcome.{trial}")


def _read_registration(visit: Visit, settings: Mapping[str, str]) -> Registration:
    form, owner = visit.form, _owner_of_new_store(visit)
    domain_name = normalise_domain(form["domain"])
    if (
        "." not in domain_name
        and domain_name != "localhost"
        and not domain_name.startswith("[")
    ):
        message = (
            f"{domain_name!r} is not a domain; write where your shop is, like "
            f"{domain_name}.com"
        )
        raise DomainError(message)
    email = form["email"] if owner is None else owner.email
    if owner is None and "@" not in form["email"]:
        message = "write an e-mail address like anna@example.com"
        raise InvalidEmailError(message)
    return Registration(
        domain=form["domain"],
        email=email,
        password=form.as_typed("password") if owner is None else None,
        plan=_plan_of_new_store(visit),
        settings=settings,
        owner=owner,
    )


def _owner_of_new_store(visit: Visit) -> DashboardUser | None:
    """Return the login that gets the store; a session from a shop proves no person."""
    if visit.session is None or visit.user.is_from_shop:
        return None
    return visit.user


def _registration_mode(visit: Visit) -> str:
    """Return who may register a store: the owner of the first one needs no invitation."""
    mode = visit.services.settings.registration
    return OPEN if mode == INVITATION and _does_new_owner_own_first_store(visit) else mode


def _does_new_owner_own_first_store(visit: Visit) -> bool:
    login = _owner_of_new_store(visit)
    stores = [store for store in all_stores(visit.database) if not _is_local(store.domain)]
    if login is None or not stores:
        return False
    first = min(stores, key=lambda store: store.created_at)
    with visit.database.reading() as connection:
        users = UserRepository(connection, first.store_id).all()
    return any(
        user.login_key == login.login_key and user.role is Role.OWNER for user in users
    )


def _is_local(domain: str) -> bool:
    """Return whether a store is of this machine alone, such as the demo store."""
    return domain.endswith(".localhost")


def _plan_of_new_store(visit: Visit) -> Plan:
    """Return a new store's plan: no limits for the first store and for invited ones.

    The operator makes the invitations. Stores of this machine alone, such as the demo
    store, do not count.
    """
    settings = visit.services.settings
    if settings.registration == INVITATION:
        return UNLIMITED
    is_first = all(_is_local(store.domain) for store in all_stores(visit.database))
    name = UNLIMITED.name if is_first else settings.new_store_plan
    return find_plan(settings.plans, name)


def _registration_page(
    visit: Visit, token: str, errors: Mapping[str, str] | None = None, status: int = 200
) -> Reply:
    """Return the form; in invitation mode only with a valid invitation."""
    mode, email = _registration_mode(visit), visit.form["email"]
    if mode == INVITATION:
        invitation = find_invitation(visit.database, token, visit.system_ms)
        if invitation is not None and invitation.store_id == NEW_STORE:
            mode, email = OPEN, email or invitation.email or ""
        elif token:
            mode = "used"
    return visit.render(
        "register.html",
        status=status,
        mode=mode,
        errors=errors or {},
        token=token,
        email=email,
        login=_owner_of_new_store(visit),
        plan=_plan_of_new_store(visit),
        currencies=currency_options(),
        languages=language_options(),
        language=visit.form["language"] or _language_of_browser(visit),
    )


def _language_of_browser(visit: Visit) -> str:
    """Return the first language that the browser asks for, where a store may have it."""
    known = dict(language_options())
    accepted = visit.request.headers.get("accept-language", "")
    tags = [part.partition(";")[0].strip() for part in accepted.split(",")]
    candidates = [form for tag in tags for form in (tag, tag.partition("-")[0])]
    return next((tag for tag in candidates if tag in known), StoreSettings().language)


PAGES: Final = (
    Page(
        "/dashboard/register",
        "Create a store",
        show_registration,
        register_and_log_in,
        is_public=True,
    ),
)
