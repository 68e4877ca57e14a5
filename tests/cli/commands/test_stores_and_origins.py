"""`productrecs store`: create, show, rotate keys and delete."""

import json
import re
from pathlib import Path

import argon2
import pytest
import sqlalchemy as sa

from productrecs.core.clock import system_ms
from productrecs.services import Services
from productrecs.storage.sql.tables import dashboard_users, events, items, purchase_lines
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.store_management import find_or_create_owner, find_store
from productrecs.tenancy.accounts.team_members import accept_invitation_with_login
from productrecs.tenancy.users.login_and_sessions import reset_password_and_join_logins
from tests.cli.conftest import BOTH, CommandLine


def test_a_new_store_is_printed_with_both_keys_as_one_object(shell: CommandLine) -> None:
    result = shell.json("store", "create", "--domain", "https://Shop.Example/path")

    assert list(result) == ["store_id", "domain", "publishable_key", "secret_key"]
    assert result["domain"] == "shop.example"
    assert result["publishable_key"].startswith("pk_")
    assert result["secret_key"].startswith("sk_")


@BOTH
def test_both_keys_work_and_only_the_newest_secret(
    shell: CommandLine, services: Services
) -> None:
    first = shell.json("store", "create", "--domain", "shop.example")
    second = shell.json("keys", "rotate", "shop.example")

    accounts = AccountDirectory(services.database)
    store = accounts.by_publishable_key(first["publishable_key"])

    assert second["publishable_key"] == first["publishable_key"]
    assert store is not None
    assert store.store_id == first["store_id"]
    assert accounts.by_secret_key(first["secret_key"]) is None
    assert accounts.by_secret_key(second["secret_key"]) == store


def test_the_secret_is_never_shown_again_nor_stored(
    shell: CommandLine, data_folder: Path
) -> None:
    secret = shell.json("store", "create", "--domain", "shop.example")["secret_key"]

    shown = shell("store", "list") + shell("store", "show", "shop.example")
    shown += shell("store", "show", "shop.example", "--json")

    assert secret not in shown
    for path in data_folder.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()


@BOTH
def test_a_new_store_has_the_settings_of_the_command(shell: CommandLine) -> None:
    shell(
        *("store", "create", "--domain", "shop.example", "--email", "me@shop.example"),
        *("--plan", "unlimited", "--language", "de", "--currency", "chf"),
        *("--timezone", "Europe/Zurich"),
        PRODUCTRECS_NOW="2011-12-09T12:00:00Z",
    )

    (result,) = shell.json("store", "list")

    assert result == shell.json("store", "show", "shop.example")
    assert (result["email"], result["plan"]) == ("me@shop.example", "unlimited")
    assert result["created_at"] == "2011-12-09T12:00:00.000Z"
    chosen = {
        name: result["settings"][name] for name in ("language", "currency", "timezone")
    }
    assert chosen == {"language": "de", "currency": "CHF", "timezone": "Europe/Zurich"}


def test_a_password_comes_from_input_and_is_kept_as_a_hash(
    shell: CommandLine, services: Services
) -> None:
    words = ("store", "create", "--domain", "shop.example", "--password-stdin")
    shell(*words, stdin="correct horse\n")

    with services.database.reading() as connection:
        kept = connection.execute(sa.select(dashboard_users.c.password_hash)).scalar_one()
    assert argon2.PasswordHasher().verify(kept, "correct horse")
    cost = argon2.extract_parameters(kept)  # at least what OWASP recommends
    assert (cost.type, cost.memory_cost, cost.time_cost) == (argon2.Type.ID, 19_456, 2)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--domain", "search-shop.example"), "search-"),
        (("--domain", "/"), "not a domain"),
        (("--domain", "-x.com"), "'-x' is not valid in a domain"),
        (("--domain", "x-.com"), "'x-' is not valid in a domain"),
        (("--domain", f"{'x' * 64}.com"), "1 to 63 letters"),
        (("--domain", ".".join(["x" * 60] * 5)), "is not valid in a domain"),
        (("--domain", "shop..com"), "not a domain"),
        (("--domain", "taken.example"), "already registered"),
        (("--domain", "b.example", "--plan", "gold"), "trial, starter"),
        (("--domain", "b.example", "--timezone", "Mars/Base"), "Europe/Berlin"),
        (("--domain", "b.example", "--currency", "euros, in cash"), "EUR"),
    ],
)
def test_an_impossible_store_is_refused_in_one_line(
    shell: CommandLine, words: tuple[str, ...], reason: str
) -> None:
    shell("store", "create", "--domain", "taken.example")

    assert reason in shell.refused("store", "create", *words)

    assert len(shell.json("store", "list")) == 1


def test_store_create_names_the_plan_and_the_command_that_ends_a_trial(
    shell: CommandLine,
) -> None:
    now = {"PRODUCTRECS_NOW": "2026-03-10T12:00:00Z"}
    on_trial = ("--plan", "trial")
    trial = shell.run("store", "create", "--domain", "a.example", *on_trial, **now)
    own = shell.run("store", "create", "--domain", "b.example", **now)
    quiet = shell.run(
        "store", "create", "--domain", "c.example", *on_trial, "--json", **now
    )

    assert "trial: 10,000 calls a month, 1,000 items" in trial.stdout
    assert "ends at 2026-03-24T12:00:00.000Z" in trial.stdout
    assert "productrecs store set-plan a.example unlimited" in trial.stdout
    assert "unlimited: unlimited calls a month, unlimited items" in own.stdout
    assert "set-plan" not in own.output
    assert json.loads(quiet.stdout)["domain"] == "c.example"
    assert "productrecs store set-plan c.example unlimited" in quiet.stderr


@pytest.mark.parametrize(
    ("said", "domain"),
    [
        (f"{'x' * 63}.com", f"{'x' * 63}.com"),
        ("my_shop.local", "my_shop.local"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("Bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_domains_that_a_browser_reaches_are_taken(
    shell: CommandLine, said: str, domain: str
) -> None:
    assert shell.json("store", "create", "--domain", said)["domain"] == domain


def test_an_operator_chooses_the_plan_of_new_stores_once(shell: CommandLine) -> None:
    chosen = {"PRODUCTRECS_STORE_CREATE_PLAN": "growth"}
    shell("store", "create", "--domain", "a.example", **chosen)
    shell("store", "create", "--domain", "b.example")

    assert shell.json("store", "show", "a.example")["plan"] == "growth"
    assert shell.json("store", "show", "b.example")["plan"] == "unlimited"


def test_a_new_store_says_how_its_owner_gets_into_the_dashboard(
    shell: CommandLine, services: Services
) -> None:
    base = {"PRODUCTRECS_BASE_URL": "https://recs.example"}
    named = ("--domain", "a.example", "--email", "Anna@Example.com")
    link = re.search(r"https://recs\S+", shell("store", "create", *named, **base))
    assert link is not None
    assert link[0].startswith("https://recs.example/dashboard/reset?token=")
    token, now_ms = link[0].partition("token=")[2], system_ms()
    owner = reset_password_and_join_logins(
        services.database, token, "correct horse", now_ms
    )
    assert owner.email == "anna@example.com"

    nobody = shell("store", "create", "--domain", "b.example")
    assert "account reset-link b.example --email" in nobody
    named = ("--domain", "c.example", "--email", "bob@example.com")
    assert "/dashboard/reset?token=" in shell.json("store", "create", *named)["login_link"]
    typed = ("--domain", "d.example", "--email", "a@b.example", "--password-stdin")
    said = shell("store", "create", *typed, stdin="correct horse\n")
    assert "token=" not in said
    assert "reset-link" not in said


def test_a_store_of_an_email_with_a_login_asks_it_to_join(
    shell: CommandLine, services: Services
) -> None:
    email, typed = "anna@example.com", ("--email", "Anna@Example.com")
    first = ("store", "create", "--domain", "a.example", *typed)
    shell(*first, "--password-stdin", stdin="correct horse\n")
    create = ("store", "create", "--domain", "b.example", *typed)
    refused = shell.run(*create, "--password-stdin", stdin="another horse\n")
    assert (refused.exit_code, "has a login already" in refused.stderr) == (1, True)

    said = shell(*create)
    later = shell.run("account", "reset-link", "b.example", "--email", email)

    assert "anna@example.com has a login already: the link adds this store" in said
    assert "has a login already: the link adds b.example" in later.stderr
    before = shell.json("account", "list")
    row = {"email": email, "stores": {"a.example": "owner"}}
    assert before == [{**row, "confirmed": False, "two_factor": False}]
    token = later.stdout.strip().partition("/dashboard/invitation?token=")[2]
    owner = find_or_create_owner(
        services.database, find_store(services.database, "a.example")
    )
    accept_invitation_with_login(services.database, token, owner, system_ms())
    (row,) = shell.json("account", "list")
    assert row["stores"] == {"a.example": "owner", "b.example": "owner"}
    line = "anna@example.com  a.example (owner), b.example (owner)"
    assert line in shell("account", "list")
    assert "/dashboard/reset?token=" in shell("account", "reset-link", "b.example")


def test_a_short_password_is_refused(shell: CommandLine) -> None:
    words = ("store", "create", "--domain", "shop.example", "--password-stdin")

    result = shell.run(*words, stdin="short\n")

    assert (result.exit_code, "8 characters" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        ("store", "show"),
        ("store", "delete", "--yes"),
        ("keys", "rotate"),
        ("origins",),
        ("settings",),
        ("train",),
        ("doctor",),
    ],
)
def test_an_unknown_store_is_refused_with_where_to_look(
    shell: CommandLine, words: tuple[str, ...]
) -> None:
    assert "store list" in shell.refused(*words, "nobody.example")


@BOTH
def test_a_deleted_store_takes_everything_with_it(
    shell: CommandLine, shop: str, services: Services
) -> None:
    item, buy = {"id": "a"}, {"event": "buy", "item_id": "a", "user_id": "c"}
    view = {"event": "detail-page-view", "item_id": "a", "user_id": "c"}
    shell("import-items", shop, "-", stdin=json.dumps(item))
    for event in (buy, view):
        line = json.dumps(event | {"timestamp": "2026-01-01"})
        shell("import-events", shop, "-", stdin=line)
    shell("train", shop)

    shell("store", "delete", shop, "--yes")

    assert shell.json("store", "list") == []
    with services.database.reading() as connection:
        for table in (events, items, purchase_lines):
            assert connection.execute(sa.select(table)).all() == []
    assert [path for path in services.models.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("stdin", ["", "y\n", None], ids=["/dev/null", "pipe", "closed"])
def test_a_store_is_deleted_without_a_question_only_with_yes(
    shell: CommandLine, shop: str, stdin: str | None
) -> None:
    refusal = shell.refused("store", "delete", shop, stdin=stdin)

    assert "add --yes to delete shop.example with all its data" in refusal
    assert [row["domain"] for row in shell.json("store", "list")] == [shop]


def test_a_deletion_is_in_the_log(shell: CommandLine, shop: str) -> None:
    shell("store", "sandbox", shop)

    result = shell.run("store", "delete", shop, "--yes", PRODUCTRECS_LOG_FORMAT="json")

    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert [(line["event"], line["domain"]) for line in lines] == [
        ("store deleted", "shop.example"),
        ("store deleted", "test.shop.example"),
    ]


def test_a_list_without_stores_says_how_to_make_one(shell: CommandLine) -> None:
    assert "store create" in shell("store", "list")
