"""`productrecs keys` and `productrecs account`: overlap, list, revoke, and links."""

import re
import sys

import pytest

from productrecs.cli.processes.serve import print_address_and_first_store_link
from productrecs.core.clock import system_ms
from productrecs.services import Services
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.accounts.team_members import find_invitation
from tests.cli.conftest import CommandLine

SHOP = "shop.example"


def test_both_keys_work_in_an_overlap_until_they_are_revoked(
    shell: CommandLine, services: Services
) -> None:
    first = shell.json("store", "create", "--domain", SHOP)["secret_key"]
    second = shell.json("keys", "rotate", SHOP, "--overlap-hours", "24")["secret_key"]
    accounts = AccountDirectory(services.database)
    seen = [[accounts.by_secret_key(key) is not None for key in (first, second)]]
    listed = shell.json("keys", "list", SHOP)

    for words in (("--old",), ()):
        shell("keys", "revoke", SHOP, *words)
        accounts.refresh()
        seen.append([accounts.by_secret_key(key) is not None for key in (first, second)])

    assert [one["ends_with"] for one in listed] == [second[-4:], first[-4:]]
    assert [bool(one["expires"]) for one in listed] == [False, True]
    assert seen == [[True, True], [False, True], [False, False]]
    assert shell.json("keys", "list", SHOP) == []


def test_an_overlap_of_more_than_a_day_is_refused(shell: CommandLine) -> None:
    shell.json("store", "create", "--domain", SHOP)

    result = shell.run("keys", "rotate", SHOP, "--overlap-hours", "25")

    assert result.exit_code == 2
    assert "0<=x<=24" in result.stderr


def test_an_invitation_to_register_is_a_link(
    shell: CommandLine, services: Services
) -> None:
    said = shell("account", "invite", "--email", "anna@example.com")

    found = re.search(r"/dashboard/register\?token=(\S+)", said)
    assert found is not None
    invitation = find_invitation(services.database, found[1], system_ms())
    assert invitation is not None
    assert invitation.email == "anna@example.com"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_start_prints_the_first_stores_link_in_a_terminal_and_in_no_log(
    services: Services,
    shell: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_terminal: bool,
) -> None:
    def printed() -> str:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
        print_address_and_first_store_link(services.settings, "http://127.0.0.1:8000")
        return capsys.readouterr().out

    before = printed()
    shell.json("store", "create", "--domain", SHOP)

    assert ("/dashboard/register?token=" in before) is is_terminal
    assert ("productrecs account invite" in before) is not is_terminal
    assert printed() == "ProductRecs listens on http://127.0.0.1:8000\n"
