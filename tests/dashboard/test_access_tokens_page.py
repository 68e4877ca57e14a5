"""Access tokens page: an owner makes a token, sees it once, and revokes it."""

import re

import pytest

from productrecs.storage.sql.audit_log import AuditEntry, AuditLogRepository
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.assistant import Assistant
from tests.support.dashboard import Member, add_user, text_of

PAGE = "/dashboard/account/assistant"


def made_token(page: str) -> str:
    found = re.search(r"\bat_st_\w+\.\w{43}\b", page)
    assert found is not None
    return found[0]


def newest_entry(office: Office, store: Store) -> AuditEntry:
    with office.services.database.reading() as connection:
        return AuditLogRepository(connection, store.store_id).page(1)[0]


def test_an_owner_makes_a_token_that_is_shown_once_and_works(
    office: Office, store: Store
) -> None:
    member = office.member(store)
    assert "no assistant can connect" in text_of(member.get(PAGE))
    assert PAGE in member.get("/dashboard/account").body.decode()

    added = member.post(f"{PAGE}/add", page=PAGE, name="Claude", may="change")

    shown = text_of(added)
    token = made_token(shown)
    assert f'--header "Authorization: Bearer {token}"' in shown
    assistant = Assistant(office.inside, token)
    assert "add_rule" in {tool["name"] for tool in assistant.tools()}
    later = text_of(member.get(PAGE))
    assert token not in later
    assert "Read and change" in later
    assert "/dashboard/mcp" in later
    entry = newest_entry(office, store)
    assert entry.action == "Made an access token for an assistant"
    assert "“Claude”" in entry.detail
    assert "Read and change" in entry.detail
    assert token not in f"{entry}"


def test_a_revoked_token_is_refused_at_once(office: Office, store: Store) -> None:
    member = office.member(store)
    token = made_token(text_of(member.post(f"{PAGE}/add", page=PAGE, name="Old")))
    assistant = Assistant(office.inside, token)
    assert {tool["annotations"]["readOnlyHint"] for tool in assistant.tools()} == {True}
    body = member.get(PAGE).body.decode()
    found = re.search(r'name="token" value="(\w+)"', body)
    assert found is not None

    assert member.post(f"{PAGE}/revoke", page=PAGE, token=found[1]).status == 303

    assert assistant.ask("tools/list").status == 401
    assert "no assistant can connect" in text_of(member.get(PAGE))
    assert "“Old”" in newest_entry(office, store).detail
    assert member.post(f"{PAGE}/revoke", page=PAGE, token=found[1]).status == 404


@pytest.mark.parametrize(
    ("name", "words"), [("", "a name of 1 to 60"), ("Claude", "another token has")]
)
def test_a_name_that_cannot_be_used_is_explained(
    office: Office, store: Store, name: str, words: str
) -> None:
    member = office.member(store)
    member.post(f"{PAGE}/add", page=PAGE, name="Claude")

    reply = member.post(f"{PAGE}/add", page=PAGE, name=name, may="change")

    assert reply.status == 422
    assert words in text_of(reply).lower()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
def test_only_an_owner_makes_or_revokes_tokens(
    office: Office, store: Store, role: Role
) -> None:
    stranger = Member(office.inside)
    stranger.log_in(add_user(office.services, store, role))

    assert "Only an owner" in text_of(stranger.get(PAGE))
    refused = stranger.post(f"{PAGE}/add", page="/dashboard/security", name="Mine")
    assert refused.status == 403
