"""`productrecs purchase-orders`: goods on order are not ordered again."""

from tests.cli.commands.test_forecast import NIGHT, selling
from tests.cli.conftest import CommandLine

__all__ = ["selling"]


def test_goods_on_order_are_listed_and_subtracted(shell: CommandLine, selling: str) -> None:
    shell("forecast", selling, **NIGHT)
    (before,) = shell.json("report", selling, "order-sheet", **NIGHT)["rows"]
    empty = shell("purchase-orders", "list", selling)
    day = "2026-03-05"
    shell("purchase-orders", "add", selling, "tent", "3", day)
    said = shell(
        *("purchase-orders", "replace", selling, "-"),
        stdin=f"product,quantity,expected_day\ntent,5,{day}\nghost,1,{day}\n",
    )
    (stored,) = shell.json("purchase-orders", "list", selling)
    (after,) = shell.json("report", selling, "order-sheet", **NIGHT)["rows"]
    shell("purchase-orders", "remove", selling, str(stored["id"]))

    assert "Nothing is on order" in empty
    assert "Stored 1 lines." in said
    assert "not in the catalog: ghost" in said
    assert (stored["item_id"], stored["quantity"], stored["expected_day"]) == (
        "tent",
        5,
        day,
    )
    assert (before["on_order"], after["on_order"]) == (0, 5)
    assert after["quantity"] == before["quantity"] - 5
    assert shell.json("purchase-orders", "list", selling) == []
