"""`productrecs calendar`: campaigns and closed days, from the command line."""

from tests.cli.conftest import CommandLine


def test_entries_are_added_listed_and_removed(shell: CommandLine, shop: str) -> None:
    empty = shell("calendar", "list", shop)
    added = shell.json(
        *("calendar", "add", shop, "campaign", "Spring sale", "2027-03-01", "2027-03-07"),
        *("--category", "Tents", "--change", "30", "--price-change", "-20"),
    )
    shell("calendar", "add", shop, "closure", "Inventory", "2027-04-02")
    listed = shell("calendar", "list", shop)
    shell("calendar", "remove", shop, "1")
    left = shell.json("calendar", "list", shop)

    assert "No entries yet: productrecs calendar add" in empty
    assert added == {
        "id": 1,
        "kind": "campaign",
        "name": "Spring sale",
        "first_day": "2027-03-01",
        "last_day": "2027-03-07",
        "category": "Tents",
        "expected_change": 30.0,
        "price_change": -20.0,
    }
    assert listed.splitlines() == [
        "   2  2027-04-02  closure: Inventory",
        "   1  2027-03-01 to 2027-03-07  campaign: Spring sale, Tents, +30 %, prices -20 %",
    ]
    assert [one["id"] for one in left] == [2]
