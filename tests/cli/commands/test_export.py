"""`productrecs export`: an export imported elsewhere gives the same store."""

import csv
import json
from pathlib import Path

import pytest

from productrecs.cli.commands import export
from productrecs.services import Services
from tests.cli.conftest import BOTH, CommandLine

KINDS = {"items": ".jsonl", "orders": ".csv", "events": ".jsonl"}
ITEMS = (
    {"id": "tent", "title": "Zelt für zwei", "price": 99.5, "categories": ["a", "b/c"]},
    {"id": "lamp", "title": 'Lamp, "bright"', "stock_qty": 0, "availability": "preorder"},
    {"id": "bare"},
)
ORDERS = """order_id,item_id,customer_id,timestamp,quantity,price,currency
A-1,tent,c-1,2026-02-01,1,99.5,USD
A-1,lamp,c-1,2026-02-01,2,10,USD
A-2,tent,,2026-02-02T10:00:00Z,-1,99.5,
"A,3",gone,c-2,2026-02-03,,,
"""
WHO = {"session_id": "s_1", "timestamp": "2026-02-01T09:00:00Z"}
EVENTS = (
    {"event": "detail-page-view", "item_id": "tent", **WHO},
    {"event": "add-to-cart", "item_id": "lamp", "value": 20, "quantity": 2, **WHO},
    {"event": "search-pref", "search_query": "zelt", "user_id": "c-1", **WHO},
    {"event": "category-view", "item_id": "Tents", **WHO},
    {
        "event": "rec-impression",
        "item_ids": ["tent", "lamp"],
        "sources": ["buy", "browse"],
        "positions": [1, 2],
        "widget": "recs",
        **WHO,
    },
    {"event": "rec-click", "item_id": "lamp", "source": "buy", "position": 2, **WHO},
    {"event": "buy", "item_id": "lamp", "value": 20, "quantity": 2, **WHO},
)


@pytest.fixture
def filled(shell: CommandLine, shop: str, tmp_path: Path) -> str:
    """Return the domain of a store with some of everything."""
    lines = {"items": ITEMS, "events": EVENTS}
    for what, rows in lines.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"given-{what}.jsonl").write_text(text)
    (tmp_path / "given-orders.csv").write_text(ORDERS)
    for what, ending in KINDS.items():
        shell(f"import-{what}", shop, str(tmp_path / f"given-{what}{ending}"))
    return shop


def exported(shell: CommandLine, domain: str, folder: Path) -> dict[str, str]:
    """Return what a store's files hold."""
    folder.mkdir()
    for what, ending in KINDS.items():
        shell("export", domain, what, str(folder / f"{what}{ending}"))
    return {path.stem: path.read_text() for path in folder.iterdir()}


@BOTH
def test_what_is_exported_makes_the_same_store_elsewhere(
    shell: CommandLine, filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PAGE", 2)  # several pages, the last one full or not
    first = exported(shell, filled, tmp_path / "first")
    shell("store", "create", "--domain", "second.example", "--plan", "unlimited")

    for what, ending in KINDS.items():
        path = str(tmp_path / "first" / f"{what}{ending}")
        shell(f"import-{what}", "second.example", path)

    assert exported(shell, "second.example", tmp_path / "second") == first
    rows = list(csv.DictReader(first["orders"].splitlines()))
    assert [(row["order_id"], row["item_id"], row["quantity"]) for row in rows] == [
        ("A,3", "gone", ""),
        ("A-1", "tent", "1"),
        ("A-1", "lamp", "2"),
        ("A-2", "tent", "-1"),
    ]
    items = [json.loads(line) for line in first["items"].splitlines()]
    assert items == [dict(row) for row in ITEMS]
    assert len(first["events"].splitlines()) == len(EVENTS) + 1  # two were shown


def test_importing_an_export_into_its_own_store_changes_nothing(
    shell: CommandLine, filled: str, tmp_path: Path
) -> None:
    before = exported(shell, filled, tmp_path / "before")

    shell("import-items", filled, str(tmp_path / "before" / "items.jsonl"))
    shell("import-orders", filled, str(tmp_path / "before" / "orders.csv"))

    assert exported(shell, filled, tmp_path / "after") == before


def test_lines_of_one_item_are_one_row_and_a_csv_of_items_is_read_again(
    shell: CommandLine, filled: str, services: Services, tmp_path: Path
) -> None:
    assert services.settings.database_url is None
    file = tmp_path / "items.csv"

    shell("export", filled, "items", str(file))
    result = shell.json("import-items", filled, str(file))

    assert (result["updated"], result["rows_skipped"]) == (len(ITEMS), 0)
    header = next(csv.reader(file.read_text().splitlines()))
    assert header[:4] == ["id", "sku", "title", "product_url"]


def test_formulas_are_guarded_in_exports_and_read_again_as_they_were(
    shell: CommandLine, shop: str, tmp_path: Path
) -> None:
    planted = "=cmd|' /C calc'!A0"
    event = {"event": "buy", "item_id": "+1+1", "order_id": planted, **WHO}
    (tmp_path / "events.jsonl").write_text(json.dumps(event))
    shell("import-events", shop, str(tmp_path / "events.jsonl"))
    items = ({"id": "a", "title": "-50 % today"}, {"id": "'=b", "title": "=1\n+1"})
    lines = "".join(json.dumps(item) + "\n" for item in items)
    (tmp_path / "items.jsonl").write_text(lines)
    shell("import-items", shop, str(tmp_path / "items.jsonl"))
    shell("store", "create", "--domain", "second.example", "--plan", "unlimited")

    texts = {}
    for what in ("items", "orders"):
        for domain in (shop, "second.example"):
            file = tmp_path / f"{domain}-{what}.csv"
            shell("export", domain, what, str(file))
            if domain == shop:
                shell(f"import-{what}", "second.example", str(file))
            texts[domain, what] = file.read_text()

    assert texts[shop, "orders"] == texts["second.example", "orders"]
    assert texts[shop, "items"] == texts["second.example", "items"]
    rows = [*csv.reader(texts[shop, "orders"].splitlines())]
    rows += csv.reader(texts[shop, "items"].splitlines(keepends=True))
    cells = [cell for row in rows for cell in row]
    assert f"'{planted}" in cells
    assert not [cell for cell in cells if cell[:1] in {"=", "+", "-", "@"}]


def test_events_are_no_table(shell: CommandLine, filled: str) -> None:
    result = shell.run("export", filled, "events", "--format", "csv")

    assert result.exit_code == 2
    assert "--format jsonl" in result.output


def test_a_failed_export_leaves_no_file(
    shell: CommandLine, filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        message = "the disk is full"
        raise OSError(message)

    monkeypatch.setattr(export, "without_empty_fields", breaks)

    result = shell.run("export", filled, "events", str(tmp_path / "events.jsonl"))

    assert result.exit_code == 1
    assert list(tmp_path.glob("*events.jsonl*")) == [tmp_path / "given-events.jsonl"]


def test_an_erasure_that_found_nothing_says_so(shell: CommandLine, shop: str) -> None:
    result = shell.run("shopper", "erase", shop, "--user", "nobdy", "--yes")

    assert result.exit_code == 0
    assert "Nothing was stored under this id" in result.stderr
    assert "erasure " in shell("shopper", "erasures", shop)
