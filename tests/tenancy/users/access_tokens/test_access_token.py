"""Access tokens: shown once, stored as a hash, of one store, and revocable."""

import pytest

from productrecs.core.ids import StoreId
from productrecs.storage.sql.database import Database
from productrecs.tenancy.users.access_tokens.access_token import (
    MAX_TOKENS,
    AccessTokenCreationError,
    authenticate_access_token,
    create_access_token,
)
from productrecs.tenancy.users.access_tokens.repository import (
    AccessToken,
    AccessTokenRepository,
)
from productrecs.tenancy.users.dashboard_user import Role
from tests.support.migrated import ON_SQLITE

ONE, OTHER = StoreId("st_one"), StoreId("st_other")
NOW = 1_800_000_000_000
MINUTE = 60_000


def create(
    database: Database, name: str = "Helper", store: StoreId = ONE
) -> tuple[AccessToken, str]:
    return create_access_token(database, store, name, Role.EDITOR, "anna@x.example", NOW)


def stored(database: Database, store: StoreId = ONE) -> list[AccessToken]:
    with database.reading() as connection:
        return AccessTokenRepository(connection, store).all()


def test_a_token_is_stored_as_a_hash_and_found_by_its_text(database: Database) -> None:
    token, text = create(database, "  Price \n helper ")

    assert text.startswith(f"at_{ONE}.")
    (row,) = stored(database)
    assert row == token
    assert (row.name, row.role, row.creator) == (
        "Price helper",
        Role.EDITOR,
        "anna@x.example",
    )
    assert text not in repr(row)
    assert text.partition(".")[2] not in f"{row.token_hash}{row.confirmation_key}"
    assert authenticate_access_token(database, text, NOW) == (ONE, row)


def test_only_the_exact_text_of_a_stored_token_is_accepted(database: Database) -> None:
    _, text = create(database)
    _, foreign = create(database, store=OTHER)
    secret = text.partition(".")[2]

    wrong = [
        "",
        "at_",
        text[:-1],
        text + "x",
        text.removeprefix("at_"),
        f"at_{OTHER}.{secret}",
    ]
    wrong += [
        text.upper(),
        f"at_{ONE}.{foreign.partition('.')[2]}",
        "at_x.",
        f"at_.{secret}",
    ]
    assert [authenticate_access_token(database, one, NOW) for one in wrong] == [None] * len(
        wrong
    )
    found = authenticate_access_token(database, foreign, NOW)
    assert found is not None
    assert found[0] == OTHER


def test_each_use_is_counted_with_its_time(database: Database) -> None:
    _, text = create(database)
    uses = []
    for minutes in (0, 4):
        authenticate_access_token(database, text, NOW + minutes * MINUTE)
        (token,) = stored(database)
        uses.append((token.calls, token.used_at))

    assert uses == [(1, NOW), (2, NOW + 4 * MINUTE)]


def test_a_removed_token_is_not_found_and_others_stay(database: Database) -> None:
    token, text = create(database)
    _, other = create(database, "Other")
    with database.transaction() as transaction:
        repository = AccessTokenRepository(transaction, ONE)
        assert not AccessTokenRepository(transaction, OTHER).remove(token.token_id)
        assert repository.remove(token.token_id)
        assert not repository.remove(token.token_id)

    assert authenticate_access_token(database, text, NOW) is None
    assert authenticate_access_token(database, other, NOW) is not None


@ON_SQLITE
@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "a\0b", "a\u202eb", "HELPER"])
def test_a_name_is_short_plain_and_given_once(database: Database, name: str) -> None:
    create(database)

    with pytest.raises(AccessTokenCreationError):
        create(database, name)

    assert len(stored(database)) == 1
    create(database, store=OTHER)


def test_a_store_has_a_limited_number_of_tokens(database: Database) -> None:
    for number in range(MAX_TOKENS):
        create(database, f"number {number}")

    with pytest.raises(AccessTokenCreationError, match="revoke one"):
        create(database, "one more")
