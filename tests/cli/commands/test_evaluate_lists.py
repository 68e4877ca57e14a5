"""`productrecs evaluate`: backtests a store, and reports too little data."""

from tests.cli.conftest import BOTH, CommandLine

FAMILIES = ("tent", "lamp", "boot", "rope", "bolt", "sock", "mug", "map", "pan", "jar")


def orders(count: int) -> str:
    rows = "".join(
        f"o{n},{FAMILIES[n % 10]}-{(n + step) % 4},c{n},"
        f"2026-01-{1 + n // 24:02}T{n % 24:02}:00:00\n"
        for n in range(count)
        for step in range(3)
    )
    return "order_id,item_id,customer_id,timestamp\n" + rows


@BOTH
def test_the_engines_stand_beside_popularity(shell: CommandLine, shop: str) -> None:
    shell("import-orders", shop, "-", stdin=orders(600))

    evaluation = shell.json("evaluate", shop)
    words = shell("evaluate", shop)

    visit, order, cart = evaluation["tasks"]
    assert visit["scores"] == []
    assert cart["groups"] == order["groups"] > 50
    verdicts = {one["method"]: one["verdict"] for one in order["scores"]}
    assert verdicts["buy"] == verdicts["mix"] == "better"
    assert "not enough data: 0 visits to ask about, 50 are needed" in words
    assert "]: better" in words
    assert "recall@20  MRR@20  nDCG@10  coverage" in words
    kept = {"recall_at_20", "mrr_at_20", "ndcg_at_10", "coverage"}
    assert all(kept <= one.keys() for one in order["scores"])


def test_a_store_without_a_past_has_too_little_data(shell: CommandLine, shop: str) -> None:
    assert shell("evaluate", shop).count("not enough data") == 3
