"""Imports of items, orders and events: results, and messages about bad rows."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from productrecs.records.catalog.item import Item
from productrecs.records.catalog.repository import CatalogRepository
from productrecs.services import Services
from productrecs.storage.sql.tables import events, purchase_lines, shopper_links
from productrecs.tenancy.accounts.store_management import find_store
from tests.cli.conftest import BOTH, CommandLine

Write = Callable[[str, str | bytes], str]

ITEMS: list[dict[str, object]] = [
    {
        "id": "a",
        "title": "Tent, for two",
        "price": 99.5,
        "categories": ["Out", "Out > Tents"],
    },
    {
        "id": "b",
        "title": 'Lamp "Lumière"',
        "stock_qty": 3,
        "description": "one\ntwo, three",
    },
]
CSV_ITEMS = '''id;Title;price;stock_qty;categories;description
a;Tent, for two;99,5;;Out|Out > Tents;
b;"Lamp ""Lumière""";;3;;"one
two, three"
'''
STORED = [
    Item("a", title="Tent, for two", price=99.5, categories=("Out", "Out > Tents")),
    Item("b", title='Lamp "Lumière"', stock_qty=3, description="one\ntwo, three"),
]


def catalog(services: Services) -> list[Item]:
    store = find_store(services.database, "shop.example")
    with services.database.reading() as connection:
        page = CatalogRepository(connection, store.store_id).page(-1, 1_000)
    return [stored.item for stored in page]


def lines_of(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def zipped(*names: str) -> bytes:
    """Return an archive that holds the items as a CSV under each name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, CSV_ITEMS)
    return file.getvalue()


FILES: dict[str, str | bytes] = {
    "items.csv": CSV_ITEMS,
    "items.CSV": CSV_ITEMS.encode("utf-16"),
    "items.jsonl": lines_of(ITEMS),
    "items.json": json.dumps(ITEMS, indent=2),
    "wrapped.json": json.dumps({"shop": {"items": 3}, "items": ITEMS}),
    "marked.json": "\ufeff" + json.dumps(ITEMS),
    "items.jsonl.gz": gzip.compress(lines_of(ITEMS).encode()),
    "items.csv.gz": gzip.compress(CSV_ITEMS.encode()),
    "items.csv.zip": zipped("shop/items.csv", "__MACOSX/shop/._items.csv"),
}


@pytest.mark.parametrize("name", FILES)
def test_items_come_from_every_kind_of_file(
    shell: CommandLine, shop: str, services: Services, write: Write, name: str
) -> None:
    result = shell.json("import-items", shop, write(name, FILES[name]))

    assert (result["created"], result["updated"], result["total"]) == (2, 0, 2)
    assert (result["rows"], result["rows_skipped"], result["errors"]) == (2, 0, [])
    assert catalog(services) == STORED


@pytest.mark.parametrize(
    "content", [CSV_ITEMS, lines_of(ITEMS), json.dumps(ITEMS, indent=1)]
)
def test_standard_input_is_known_by_its_beginning(
    shell: CommandLine, shop: str, content: str, data_folder: Path
) -> None:
    result = shell.json("import-items", shop, "-", stdin=content)

    assert result["created"] == 2
    assert {path.name.split("-")[0] for path in data_folder.iterdir()} == {"productrecs.db"}


def test_unreadable_items_are_reported_and_the_rest_is_imported(
    shell: CommandLine, shop: str, write: Write
) -> None:
    bad = '{"id": "c", "price": "much"}\nno JSON\n{"title": "none"}\n{"id": "d"}\n'

    result = shell.run("import-items", shop, write("items.jsonl", lines_of(ITEMS) + bad))

    assert result.exit_code == 1
    assert "6 items: 3 created, 0 updated, 3 skipped; the catalog has 3." in result.stdout
    assert "row 3 skipped: price" in result.stderr
    assert "row 4 skipped: " in result.stderr
    assert "row 5 skipped: id" in result.stderr
    assert "3 rows skipped; correct the rows above" in result.stderr.splitlines()[-1]


@BOTH
def test_fields_that_a_file_does_not_have_keep_what_is_stored(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("import-items", shop, write("items.jsonl", lines_of(ITEMS)))

    result = shell.json("import-items", shop, write("prices.csv", "price,id\n89,a\n,b\n"))

    assert (result["created"], result["updated"]) == (0, 2)
    assert [item.price for item in catalog(services)] == [89.0, None]
    assert [item.title for item in catalog(services)] == ["Tent, for two", 'Lamp "Lumière"']


def test_more_items_than_one_push_holds_come_in(
    shell: CommandLine, shop: str, write: Write
) -> None:
    shell("store", "set-plan", shop, "unlimited")
    rows = "".join(f"item-{number},Item,{number / 4}\n" for number in range(2_500))
    path = write("items.csv", "id,title,price\n" + rows)
    result = shell.json("import-items", shop, path)

    assert (result["created"], result["total"]) == (2_500, 2_500)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("items.xml", "<items/>", "no <item>"),
        ("items.csv", "title,price\nTent,9\n", "no column id"),
        ("items.json", "{", "not a JSON array"),
        ("items.json", '{"products": []}', "not a JSON array"),
        ("items.json", '[{"id": "a"}', "not a JSON array"),
        ("items.json", "[" * 100_000, "not a JSON array"),
        ("items.json", b'[{"id": "\xff"}]', "UTF-8"),
        ("items.csv.gz", gzip.compress(b"id\na\n", mtime=0)[:-4], "gzip"),
        ("items.jsonl", "nothing\n", "nothing was imported"),
        ("items.csv", "", "is empty"),
        ("items.csv", "\ufeff\n \n", "is empty"),
        ("items.csv", "\n<!DOCTYPE html><title>Log in</title>", "a web page (HTML)"),
        ("items.xml", "<html><body>Log in</body></html>", "a web page (HTML)"),
        ("items.csv", b"\x89PNG\r\n\x1a\n", "is a picture"),
        ("items.csv", b"\xff\xd8\xff\xe0", "is a picture"),
        ("items.csv", b"%PDF-1.7", "is a PDF"),
        ("items.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "an Excel workbook (.xls)"),
        ("items.xlsx", zipped("xl/workbook.xml", "a"), "an Excel workbook (.xlsx)"),
        ("items.ods", zipped("content.xml", "a"), "an OpenDocument spreadsheet"),
        ("items.zip", zipped("a.csv", "b.csv"), "2 files (a.csv, b.csv)"),
        ("items.zip", b"PK\x03\x04 nothing", "cannot be unpacked"),
        ("items.csv", "ID,Rang,Preis\n1,Zelt,9\n", 'title = "Rang"'),
    ],
)
def test_a_file_that_holds_no_items_is_refused_in_words(
    shell: CommandLine,
    shop: str,
    write: Write,
    name: str,
    content: str | bytes,
    reason: str,
) -> None:
    result = shell.run("import-items", shop, write(name, content))

    assert result.exit_code == 1
    assert reason in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("verb", ["import-items", "import-orders"])
@pytest.mark.parametrize(
    ("content", "words"), [("", "is empty"), ("<html>", "a web page"), (b"GIF8", "picture")]
)
def test_no_table_at_all_has_words_of_its_own(
    shell: CommandLine, shop: str, verb: str, content: str | bytes, words: str
) -> None:
    assert words in shell.refused(verb, shop, "-", stdin=content)


def test_a_table_without_titles_changes_what_is_known_and_creates_nothing(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    path = write("prices.csv", "id,price,Rang\na,5\nnew,6\n")
    for more in ((), ("--dry-run",)):
        said = shell.refused("import-items", shop, path, *more)
        assert "no column that says what products are called (it has Rang)" in said
    assert catalog(services) == []

    shell("import-items", shop, write("a.csv", "id,title\na,Tent\n"))
    result = shell.json_with_skipped_rows("import-items", shop, path)

    assert (result["created"], result["updated"], result["ignored_columns"]) == (
        0,
        1,
        ["Rang"],
    )
    assert result["errors"] == [
        {"row": 3, "message": "it is not in the catalog, and the file has no titles"}
    ]
    assert [(one.title, one.price) for one in catalog(services)] == [("Tent", 5.0)]


def test_a_mapping_may_leave_titles_out(
    shell: CommandLine, shop: str, write: Write
) -> None:
    mapping = write("mapping.toml", '[items]\nid = "Nr"\nprice = "Preis"\n')
    path = write("articles.csv", "Nr;Preis;Name\n7;9,50;Tent\n")

    result = shell.json("import-items", shop, path, "--mapping", mapping)

    assert (result["created"], result["untitled"], result["ignored_columns"]) == (
        1,
        1,
        ["Name"],
    )
    assert "without a title" in "".join(result["notes"])


def test_ignored_columns_are_reported(shell: CommandLine, shop: str, write: Write) -> None:
    path = write("items.jsonl", '{"id": "a", "name": "Tent", "brand": "Acme"}\n')

    result = shell.json("import-items", shop, path)

    assert (result["ignored_columns"], result["untitled"]) == (["name"], 1)


def test_a_file_that_is_not_there_is_refused(shell: CommandLine, shop: str) -> None:
    for verb in ("import-items", "import-orders", "import-events"):
        assert "nowhere.csv" in shell.refused(verb, shop, "/nowhere.csv")


# ------------------------------------------------------------------------------- orders


def purchases(services: Services) -> list[tuple[object, ...]]:
    query = sa.select(
        purchase_lines.c.order_id, purchase_lines.c.quantity, purchase_lines.c.ts
    ).order_by(purchase_lines.c.order_id)
    with services.database.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


@BOTH
def test_an_order_import_prints_its_result(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    path = write("orders.csv", "order_id;item_id;qty;timestamp\nA;x;2;2026-03-01\nB;;1;\n")

    first = shell.json_with_skipped_rows("import-orders", shop, path)
    again = shell.json_with_skipped_rows("import-orders", shop, path)

    assert first == {
        "rows": 2,
        "rows_skipped": 1,
        "errors": [
            {
                "row": 3,
                "message": "item_id is empty; every row needs one",
                "column": "item_id",
                "value": "",
            }
        ],
        "lines": 1,
        "lines_imported": 1,
        "lines_updated": 0,
        "lines_repeated": 0,
        "adds_repeats": False,
        "rows_undated": 0,
        "undated": [],
        "not_bought": {},
    }
    assert (again["lines_imported"], again["lines_updated"]) == (0, 0)
    assert purchases(services) == [("A", 2, 1_772_319_600_000)]  # midnight in Berlin


def test_undated_orders_and_old_encodings_are_mentioned(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    path = write("orders.csv", "order_id,item_id\nA,caf\xe9\n".encode("cp1252"))

    clock = {"PRODUCTRECS_NOW": "2011-12-09T12:00:00Z"}
    for more in ((), ("--dry-run",)):
        refused = shell.refused("import-orders", shop, path, *more)
        assert "No column says when the orders were placed (it has order_id" in refused
        assert "--ordered-today" in refused
    assert purchases(services) == []
    result = shell.run("import-orders", shop, path, "--ordered-today", **clock)

    assert result.exit_code == 0
    assert "1 row: 1 lines imported, 0 changed, 0 rows skipped." in result.stdout
    assert "Windows-1252" in result.stderr
    assert "1 row without a readable time" in result.stderr
    assert purchases(services) == [("A", None, 1_323_385_200_000)]


def test_orders_without_their_columns_are_refused(
    shell: CommandLine, shop: str, write: Write
) -> None:
    path = write("orders.csv", "order,product\nA,x\n")

    assert "no column order_id" in shell.refused("import-orders", shop, path)


# ------------------------------------------------------------------------------- events


def views(number: int) -> str:
    return lines_of(
        [
            {
                "event": "detail-page-view",
                "item_id": f"item-{index % 50}",
                "session_id": f"s_{index // 5}",
                "timestamp": f"2026-02-{index % 28 + 1:02}T10:00:00",
            }
            for index in range(number)
        ]
    )


def stored(services: Services) -> int:
    with services.database.reading() as connection:
        query = sa.select(sa.func.count()).select_from(events)
        return int(connection.execute(query).scalar_one())


@BOTH
def test_events_come_in_once_however_often_the_file_does(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    path = write("events.jsonl", views(4_500))

    first = shell.json("import-events", shop, path)
    again = shell.json("import-events", shop, write("copy.jsonl", views(4_500)))

    assert (first["events_stored"], first["rows_known"]) == (4_500, 0)
    assert (again["events_stored"], again["rows_known"], again["rows"]) == (0, 4_500, 0)
    assert stored(services) == 4_500


def test_each_event_keeps_its_own_time_in_the_stores_zone(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    shell("import-events", shop, write("events.jsonl", views(1)))

    with services.database.reading() as connection:
        (row,) = connection.execute(sa.select(events)).mappings()
    assert (row["ts"], bool(row["imported"])) == (1_769_936_400_000, True)


@BOTH
def test_a_customer_is_known_by_the_session_that_an_imported_event_names(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    row = {"event": "detail-page-view", "item_id": "a", "timestamp": "2026-02-01"}
    rows = [row | {"session_id": "s_1"}, row | {"session_id": "s_1", "user_id": "c"}]
    shell("import-events", shop, write("events.jsonl", lines_of(rows)))

    with services.database.reading() as connection:
        people = connection.execute(sa.select(events.c.person)).scalars().all()
        links = connection.execute(sa.select(shopper_links.c.customer)).scalars().all()
    assert (people, links) == (["c", "c"], ["c"])


def test_unreadable_events_are_reported_with_their_lines(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    view = views(1).strip()
    bad = ["{", '{"event": "wave"}', view.replace("2026-", "soon-"), "x" * 200_000]
    content = "\n".join([view, *bad, "", view.replace("item-0", "item-1")])

    result = shell.json_with_skipped_rows(
        "import-events", shop, write("events.jsonl", content)
    )

    assert (result["rows"], result["rows_skipped"], result["events_stored"]) == (6, 4, 2)
    assert [error["row"] for error in result["errors"]] == [2, 3, 4, 5]
    assert stored(services) == 2


def test_events_without_any_that_can_be_read_are_refused(
    shell: CommandLine, shop: str, write: Write
) -> None:
    result = shell.run("import-events", shop, write("e.jsonl", "x\ny\n"))

    assert result.exit_code == 1
    assert "nothing was imported" in result.stderr


def test_an_empty_file_is_nothing_to_worry_about(shell: CommandLine, shop: str) -> None:
    assert "0 lines" in shell("import-events", shop, "-", stdin="")


@pytest.mark.postgres
@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    ("command", "file"),
    [("import-items", "id,title\na,Tent\n"), ("import-orders", "order_id,item_id\n1,a\n")],
)
def test_files_are_imported_on_a_machine_without_the_data_folder(
    shell: CommandLine, shop: str, tmp_path: Path, command: str, file: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    ordered = ["--ordered-today"] if command == "import-orders" else []

    shell(command, shop, "-", *ordered, stdin=file, PRODUCTRECS_DATA=str(elsewhere))

    assert not elsewhere.exists()
