"""`productrecs store sandbox`: one test store per store, never replacing a real one."""

from productrecs.logs import redact_secrets
from tests.cli.conftest import BOTH, CommandLine


@BOTH
def test_a_store_has_one_test_store(shell: CommandLine) -> None:
    shell("store", "create", "--domain", "shop.example")

    first = shell.json("store", "sandbox", "shop.example")
    again = shell.json("store", "sandbox", "shop.example")
    emptied = shell.json("store", "sandbox", "shop.example", "--reset")

    assert again["publishable_key"] == first["publishable_key"]
    assert emptied["publishable_key"] == first["publishable_key"]
    assert emptied["store_id"] != first["store_id"]
    assert len(shell.json("store", "list")) == 2


def test_a_deleted_store_takes_its_test_store_with_it_and_no_real_one(
    shell: CommandLine,
) -> None:
    for name in ("one.example", "two.example", "test.two.example"):
        shell("store", "create", "--domain", name)
    shell("store", "sandbox", "one.example")

    shell("store", "delete", "one.example", "--yes")
    shell("store", "delete", "two.example", "--yes")

    assert [one["domain"] for one in shell.json("store", "list")] == ["test.two.example"]


def test_a_new_secret_of_a_test_store_is_one_for_tests(shell: CommandLine) -> None:
    shell("store", "create", "--domain", "shop.example")
    shell("store", "sandbox", "shop.example")

    assert shell.json("keys", "rotate", "test.shop.example")["secret_key"][:8] == "sk_test_"
    assert shell.json("keys", "rotate", "shop.example")["secret_key"][:8] != "sk_test_"


def test_a_test_store_has_none_itself(shell: CommandLine) -> None:
    shell("store", "create", "--domain", "shop.example")
    shell("store", "sandbox", "shop.example")

    refusal = shell.refused("store", "sandbox", "test.shop.example", "--reset")

    assert "is a test store; only its store can have one" in refusal


def test_a_real_store_at_that_address_is_left_alone(shell: CommandLine) -> None:
    shell("store", "create", "--domain", "shop.example")
    real = shell.json("store", "create", "--domain", "test.shop.example")

    refusal = shell.refused("store", "sandbox", "shop.example", "--reset")

    assert "test.shop.example is a registered store" in refusal
    assert shell.json("store", "show", "test.shop.example")["store_id"] == real["store_id"]


def test_no_key_of_a_test_store_is_logged_in_part() -> None:
    assert (
        redact_secrets("sk_test_abcDEF123 and pk_test_x9 came") == "sk_... and pk_... came"
    )
