"""`productrecs suppliers`: who supplies which product, and the order sheets that follow."""

from tests.cli.commands.test_forecast import NIGHT, selling
from tests.cli.conftest import CommandLine

__all__ = ["selling"]


def test_suppliers_are_set_assigned_and_on_the_order_sheet(
    shell: CommandLine, selling: str
) -> None:
    empty = shell("suppliers", "list", selling)
    shell(
        "suppliers",
        "set",
        selling,
        "Tents Ltd",
        "--lead-time",
        "10",
        "--budget",
        "999,50",
    )
    said = shell(
        *("suppliers", "assign", selling, "-"),
        stdin="product,supplier,pack_size\ntent,Tents Ltd,12\nghost,Tents Ltd,1\n",
    )
    shell("forecast", selling, **NIGHT)
    stored = shell.json("suppliers", "list", selling)
    sheet = shell.json("report", selling, "order-sheet", **NIGHT)
    shell("suppliers", "remove", selling, "Tents Ltd")

    assert "No suppliers yet" in empty
    assert "Stored the terms of 1 products." in said
    assert "not in the catalog: ghost" in said
    assert stored == [
        {
            "name": "Tents Ltd",
            "products": 1,
            "lead_time_days": 10,
            "order_every_days": None,
            "minimum_order": 0.0,
            "budget": 999.5,
        }
    ]
    (row,) = sheet["rows"]
    assert (row["supplier"], row["item_id"]) == ("Tents Ltd", "tent")
    assert row["quantity"] == 12 * row["packs"] > 0
    assert shell.json("suppliers", "list", selling) == []
