"""Order import: platform exports and mapped tables, stored or as a dry run."""

import io
import json
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from productrecs.core.csv_reader import MissingColumnsError, read_header
from productrecs.core.timestamps import parse_timestamp
from productrecs.features.imports.order_file_reader import (
    NAMED_HISTORY,
    detect_order_format,
)
from productrecs.services import Services
from productrecs.storage.sql.tables import items, purchase_lines
from tests.cli.conftest import BOTH, CommandLine
from tests.support.project import ROOT

Write = Callable[[str, str | bytes], str]
SAMPLES = ROOT / "tests/features/imports/feeds/samples"
PRODUCTS, SHOPIFY = str(SAMPLES / "shopify.csv"), str(SAMPLES / "shopify-orders.csv")
TABLE, TABLE_ORDERS = str(SAMPLES / "table.csv"), str(SAMPLES / "table-orders.csv")
MAPPING = str(SAMPLES / "table.toml")
OWN = "order_id,item_id,timestamp\nA,mug,2026-10-01\n"


def lines(services: Services) -> set[tuple[object, ...]]:
    """Return what was stored: order, item, person, time, units, price."""
    query = sa.select(
        purchase_lines.c.order_id,
        items.c.item_id,
        purchase_lines.c.person,
        purchase_lines.c.ts,
        purchase_lines.c.quantity,
        purchase_lines.c.price,
    ).join(
        items,
        (items.c.store_id == purchase_lines.c.store_id)
        & (items.c.number == purchase_lines.c.item),
    )
    with services.database.reading() as connection:
        return {tuple(row) for row in connection.execute(query)}


@BOTH
def test_a_shopify_export_comes_in_by_the_ids_of_the_catalog(
    shell: CommandLine, shop: str, services: Services
) -> None:
    shell.run("import-items", shop, PRODUCTS)

    result = shell.run("import-orders", shop, SHOPIFY)
    again = shell.json("import-orders", shop, SHOPIFY)

    assert "8 rows: 4 lines imported, 0 changed, 0 rows skipped." in result.stdout
    assert "not purchases were skipped: 1 refunded, 2 cancelled." in result.stderr
    assert result.exit_code == 0
    assert "1 line of products that are not in the catalog" in result.stderr
    assert (again["lines_imported"], again["lines_updated"]) == (0, 0)
    first = parse_timestamp("2026-10-03T14:20:11+02:00")
    second = parse_timestamp("2026-10-04T09:00:00+02:00")
    # Two variants are one product of the catalog, and both were bought.
    assert lines(services) == {
        ("#1001", "trail-shirt", None, first, 2, 29.0),
        ("#1001", "mug", None, first, 2, 12.5),
        ("#1002", "tent", None, second, 1, 199.0),
        ("#1002", "OLD-1", None, second, 1, 5.0),
    }


def test_orders_of_a_shop_without_its_products_are_refused(
    shell: CommandLine, shop: str
) -> None:
    error = shell.refused("import-orders", shop, SHOPIFY)

    assert f"first: productrecs import-items {shop} PRODUCTS" in error


def test_a_dry_run_reports_what_a_file_holds_and_stores_nothing(
    shell: CommandLine, shop: str, services: Services
) -> None:
    shell.run("import-items", shop, PRODUCTS)

    said = shell("import-orders", shop, SHOPIFY, "--dry-run")
    dry_run = shell.json("import-orders", shop, SHOPIFY, "--dry-run")

    assert "8 rows: 5 lines of 2 orders, 2026-10-03T12:20:11.000Z to" in said
    assert (
        "would be imported (1 of them repeated in the file), 0 rows skipped; 1 of 4" in said
    )
    assert (dry_run["orders"], dry_run["items"], dry_run["unknown_items"]) == (2, 4, 1)
    assert dry_run["would"][0] == {
        "row": 2,
        "order_id": "#1001",
        "item_id": "trail-shirt",
        "quantity": 1,
        "price": 29.0,
        "timestamp": "2026-10-03T12:20:11.000Z",
    }
    assert lines(services) == set()


@BOTH
def test_any_table_comes_in_by_a_mapping(
    shell: CommandLine, shop: str, services: Services
) -> None:
    products = shell.json_with_skipped_rows(
        "import-items", shop, TABLE, "--mapping", MAPPING
    )
    orders = shell.json_with_skipped_rows(
        "import-orders", shop, TABLE_ORDERS, "--mapping", MAPPING
    )

    assert (products["created"], products["rows_skipped"]) == (2, 1)
    assert (orders["lines_imported"], orders["rows_skipped"]) == (3, 1)
    assert orders["errors"] == [
        {
            "row": 5,
            "message": "Artikelnr. is empty; every row needs one",
            "column": "Artikelnr.",
            "value": "",
        }
    ]
    first = parse_timestamp("2026-10-03T14:20:00+02:00")  # in the store's zone
    second = parse_timestamp("2026-10-04T09:00:00+02:00")
    assert lines(services) == {
        ("R-1", "4711", "K-7", first, 1, 149.0),
        ("R-1", "4712", "K-7", first, 2, 39.5),
        ("R-2", "4712", None, second, 1, 39.5),
    }
    with services.database.reading() as connection:
        query = sa.select(items.c.item_id, items.c.price, items.c.availability)
        held = {tuple(row) for row in connection.execute(query)}
    assert held == {("4711", 149.0, "in_stock"), ("4712", 39.5, "out_of_stock")}


def test_a_dry_run_of_our_own_layout_and_a_table_that_is_none(
    shell: CommandLine, shop: str, write: Write
) -> None:
    own = shell.json("import-orders", shop, write("own.csv", OWN), "--dry-run")
    strange = shell.refused("import-orders", shop, write("odd.csv", "a;b\n1;mug\n"))

    assert (own["orders"], own["unknown_items"]) == (1, 1)
    assert "no column order_id" in strange
    assert "--mapping" in strange


# -------------------------------------------------------------------------- WooCommerce

WOO_PRODUCTS = (
    "ID,Type,SKU,Name,Published,Regular price,Parent\n"
    '12,simple,mug,"Mug ""Noir""",1,12.50,\n'
    '44,variable,tee,"Tee; wide, soft",1,,\n'
    '45,variation,tee-r,"Tee; wide, soft - Red",1,20,tee\n'
)
# Advanced Order Export: a row for each line.
ADVANCED = (
    "Order Number,Order Status,Order Date,Customer User ID,Email (Billing),SKU,Item #,"
    "Item Name,Quantity (- Refund),Item Cost\n"
    '1001,Completed,2026-10-03 14:20,7,a@x.example,tee-r,1,"Tee; wide, soft - Red",2,20\n'
    '1001,Completed,2026-10-03 14:20,7,a@x.example,mug,2,"Mug ""Noir""",1,12.5\n'
    "1002,Refunded,2026-10-04 9:05,0,b@x.example,mug,1,Mug,0,12.5\n"
    "1003,Storniert,2026-10-04 9:05,0,b@x.example,mug,1,Mug,1,12.5\n"
    "1004,Pending payment,2026-10-04 9:05,0,,mug,1,Mug,1,12.5\n"
    "1005,Failed,2026-10-04 9:05,0,,mug,1,Mug,1,12.5\n"
    "1006,On hold,2026-10-05 9:05,0,b@x.example,mug,1,Mug,1,12.5\n"
    "1006,On hold,2026-10-05 9:05,0,b@x.example,tee-r,2,Tee - Red,0,20\n"
)
# Order/Customer CSV Export: a row for each line; its item_id is the number of the line.
PER_ITEM = (
    "order_id,order_number,date,status,customer_id,billing_email,item_id,item_product_id,"
    "item_name,item_sku,item_quantity,item_total,item_refunded_qty\n"
    "1001,1001,2026-10-03 14:20:00,completed,7,a@x.example,501,45,"
    '"Tee; wide, soft - Red",tee-r,3,60.00,1\n'
    '1001,1001,2026-10-03 14:20:00,completed,7,a@x.example,502,12,"Mug",mug,1,12.50,\n'
    "1002,1002,2026-10-04 9:05:00,cancelled,0,b@x.example,503,12,Mug,mug,1,12.50,\n"
    "1006,1006,2026-10-05 9:05:00,wc-on-hold,0,b@x.example,504,12,Mug,mug,1,12.50,\n"
)
# The same plugin, an order a row, and its format for imports: JSON.
PER_ORDER = (
    "order_id,order_number,date,status,customer_id,line_items\n"
    "1001,1001,2026-10-03 14:20:00,completed,7,"
    '"id:1|name:Tee; wide, soft - Red|product_id:45|sku:tee-r|quantity:2|total:40.00|meta:'
    'Size=M;id:2|name:Mug|product_id:12|sku:mug|quantity:1|total:12.50"\n'
    '1006,1006,2026-10-05 9:05:00,on-hold,,"[{""name"": ""Mug"", ""product_id"": 12, '
    '""quantity"": 1, ""total"": ""12.50""}]"\n'
    "1007,1007,2026-10-05 9:05:00,completed,,\n"
)
# WebToffee: an order a row, each line in a cell of its own; or in a cell for each part.
WEBTOFFEE = (
    "order_id,order_number,order_date,status,customer_user,line_item_1,line_item_2\n"
    "1001,1001,2026-10-03 14:20:00,completed,7,"
    '"name:Tee; wide, soft - Red|product_id:44|sku:tee-r|quantity:2|total:40.00|'
    '_variation_id:45",name:Mug|product_id:12|sku:mug|quantity:1|total:12.50\n'
    "1006,1006,2026-10-05 9:05:00,on-hold,0,name:Mug|product_id:12|quantity:1|total:12.5,\n"
    "1009,1009,2026-10-05 9:05:00,failed,0,name:Mug|product_id:12|quantity:1|total:12.50,\n"
)
IN_CELLS = (
    "order_id,order_date,status,customer_user,Product Item 1 Name,Product Item 1 id,"
    "Product Item 1 SKU,Product Item 1 Quantity,Product Item 1 Total,Product Item 2 Name,"
    "Product Item 2 id,Product Item 2 SKU,Product Item 2 Quantity,Product Item 2 Total\n"
    "1001,2026-10-03 14:20:00,completed,7,Tee,44,tee-r,2,40,Mug,12,mug,1,12.5\n"
    "1006,2026-10-05 9:05:00,on-hold,0,Mug,12,mug,1,12.5,,,,,\n"
)
# WooCommerce Analytics, Orders, Download.
ANALYTICS = (
    "Date,Order #,N. Revenue (formatted),Status,Customer,Customer type,Product(s),"
    "Items sold,Coupon(s),N. Revenue,Attribution\n"
    '2026-10-03 14:20:00,1001,52.50,completed,Ann,new,"2\u00d7 Tee; wide, soft - Red, '
    '1\u00d7 Mug ""Noir""",3,,52.5,Direct\n'
    '2026-10-05 9:05:00,1006,12.50,on-hold,Bob,new,"1\u00d7 Mug ""Noir""",1,,12.5,Direct\n'
    '2026-10-05 9:05:00,1008,12.50,failed,Bob,new,"1\u00d7 Mug ""Noir""",1,,12.5,Direct\n'
)


@pytest.mark.parametrize(
    ("content", "not_bought"),
    [
        (ADVANCED, {"refunded": 2, "cancelled": 1, "pending": 1, "failed": 1}),
        (PER_ITEM, {"cancelled": 1}),
        (PER_ORDER, {}),
        (WEBTOFFEE, {"failed": 1}),
        (IN_CELLS, {}),
        (ANALYTICS, {"failed": 1}),
    ],
)
def test_woocommerce_orders_come_in_from_each_export(
    shell: CommandLine,
    shop: str,
    services: Services,
    write: Write,
    content: str,
    not_bought: dict[str, int],
) -> None:
    shell("import-items", shop, write("products.csv", WOO_PRODUCTS))
    path = write("orders.csv", content)

    result = shell.run("import-orders", shop, path, "--json")
    body = json.loads(result.stdout)
    again = json.loads(shell.run("import-orders", shop, path, "--json").stdout)

    first = parse_timestamp("2026-10-03T14:20:00+02:00")  # in the store's zone
    second = parse_timestamp("2026-10-05T09:05:00+02:00")
    is_bare = content is ANALYTICS  # it names no price and no customer's id
    customer, tee, mug = (None, None, None) if is_bare else ("7", 20.0, 12.5)
    assert lines(services) == {
        ("1001", "44", customer, first, 2, tee),
        ("1001", "12", customer, first, 1, mug),
        ("1006", "12", None, second, 1, mug),
    }
    skipped = int(content is PER_ORDER)  # its last order has no line
    assert (body["not_bought"], body["rows_skipped"]) == (not_bought, skipped)
    assert result.exit_code == skipped
    assert (again["lines_imported"], again["lines_updated"]) == (0, 0)
    assert "Orders with the status" in result.stderr


def test_orders_by_sku_need_the_products_first_and_those_by_id_do_not(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    error = shell.refused("import-orders", shop, write("a.csv", ADVANCED))
    assert f"first: productrecs import-items {shop} PRODUCTS" in error

    shell("import-orders", shop, write("b.csv", PER_ITEM))

    assert {(row[0], row[1]) for row in lines(services)} == {
        ("1001", "45"),
        ("1001", "12"),
        ("1006", "12"),
    }


def test_our_own_layout_stays_ours_whatever_else_it_holds(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    own = "order_id,item_id,status,date,sku\nA,mug,refunded,2026-10-01,x\n"

    shell("import-orders", shop, write("own.csv", own))

    assert {row[:2] for row in lines(services)} == {("A", "mug")}


# ------------------------------------------------------------------------------- times


def test_ambiguous_times_are_reported_and_a_format_is_suggested(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    content = "order_id,item_id,timestamp\nA,mug,03/10/2026 14:20\nB,mug,\n"
    path = write("own.csv", content)

    refused = shell.refused("import-orders", shop, path)
    assert "No row has a readable time in the column 'timestamp': row 2" in refused
    said = shell.run("import-orders", shop, path, "--ordered-today", "--dry-run").stderr
    assert "2 rows without a readable time: would be placed on today." in said
    assert "row 2: '03/10/2026 14:20' may have the day or the month first" in said
    assert "--timestamp-format %d/%m/%Y" in said
    given = shell.run("import-orders", shop, path, "--timestamp-format", "%d/%m/%Y %H:%M")
    assert "row 3 skipped: timestamp is empty; write when the order" in given.stderr

    october = parse_timestamp("2026-10-03T14:20:00+02:00")
    assert october in {row[3] for row in lines(services)}
    other = write("other.csv", content + "C,mug,25/10/2026 9:00\n")
    dry_run = shell.json_with_skipped_rows("import-orders", shop, other, "--dry-run")
    assert (dry_run["rows_undated"], dry_run["undated"]) == (1, [])
    assert dry_run["would"][0]["timestamp"] == "2026-10-03T12:20:00.000Z"


def test_an_order_of_the_future_is_an_error_with_its_row_column_and_value(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    content = "Bestellnummer;Artikelnummer;Datum\nA;mug;01.10.2026\nB;mug;31.12.2099\n"

    result = shell.json_with_skipped_rows(
        "import-orders", shop, write("orders.csv", content)
    )

    assert {row[0] for row in lines(services)} == {"A"}
    problem = "is in the future; an order history has past orders only"
    assert result["errors"] == [
        {
            "row": 3,
            "message": f"Datum '31.12.2099' {problem}",
            "column": "Datum",
            "value": "31.12.2099",
        }
    ]


# ------------------------------------------------------------------------ column names

HEADERS = [
    ("order_id", "product_id", "date", "qty", "price"),
    ("Order ID", "SKU", "order_date", "Quantity", "Unit price"),
    ("order_number", "article_number", "created", "units", "item_price"),
    ("increment_id", "sku", "purchased_at", "qty_ordered", "price"),  # Magento
    ("id_order", "product_reference", "date_add", "product_quantity", "unit_price"),
    ("order_id", "model", "date_added", "quantity", "price"),  # OpenCart
    ("Order ID", "Product SKU", "Order Date", "Quantity", "Price Each"),  # BigCommerce
    ("Bestellnummer", "Artikelnummer", "Datum", "Menge", "Einzelpreis"),
    ("Numéro de commande", "Référence produit", "Date de commande", "Quantité", "Prix"),
    ("Número de pedido", "Código producto", "Fecha", "Cantidad", "Precio"),
    ("Numero ordine", "Codice prodotto", "Data", "Quantità", "Prezzo"),
    ("Bestelnummer", "Productnummer", "Besteldatum", "Aantal", "Prijs"),
    ("Número pedido", "Código produto", "Data do pedido", "Quantidade", "Preço"),
    ("Ordrenummer", "Varenummer", "Købsdato", "Antal", "Pris"),
    ("Ordernummer", "Artikelnummer", "Beställningsdatum", "Antal", "Pris"),
    ("Ordrenr", "Artikkelnummer", "Dato", "Antall", "Pris"),
    ("Tilausnumero", "Tuotenumero", "Päivämäärä", "Määrä", "Hinta"),
    ("Numer zamówienia", "Kod produktu", "Data zamówienia", "Ilość", "Cena"),
    ("Číslo objednávky", "Kód zboží", "Datum objednávky", "Množství", "Cena"),
    ("Rendelésszám", "Cikkszám", "Rendelés dátuma", "Mennyiség", "Ár"),
    ("Număr comandă", "Cod produs", "Data comenzii", "Cantitate", "Preț"),
    ("Sipariş no", "Ürün kodu", "Sipariş tarihi", "Adet", "Fiyat"),
    ("Номер заказа", "Артикул", "Дата заказа", "Количество", "Цена"),
    ("Αριθμός παραγγελίας", "Κωδικός προϊόντος", "Ημερομηνία", "Ποσότητα", "Τιμή"),
    ("رقم الطلب", "رقم المنتج", "تاريخ", "الكمية", "السعر"),
    ("ஆர்டர் எண்", "பொருள் எண்", "தேதி", "அளவு", "விலை"),
]


@pytest.mark.parametrize("names", HEADERS, ids=lambda names: names[0])
def test_columns_are_known_by_the_names_of_shop_systems_and_languages(
    names: tuple[str, ...],
) -> None:
    head = (";".join(names) + "\n").encode()

    found = read_header(head, NAMED_HISTORY).columns

    assert {names[place]: name for name, place in found.items()} == dict(
        zip(names, ("order_id", "item_id", "timestamp", "quantity", "price"), strict=True)
    )


SHOPIFY_HEADER = (
    "Name,Email,Financial Status,Paid at,Created at,Lineitem quantity,Lineitem name,"
    "Lineitem price,Lineitem sku"
)


@pytest.mark.parametrize(
    ("header", "known"),
    [
        (ADVANCED, "woocommerce"),
        (PER_ITEM, "woocommerce"),
        (PER_ORDER, "woocommerce"),
        (WEBTOFFEE, "woocommerce"),
        (IN_CELLS, "woocommerce"),
        (ANALYTICS, "woocommerce"),
        (
            (
                "Order Number,Order Status,Order Date,Email (Billing),"
                "Order Total Amount,SKU,Item #,Item Name,Quantity,Item Cost"
            ),
            "woocommerce",
        ),
        (SHOPIFY_HEADER, "shopify"),
        ("Order ID,SKU,Order Date,Quantity", "csv"),
        ("Order ID;SKU;Status;Date;Qty", "csv"),
        ("order_number,product_name,order_date,quantity", "csv"),
        ("increment_id,created_at,status,sku,name,qty_ordered,price", "csv"),  # Magento
        (
            (  # PrestaShop
                "id_order;date_add;product_id;product_reference;product_name;"
                "product_quantity;unit_price_tax_incl"
            ),
            "csv",
        ),
        (  # OpenCart
            "order_id,order_status,date_added,product_id,name,model,quantity,price,total",
            "csv",
        ),
        ("Order ID,Order Date,Order Status,Product SKU,Product Qty,Product Name", "csv"),
        ("Order number,Date created,Item,SKU,Qty,Price", "csv"),  # Wix
        ("Order ID,Email,Financial Status,Paid at,Lineitem quantity,Lineitem sku", "csv"),
        ("ID,Purchase Point,Purchase Date,Bill-to Name,Grand Total (Base)", ""),  # Magento
        ("id_order;reference;customer;total_paid_tax_incl;payment;state;date_add", ""),
    ],
    ids=lambda text: text.partition("\n")[0][:60],
)
def test_an_export_is_known_only_by_columns_that_only_its_system_writes(
    header: str, known: str
) -> None:
    file = io.BytesIO(header.encode())
    if known:
        assert detect_order_format(file).value == known
    else:  # orders without their products
        with pytest.raises(MissingColumnsError):
            detect_order_format(file)


def test_a_table_may_name_products_by_sku_or_title_and_says_what_was_not_bought(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    content = (
        "Order ID,SKU,Order Date,Order Status,Quantity,Unit price\n"
        '1,"Tee; wide, soft - Red",2026-10-03,Completed,2,20\n'
        "1,mug,2026-10-03,Completed,1,12.50\n"
        "2,mug,2026-10-04,Refunded,1,12.50\n"
        "3,no-such,2026-10-04,Shipped,1,5\n"
    )
    early = json.loads(
        shell.run(
            "import-orders", shop, write("a.csv", content), "--json", "--dry-run"
        ).stdout
    )
    shell("import-items", shop, write("products.csv", WOO_PRODUCTS))

    late = json.loads(
        shell.run("import-orders", shop, write("a.csv", content), "--json").stdout
    )

    assert (early["not_bought"], early["orders"]) == ({"refunded": 1}, 2)
    assert late["not_bought"] == {"refunded": 1}
    assert {(row[0], row[1], *row[4:]) for row in lines(services)} == {
        ("1", "44", 2, 20.0),
        ("1", "12", 1, 12.5),
        ("3", "no-such", 1, 5.0),
    }


def test_columns_that_nothing_reads_are_named_and_old_encodings_are_known(
    shell: CommandLine, shop: str, services: Services, write: Write
) -> None:
    content = "Bestellnr.;Artikelnr.;Bestelldatum;Stückzahl;Größe\nA;7;01.10.2026;2;L\n"
    path = write("orders.csv", content.encode("cp1252"))

    said = shell.run("import-orders", shop, path).stderr

    assert "Columns that are not used: Größe." in said
    assert {(row[0], row[1], row[4]) for row in lines(services)} == {("A", "7", 2)}
