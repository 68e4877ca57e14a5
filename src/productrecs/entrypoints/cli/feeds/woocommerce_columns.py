"""Column names of WooCommerce product exports, by language."""

from types import MappingProxyType
from typing import Final

from productrecs.records.orders.csv_format import CsvLayout

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
