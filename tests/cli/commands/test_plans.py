"""`productrecs store set-plan`, `suspend` and `resume`."""

import json
from pathlib import Path

import pytest

from productrecs.core.timestamps import parse_timestamp
from productrecs.services import Services
from productrecs.tenancy.accounts.store_management import find_store
from productrecs.tenancy.billing.metered_calls.repository import add_calls
from tests.cli.conftest import BOTH, CommandLine

NOW = {"PRODUCTRECS_NOW": "2026-03-10T12:00:00Z"}


def set_plan(shell: CommandLine, *words: str, **more: str) -> dict[str, object]:
    store: dict[str, object] = shell.json(
        "store", "set-plan", "shop.example", *words, **NOW, **more
    )
    return store


@pytest.fixture
def plans(tmp_path: Path) -> str:
    """Return a file with plans of an operator's own."""
    path = tmp_path / "plans.toml"
    path.write_text(
        "[tiny]\nmonthly_calls = 10\ncatalog_items = 3\n[trial]\ndays = 30\n", "utf-8"
    )
    return str(path)


@BOTH
def test_a_trial_is_of_14_days(shell: CommandLine) -> None:
    shell("store", "create", "--domain", "shop.example", "--plan", "trial", **NOW)

    store = shell.json("store", "show", "shop.example", **NOW)

    assert {name: store[name] for name in list(store)[3:11]} == {
        "plan": "trial",
        "status": "active",
        "plan_ends_at": "2026-03-24T12:00:00.000Z",
        "suspended_at": None,
        "month": "2026-03",
        "calls": 0,
        "calls_limit": 10_000,
        "catalog_limit": 1_000,
    }
    assert store["catalog_items"] == 0


def test_another_plan_holds_until_it_is_changed_or_ends(
    shell: CommandLine, shop: str
) -> None:
    assert set_plan(shell, "growth") == {
        "domain": shop,
        "plan": "growth",
        "status": "active",
        "plan_ends_at": None,
        "suspended_at": None,
        "month": "2026-03",
        "calls": 0,
        "calls_limit": 1_000_000,
        "catalog_limit": 50_000,
    }
    # The store's days begin in Berlin.
    until = set_plan(shell, "growth", "--until", "2026-05-01")
    assert until["plan_ends_at"] == "2026-04-30T22:00:00.000Z"
    until = set_plan(shell, "scale", "--until", "2026-05-01T10:00:00Z")
    assert until["plan_ends_at"] == "2026-05-01T10:00:00.000Z"
    assert set_plan(shell, "trial")["plan_ends_at"] == "2026-03-24T12:00:00.000Z"
    after = {"PRODUCTRECS_NOW": "2026-03-24T12:00:00Z"}
    assert shell.json("store", "show", shop, **after)["status"] == "suspended"


def test_a_suspension_is_taken_back_and_a_plan_that_is_over_is_not(
    shell: CommandLine, shop: str
) -> None:
    set_plan(shell, "growth", "--until", "2026-03-11")

    first = shell.json("store", "suspend", shop, **NOW)
    again = shell.json("store", "suspend", shop, PRODUCTRECS_NOW="2026-03-10T13:00:00Z")
    resumed = shell.json("store", "resume", shop, **NOW)
    over = shell.json("store", "resume", shop, PRODUCTRECS_NOW="2026-04-01")

    assert first["suspended_at"] == again["suspended_at"] == "2026-03-10T12:00:00.000Z"
    assert (first["status"], resumed["status"]) == ("suspended", "active")
    assert (over["status"], over["suspended_at"]) == ("suspended", None)


def test_suspend_show_and_list_print_plain_text(shell: CommandLine, shop: str) -> None:
    said = shell("store", "suspend", shop, **NOW)
    shown = shell("store", "show", shop, **NOW)
    listed = shell("store", "list", **NOW)

    assert said.startswith(
        f"{shop}: plan trial, suspended; suspended since 2026-03-10T12:00"
    )
    assert "\ncalls            0 of 10,000\n" in shown
    assert "\ncatalog items    0 of 1,000\n" in shown
    assert "trial (suspended)" in listed


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("gold",), "there are trial, starter, growth, scale, unlimited"),
        (("growth", "--until", "soon"), "write one like 2027-01-31"),
        (("growth", "--until", "2026-03-10"), "in the past"),
    ],
)
def test_an_impossible_plan_is_refused_and_nothing_changes(
    shell: CommandLine, shop: str, words: tuple[str, ...], reason: str
) -> None:
    before = shell.json("store", "show", shop, **NOW)

    assert reason in shell.refused("store", "set-plan", shop, *words, **NOW)

    assert shell.json("store", "show", shop, **NOW) == before


@pytest.mark.usefixtures("shop")
def test_an_operators_own_plans_are_listed_given_and_last_as_they_say(
    shell: CommandLine, plans: str
) -> None:
    listed = shell.json("plans", PRODUCTRECS_PLANS=plans)
    assert list(listed) == ["trial", "starter", "growth", "scale", "unlimited", "tiny"]
    assert listed["tiny"] == {"monthly_calls": 10, "catalog_items": 3, "days": None}
    assert "tiny       10 calls a month, 3 items\n" in shell(
        "plans", PRODUCTRECS_PLANS=plans
    )

    assert set_plan(shell, "tiny", PRODUCTRECS_PLANS=plans)["calls_limit"] == 10
    trial = set_plan(shell, "trial", PRODUCTRECS_PLANS=plans)
    assert trial["plan_ends_at"] == "2026-04-09T12:00:00.000Z"
    words = ("store", "create", "--domain", "b.example", "--plan", "tiny")
    assert "no plan 'tiny'" in shell.refused(*words)
    shell(*words, PRODUCTRECS_PLANS=plans)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[tiny]\nmonthly_calls = 1", "lacks catalog_items"),
        ("=", "not valid TOML"),
        ("\udcff", "utf-8"),
        (None, "No such file"),
    ],
)
def test_plans_that_cannot_be_read_are_refused_before_anything_starts(
    shell: CommandLine, tmp_path: Path, text: str | None, reason: str
) -> None:
    path = tmp_path / "broken.toml"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))

    said = shell.refused("store", "list", PRODUCTRECS_PLANS=str(path))

    assert f"PRODUCTRECS_PLANS is '{path}'" in said
    assert reason in said


@BOTH
def test_a_file_of_more_items_than_the_plan_allows_is_refused_whole(
    shell: CommandLine, shop: str, plans: str
) -> None:
    def send(*ids: str) -> str:
        return "\n".join(json.dumps({"id": one, "title": one}) for one in ids)

    set_plan(shell, "tiny", PRODUCTRECS_PLANS=plans)
    words = ("import-items", shop, "-")
    shell(*words, stdin=send("a", "b"), PRODUCTRECS_PLANS=plans)

    stdin = send("x", "a", "y", "b", "x")
    for more in ((), ("--dry-run",)):
        said = shell.refused(*words, *more, stdin=stdin, PRODUCTRECS_PLANS=plans)
        assert "2 new products and the catalog holds 2; the plan tiny allows 3" in said
        assert "Nothing was imported" in said
        assert f"productrecs store set-plan {shop} " in said
    assert shell.json("store", "show", shop)["catalog_items"] == 2
    # What fits comes in, and what is known is always changed.
    result = shell.json(*words, stdin=send("x", "a", "b", "x"), PRODUCTRECS_PLANS=plans)
    assert (result["created"], result["updated"], result["total"]) == (1, 2, 3)
    result = shell.json(*words, stdin=send("a", "x"), PRODUCTRECS_PLANS=plans)
    assert (result["created"], result["updated"], result["total"]) == (0, 2, 3)


def test_no_item_of_thousands_is_stored_where_the_last_is_too_many(
    shell: CommandLine, shop: str
) -> None:
    rows = "".join(f"item-{number},Item\n" for number in range(2_500))

    said = shell.refused("import-items", shop, "-", stdin="id,title\n" + rows)

    assert "2,500 new products" in said
    assert "the plan trial allows 1,000" in said
    assert f"productrecs store set-plan {shop} starter" in said
    assert shell.json("store", "show", shop)["catalog_items"] == 0


def test_the_status_follows_what_was_counted(
    shell: CommandLine, shop: str, services: Services
) -> None:
    store = find_store(services.database, shop)
    seen = []
    for calls in (7_999, 1, 1_999, 1):
        with services.database.transaction() as transaction:
            add_calls(transaction, {(store.store_id, "2026-03"): calls})
        shown = shell.json("store", "show", shop, **NOW)
        seen.append((shown["calls"], shown["status"]))
    april = shell.json("store", "show", shop, PRODUCTRECS_NOW="2026-04-01")

    assert seen == [
        (7_999, "active"),
        (8_000, "warn"),
        (9_999, "warn"),
        (10_000, "over_quota"),
    ]
    assert (april["month"], april["calls"], april["status"]) == ("2026-04", 0, "active")
    assert parse_timestamp("2026-04-01") < (store.subscription.ends_at or 0)
