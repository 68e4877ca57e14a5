"""Access tokens page: what the merchant's own assistant sends, and how to connect one."""

from typing import Final

from productrecs.dashboard.formats import sentence
from productrecs.dashboard.page import (
    MCP_PATH,
    Page,
    PageOrRecordNotFoundError,
    Reply,
    Visit,
    form_pages,
)
from productrecs.dashboard.pages.settings.api_keys_and_plan import ACCOUNT_PATH
from productrecs.tenancy.users.access_tokens.access_token import (
    MAX_TOKENS,
    AccessTokenCreationError,
    create_access_token,
)
from productrecs.tenancy.users.access_tokens.repository import (
    AccessToken,
    AccessTokenRepository,
)
from productrecs.tenancy.users.dashboard_user import Role

ASSISTANT_PATH: Final = f"{ACCOUNT_PATH}/assistant"
_TITLE: Final = "Your own assistant"
RIGHTS: Final = {Role.VIEWER: "Read only", Role.EDITOR: "Read and change"}
_CHOICES: Final = {"read": Role.VIEWER, "change": Role.EDITOR}


def tokens_of(visit: Visit) -> list[AccessToken]:
    """Return the store's tokens, the oldest first."""
    with visit.database.reading() as connection:
        return AccessTokenRepository(connection, visit.store.store_id).all()


def create_and_show_access_token(visit: Visit) -> Reply:
    """Make a token, and show it once."""
    name, may = visit.form["name"], visit.form["may"]
    role = _CHOICES.get(may, Role.VIEWER)
    creator = visit.user.email or visit.user.role.label
    try:
        _, text = create_access_token(
            visit.database, visit.store.store_id, name, role, creator, visit.system_ms
        )
    except AccessTokenCreationError as error:
        problem = sentence(error)
        return show_access_tokens(visit, status=422, typed=name, may=may, error=problem)
    return show_access_tokens(visit, text=text)


def revoke_access_token(visit: Visit) -> Reply:
    """Revoke a token: its next call is refused.

    Raises:
        PageOrRecordNotFoundError: when it was revoked already.
    """
    with visit.database.transaction() as transaction:
        tokens = AccessTokenRepository(transaction, visit.store.store_id)
        if not tokens.remove(visit.form["token"]):
            message = "This token was revoked already."
            raise PageOrRecordNotFoundError(message)
    return visit.redirect(
        ASSISTANT_PATH, "The token is revoked. Calls with it are refused."
    )


def show_access_tokens(
    visit: Visit,
    *,
    status: int = 200,
    text: str = "",
    typed: str = "",
    may: str = "read",
    error: str = "",
) -> Reply:
    """Show the tokens, and how to connect an assistant."""
    tokens = tokens_of(visit)
    return visit.render(
        "access_tokens.html",
        status=status,
        tokens=tokens,
        rights=RIGHTS,
        choices=[(name, RIGHTS[role]) for name, role in _CHOICES.items()],
        text=text,
        typed=typed,
        may=may,
        error=error,
        address=f"{visit.base_url}{MCP_PATH}",
        is_full=len(tokens) >= MAX_TOKENS,
    )


PAGES: Final = (
    Page(ASSISTANT_PATH, _TITLE, show_access_tokens, may_change=Role.OWNER),
    *form_pages(
        ASSISTANT_PATH,
        _TITLE,
        ("add", create_and_show_access_token, "Made an access token for an assistant"),
        ("revoke", revoke_access_token, "Revoked an access token of an assistant"),
        may_change=Role.OWNER,
    ),
)
