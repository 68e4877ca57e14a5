"""WooCommerce product CSV: column names by language; a variation's row names its parent."""

import csv
import re
from collections.abc import Callable, Container, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from productrecs.core.csv_reader import (
    CsvLayout,
    MissingColumnsError,
    decode_head,
    read_header,
)
from productrecs.core.currency_digits import digits_after_point
from productrecs.core.html_text import html_to_text, html_to_title
from productrecs.features.imports.feeds.feed_read_state import FeedReadState
from productrecs.features.imports.feeds.product_grouping import (
    PLANNED_PRICE_FIELDS,
    FeedOffer,
    OfferedVariant,
    Value,
    current_price,
)
from productrecs.features.imports.feeds.value_parsing import (
    InvalidOfferError,
    ParsedPrice,
    attribute_values_by_name,
    category_levels,
    parse_gtin,
    parse_price,
    parse_stock,
)
from productrecs.records.catalog.availability import Availability

MAX_ATTRIBUTES: Final = 12
"""The most attributes of a product that are read."""

_NAMES: Final = (
    *("Attribute {} name", "Attribut {} Name", "Nom de l'attribut {}"),
    *("Nom de l\u2019attribut {}", "Nombre del atributo {}", "Attributo {} nome"),
    *("Naam eigenschap {}", "Nome do atributo {}"),
)
_VALUES: Final = (
    *("Attribute {} value(s)", "Attribut {} Wert(e)", "Valeur(s) de l'attribut {}"),
    *("Valeur(s) de l\u2019attribut {}", "Valor(es) del atributo {}"),
    *("Attributo {} valuta(e)", "Attributo {} valore(i)", "Waarde eigenschap {}"),
    "Valores do atributo {}",
)

LAYOUT: Final = CsvLayout(
    columns=MappingProxyType(
        {  # English, German, French, Spanish, Italian, Dutch, Portuguese
            "id": ("ID",),
            "type": ("Type", "Typ", "Tipo"),
            "sku": ("SKU", "Artikelnummer", "UGS", "COD", "SKU/REF"),
            "gtin": tuple(
                f"GTIN, UPC, EAN{joint} ISBN"
                for joint in (", or", " oder", " ou", " o", " of")
            ),
            "name": ("Name", "Nom", "Nombre", "Nome", "Naam"),
            "published": (
                *("Published", "Veröffentlicht", "Publié", "Publicado", "Pubblicato"),
                "Gepubliceerd",
            ),
            "visibility": (
                *("Visibility in catalog", "Sichtbarkeit im Katalog"),
                *("Visibilité dans le catalogue", "Visibilidad en el catálogo"),
                *("Visibilità nel catalogo", "Zichtbaarheid in catalogus"),
                "Visibilidade no catálogo",
            ),
            "short": (
                *("Short description", "Kurzbeschreibung", "Description courte"),
                *("Descripción corta", "Breve descrizione", "Korte beschrijving"),
                *("Korte omschrijving", "Descrição curta"),
            ),
            "description": (
                *("Description", "Beschreibung", "Descripción", "Descrizione"),
                *("Beschrijving", "Descrição"),
            ),
            "sale_from": (
                *("Date sale price starts", "Datum, an dem Angebotspreis beginnt"),
                *("Datum, an dem der Angebotspreis beginnt", "Date de début de promo"),
                *("Día en que empieza el precio rebajado", "Startdatum actieprijs"),
                "Data di inizio del prezzo in offerta",
                "Data de preço promocional começa em",
            ),
            "sale_to": (
                *("Date sale price ends", "Datum, an dem Angebotspreis endet"),
                *("Datum, an dem der Angebotspreis endet", "Date de fin de promo"),
                *("Día en que termina el precio rebajado", "Einddatum actieprijs"),
                "Data di fine del prezzo in offerta",
                "Data de preço promocional termina em",
            ),
            "status": (
                *("In stock?", "Vorrätig?", "En stock ?", "¿Existencias?"),
                *("¿En inventario?", "Disponibile?", "Op voorraad?", "Em estoque?"),
            ),
            "stock": (
                *("Stock", "Bestand", "Lager", "Lagerbestand", "Inventario"),
                *("Magazzino", "Voorraad", "Estoque"),
            ),
            "sale_price": (
                *("Sale price", "Angebotspreis", "Tarif promo", "Prix promo"),
                *("Precio rebajado", "Prezzo in offerta", "Actieprijs"),
                "Preço promocional",
            ),
            "regular_price": (
                *("Regular price", "Regulärer Preis", "Normaler Preis", "Tarif régulier"),
                *("Prix régulier", "Precio normal", "Prezzo di listino"),
                *("Reguliere prijs", "Normale prijs", "Preço"),
            ),
            "categories": (
                *("Categories", "Kategorien", "Catégories", "Categorías", "Categorie"),
                *("Categorieën", "Categorias"),
            ),
            "images": (
                "Images",
                "Bilder",
                "Imágenes",
                "Immagini",
                "Afbeeldingen",
                "Imagens",
            ),
            "parent": (
                *("Parent", "Übergeordnetes Produkt", "Superior", "Genitore", "Hoofd"),
                "Ascendente",
            ),
            "grouped": (
                *("Grouped products", "Gruppierte Produkte", "Groupes de produits"),
                *("Produits groupés", "Productos agrupados", "Prodotti raggruppati"),
                *("Gegroepeerde producten", "Grupo de produtos"),
            ),
            "cost": ("Cost of goods",),
            "brands": ("Brands", "Marken", "Marques", "Marcas", "Marchi", "Merken"),
        }
        | {
            f"{part}{number}": tuple(name.format(number) for name in names)
            for number in range(1, MAX_ATTRIBUTES + 1)
            for part, names in (("attribute", _NAMES), ("value", _VALUES))
        }
    ),
    required=(),  # an ID or, without that column, a SKU
    example="ID,Type,SKU,Name,Published,...,Regular price,Categories,Images,Parent",
    prose=True,
)


PROVIDED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sku": ("sku",),
        "gtin": ("gtin",),
        "title": ("name",),
        "description": ("description", "short"),
        "categories": ("categories",),
        "image_url": ("images",),
        "price": ("regular_price",),
        "list_price": ("regular_price",),
        **dict.fromkeys(PLANNED_PRICE_FIELDS, ("regular_price",)),
        "cost": ("cost",),
        "stock_qty": ("stock",),
        "availability": ("status", "published", "visibility"),
    }
)
"""The fields of an item, and the columns of an export that hold them."""

TYPES: Final = frozenset({"simple", "variable", "variation", "grouped", "external"})
_VISIBILITY: Final = frozenset({"visible", "catalog", "search", "hidden"})
_STATUS: Final = MappingProxyType(
    {
        "1": Availability.IN_STOCK,
        "0": Availability.OUT_OF_STOCK,
        "backorder": Availability.BACKORDER,
    }
)
_COMMA: Final = re.compile(r"(?<!\\),")
_WEIGHT: Final = re.compile(r"\((kg|g|lbs|oz)\)")
_FORMULA: Final = re.compile(r"^'(?=[=+\-@])")  # escapes formulas in spreadsheets
_FROM_VISIBILITY: Final = MappingProxyType(
    {
        "published": -2,
        "name": -3,
        "visibility": 0,
        "short": 1,
        "description": 2,
        "sale_from": 3,
        "sale_to": 4,
        "status": 7,
        "stock": 8,
    }
)
_FROM_WEIGHT: Final = MappingProxyType(
    {
        "sale_price": 6,
        "regular_price": 7,
        "categories": 8,
        "images": 11,
        "parent": 14,
        "grouped": 15,
    }
)
_VISIBLE_AFTER_GTIN: Final = 7  # the column of the visibility in exports with GTINs
_BY_ID: Final = "id:"
_NUMBER: Final = re.compile(r"[-+]?(\d*)([.,])(\d+)", re.ASCII)
_THOUSAND: Final = 3  # digits after a mark that may separate thousands
_POUND: Final = re.compile(r"[^\d.,+-]+")
_SEPARATOR_NAMES: Final = MappingProxyType({".": "point", ",": "comma"})
_WRITTEN_WITHOUT_DECIMALS: Final = frozenset({"COP", "HUF", "IDR", "IRR"})
"""Currencies with decimals that shops write without."""


def collect_parents_and_price_facts(
    read_rows: Callable[[], Iterable[Mapping[str, str]]], reading: FeedReadState
) -> None:
    """Record facts that need the whole file: parents, decimal marks, group prices."""
    parent_ids = set[str]()
    for cells in read_rows():
        own_id, sku = cells.get("id", "").strip(), _unescape(cells.get("sku", "")).strip()
        kind = _kind(cells)
        if own_id and sku and kind.startswith("variable"):
            reading.parents[sku] = _BY_ID + own_id
        if kind == "grouped":
            parent_ids.update(_split_list(cells.get("grouped", "")))
        for name in ("regular_price", "sale_price"):
            separator = _decimal_separator(_without_currency(cells.get(name, "")))
            if separator is not None:
                reading.decimals.add(separator)
    if parent_ids:
        _collect_lowest_child_prices(read_rows(), parent_ids, reading)


def _collect_lowest_child_prices(
    rows: Iterable[Mapping[str, str]], parent_ids: set[str], reading: FeedReadState
) -> None:
    """Record the lowest price of each child of a grouped product."""
    by_product = {reading.parents.get(name, name): name for name in parent_ids}
    for cells in rows:
        own_id, sku = cells.get("id", "").strip(), _unescape(cells.get("sku", "")).strip()
        parent = _unescape(cells.get("parent", "")).strip()
        names = {sku, _BY_ID + own_id}
        if _is_variation(cells):
            names = {parent, reading.parents.get(parent, parent)}
        child = next(
            (by_product.get(name, name) for name in names if name in by_product), None
        )
        if child is None or _is_hidden(cells):
            continue
        try:
            price = current_price(cells, reading, parse=parse_woocommerce_price)
        except InvalidOfferError:
            continue  # its own row is rejected
        before = reading.lowest.get(child)
        if price is not None and (before is None or price.amount < before):
            reading.lowest[child] = price.amount


def parse_woocommerce_price(text: str, reading: FeedReadState) -> ParsedPrice | None:
    """Return a price of a WooCommerce export; the reading records how it was decided.

    WooCommerce writes a decimal mark, comma or point, and no thousands separators. Other
    programs write separators. `12,345` is ambiguous: the other prices of the file decide,
    else the decimals of the store's currency, else WooCommerce's format (12.345).

    Raises:
        InvalidOfferError: when it is not a price.
    """
    number = _without_currency(text)
    match = _NUMBER.fullmatch(number)
    if match is None or _decimal_separator(number) is not None:
        return parse_price(text, ";")
    separator = match.group(2)
    separates_thousands, reason = _is_thousands_separator_and_why(separator, reading)
    amount = float(number.replace(separator, "" if separates_thousands else "."))
    if reason:
        note = f"Prices such as {number!r} were read as {amount:g}: {reason}."
        reading.add_note_once(f"mark{separator}", note)
    return ParsedPrice(amount, None)


def _is_thousands_separator_and_why(
    separator: str, reading: FeedReadState
) -> tuple[bool, str]:
    """Return whether a mark before three digits separates thousands, and why."""
    other_separator = ({".", ","} - {separator}).pop()
    if reading.decimals == {other_separator}:
        return (
            True,
            f"other prices of the file have a decimal {_SEPARATOR_NAMES[other_separator]}",
        )
    comma = "" if separator == "." else "WooCommerce writes a decimal comma"
    if reading.decimals:
        return False, comma
    digits = digits_after_point(reading.currency)
    if not digits or reading.currency in _WRITTEN_WITHOUT_DECIMALS:
        return True, f"prices in {reading.currency} have no decimals"
    if digits > 2:  # noqa: PLR2004 - the usual number
        return False, comma and f"prices in {reading.currency} have three decimals"
    unsure = f"{comma}. No other price of the file shows whether that is so here"
    return False, comma and f"{unsure}; if not, remove the commas and import again"


def _without_currency(text: str) -> str:
    return _POUND.sub("", text.strip())


def _decimal_separator(number: str) -> str | None:
    """Return the decimal mark that a price shows; None if it may separate thousands."""
    if "." in number and "," in number:
        return max(".,", key=number.rfind)
    for separator, other_separator in (".,", ",."):
        if number.count(separator) > 1:
            return other_separator  # 1,299,000 separates thousands
    match = _NUMBER.fullmatch(number)
    if match is None:
        return None
    units, separator, decimals = match.groups()
    may_be_thousands = (
        len(decimals) == _THOUSAND and 0 < len(units) <= _THOUSAND and units[0] != "0"
    )
    return None if may_be_thousands else separator


def read_offer(row: int, cells: Mapping[str, str], reading: FeedReadState) -> FeedOffer:
    """Return the offer of one row.

    Raises:
        InvalidOfferError: when it names no product, or its price is invalid.
    """
    own_id, sku = cells.get("id", "").strip(), _unescape(cells.get("sku", "")).strip()
    is_variation = _is_variation(cells)
    if not is_variation and not (own_id or sku):
        message = "the row has no ID and no SKU" if "sku" in cells else "the row has no ID"
        raise InvalidOfferError(message)
    kind = _kind(cells)
    is_hidden = _is_hidden(cells)
    sold = _offered_variant(cells, reading)
    has_variants = kind.startswith("variable")
    if kind == "grouped":
        sold = _variant_of_grouped_product(cells, sold, reading)
    return FeedOffer(
        row=row,
        product=_parent_key(cells, reading) if is_variation else _product_key(own_id, sku),
        item_id=None if is_variation else own_id or sku,
        is_main=not is_variation,
        is_hidden=is_hidden,
        fields=_item_fields(cells, sku, own_id, reading),
        variant=None if has_variants or (is_variation and is_hidden) else sold,
        product_values=sold if has_variants else None,
        attributes={} if is_variation and is_hidden else _attributes(cells),
    )


def _kind(cells: Mapping[str, str]) -> str:
    """Return the type of a row, such as `simple`, without its suffixes."""
    return cells.get("type", "simple").split(",")[0].strip().lower() or "simple"


def _is_variation(cells: Mapping[str, str]) -> bool:
    if "type" in cells:
        return _kind(cells).endswith("variation")
    return bool(cells.get("parent", "").strip())


def _product_key(own_id: str, sku: str) -> str:
    return _BY_ID + own_id if own_id else sku


def _variant_of_grouped_product(
    cells: Mapping[str, str], sold: OfferedVariant, reading: FeedReadState
) -> OfferedVariant:
    """Return the variant of a grouped product: its price is that of its cheapest part."""
    children = _split_list(cells.get("grouped", ""))
    prices = [price for name in children if (price := reading.lowest.get(name)) is not None]
    return OfferedVariant(
        price=min(prices, default=sold.price),
        list_price=None if prices else sold.list_price,
        cost=sold.cost,
        stock=sold.stock,
        availability=sold.availability,
    )


def _attributes(cells: Mapping[str, str]) -> dict[str, list[str]]:
    attributes = [("Brand", cells.get("brands", ""))]
    attributes += (
        (cells[f"attribute{number}"], _unescape(cells.get(f"value{number}", "")))
        for number in range(1, MAX_ATTRIBUTES + 1)
        if f"attribute{number}" in cells
    )
    return attribute_values_by_name(attributes)


def names_products(columns: Container[str]) -> bool:
    """Return whether a table has a column that identifies products."""
    return "id" in columns or "sku" in columns


def columns_by_position_of_full_export(head: bytes) -> Mapping[str, int] | None:
    """Map the columns of a full export in another language by their order, or None.

    An export names its columns in the language of the person who made it, but always in
    the same order, and some words and units are the same in all languages. `head` is
    the beginning of the file.
    """
    names, first = _header_and_first_row(head)
    kind = first[1].split(",")[0].strip() if len(first) > 1 else ""
    visible_columns = [index for index, cell in enumerate(first) if cell in _VISIBILITY]
    weights = [index for index, name in enumerate(names) if _WEIGHT.search(name)]
    if kind not in TYPES or not visible_columns or not weights:
        return None
    visible, weight = visible_columns[0], weights[0]
    # Newer exports have one column more between the two, the low stock.
    if weight - visible not in {11, 12} or weight + _FROM_WEIGHT["parent"] >= len(names):
        return None
    return MappingProxyType(
        {"id": 0, "type": 1, "sku": 2}
        | ({"gtin": 3} if visible == _VISIBLE_AFTER_GTIN else {})  # since WooCommerce 9.2
        | {name: visible + step for name, step in _FROM_VISIBILITY.items()}
        | {name: weight + step for name, step in _FROM_WEIGHT.items()}
    )


def _header_and_first_row(head: bytes) -> tuple[list[str], list[str]]:
    """Return the header and the row below it, empty if there is none."""
    try:
        header = read_header(head, LAYOUT)
        lines = decode_head(head).splitlines(keepends=True)[header.lines - 1 :]
        rows = csv.reader(lines, delimiter=header.separator)
        return next(rows, []), next(rows, [])
    except (MissingColumnsError, csv.Error):
        return [], []


def _item_fields(
    cells: Mapping[str, str], sku: str, own_id: str, reading: FeedReadState
) -> dict[str, Value]:
    long, short = cells.get("description", ""), cells.get("short", "")
    text = _unescape(long if long.strip() else short).replace("\\n", "\n")
    images = _split_list(cells.get("images", ""))
    return {
        "sku": sku,
        "gtin": parse_gtin(_unescape(cells.get("gtin", ""))),
        "title": html_to_title(_unescape(cells.get("name", ""))),
        "description": html_to_text(text),
        "product_url": reading.build_url(f"/?p={own_id}") if own_id else "",
        "image_url": images[0] if images else "",
        "categories": _category_levels(cells.get("categories", "")),
    }


def _offered_variant(cells: Mapping[str, str], reading: FeedReadState) -> OfferedVariant:
    price = current_price(cells, reading, parse=parse_woocommerce_price)
    cost = parse_woocommerce_price(cells.get("cost", ""), reading)
    return OfferedVariant(
        price=None if price is None else price.amount,
        list_price=None if price is None else price.regular,
        planned=None if price is None else price.planned,
        cost=None if cost is None else cost.amount,
        stock=parse_stock(cells.get("stock", "")),
        availability=_STATUS.get(cells.get("status", "").strip().lower()),
    )


def _parent_key(cells: Mapping[str, str], reading: FeedReadState) -> str:
    """Return the parent of a variation: `Parent` holds its SKU, or `id:44`."""
    parent = _unescape(cells.get("parent", "")).strip()
    if not parent:
        message = "a variation without a parent"
        raise InvalidOfferError(message)
    return reading.parents.get(parent, parent)


def _is_hidden(cells: Mapping[str, str]) -> bool:
    published = cells.get("published", "1").strip()
    visibility = cells.get("visibility", "").strip().lower()
    return published not in {"1", ""} or visibility == "hidden"


def _category_levels(cell: str) -> list[str]:
    return list(
        dict.fromkeys(
            level for path in _split_list(cell) for level in category_levels(path)
        )
    )


def _split_list(cell: str) -> list[str]:
    parts = (part.replace("\\,", ",").strip() for part in _COMMA.split(_unescape(cell)))
    return [part for part in parts if part]


def _unescape(cell: str) -> str:
    return _FORMULA.sub("", cell)
