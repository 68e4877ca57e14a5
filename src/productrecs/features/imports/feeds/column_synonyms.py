"""Column synonyms: what shop systems and people in many languages call our fields.

Names are compared without case, accents, blanks, dots, `_` and `-`. Our own names come
first: a table with both `id` and `sku` has its ids in `id`. Names that two fields could
mean, such as `number`, are left out.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

_ORDER_NAMES: Final = {
    "order_id": """
        order_id order_number order_no order_nr order_reference reference_order increment_id
        order_increment_id id_order ordernum order_name
        bestellnummer bestellnr bestell_id bestellung auftragsnummer auftragsnr
        numero_commande numero_de_commande n°_commande id_commande commande
        numero_pedido numero_de_pedido n°_pedido id_pedido pedido
        numero_ordine numero_d'ordine id_ordine ordine
        ordernummer bestelnummer bestelling
        numero_da_encomenda encomenda
        ordrenummer ordrenr ordre_id bestillingsnummer ordernr
        tilausnumero tilaus numer_zamowienia nr_zamowienia zamowienie
        cislo_objednavky objednavka rendelesszam rendeles_azonosito
        numar_comanda comanda siparis_no siparis_numarasi siparis_id
        номер_заказа заказ αριθμος_παραγγελιας παραγγελια رقم_الطلب ஆர்டர்_எண்
        receipt receipt_no receipt_number receipt_id transaction_id transaction_no sale_id
        invoice invoice_no invoice_number bon bon_nr bonnummer beleg belegnummer belegnr
        rechnungsnummer rechnungsnr auftrag ref_commande reference_commande ticket
        numero_ticket n°_ticket facture numero_facture n°_facture factura numero_factura
    """,
    "item_id": """
        item_id product_id id_product productid product_code product_number product_no
        product_sku item_number item_no item_code item_sku variant_sku lineitem_sku
        article article_id article_number article_no artikelnummer artikelnr artikel_id
        artikel produktnummer produkt_id produktnr product_reference
        reference_produit ref_produit code_article id_produit produit
        codigo_producto id_producto referencia_producto producto codigo_articulo articulo
        codice_prodotto id_prodotto codice_articolo prodotto articolo
        productnummer productcode varenummer varenr artikkelnummer
        codigo_produto id_produto referencia_produto produto
        tuotenumero tuotekoodi tuote kod_produktu id_produktu produkt
        kod_zbozi kod_produktu cislo_produktu termekkod termek_azonosito cikkszam
        cod_produs id_produs produs urun_kodu urun_id urun
        артикул код_товара товар κωδικος_προιοντος προιον رقم_المنتج பொருள்_எண் sku model
        product_name item_name product_title
        art_nr art_no stock_code sku_code code_produit reference_article ref_article
        numero_article n°_article codigo_de_articulo codigo_de_producto
    """,
    "customer_id": """
        customer_id user_id client_id customer_no customer_number customer_nr id_customer
        shopper_id buyer_id member_id kundennummer kundennr kunden_id kunde
        numero_client id_client client numero_cliente id_cliente cliente codice_cliente
        klantnummer klant_id klant kundenummer kundenr kund_id kundnummer
        asiakasnumero asiakas numer_klienta id_klienta klient cislo_zakaznika zakaznik
        vevoszam vevo_azonosito numar_client musteri_no musteri_id musteri
        номер_клиента клиент κωδικος_πελατη πελατης رقم_العميل வாடிக்கையாளர்_எண்
        client_no client_number kd_nr n°_client num_client code_client numero_de_client
        numero_de_cliente codigo_cliente codigo_de_cliente
    """,
    "timestamp": """
        timestamp created_at order_date ordered_at order_time order_datetime date_ordered
        date_of_order purchased_at purchase_date date_purchased date_of_purchase
        order_placed placed_at order_created created created_on creation_date date_created
        date_created_gmt date_add date_added date_time datetime invoice_date paid_at
        date_paid time date day sold_at sale_date transaction_date
        datum bestelldatum bestellzeit bestellt_am auftragsdatum kaufdatum erstellt_am
        erstellt rechnungsdatum zeitpunkt zeit tag
        date_commande date_de_commande date_de_la_commande date_achat date_d'achat cree_le
        fecha fecha_pedido fecha_de_pedido fecha_del_pedido fecha_compra fecha_de_compra
        data data_ordine data_dell'ordine data_acquisto data_creazione
        besteldatum orderdatum aankoopdatum
        data_pedido data_do_pedido data_da_compra data_encomenda data_da_encomenda
        dato ordredato bestillingsdato kobsdato bestallningsdatum kopdatum
        paivays paivamaara tilauspaiva tilauspvm ostopaiva
        data_zamowienia data_zakupu datum_objednavky datum_nakupu
        datum_rendeles rendeles_datuma vasarlas_datuma
        data_comenzii data_comanda tarih siparis_tarihi satin_alma_tarihi
        дата дата_заказа дата_покупки ημερομηνια ημερομηνια_παραγγελιας
        تاريخ تاريخ_الطلب التاريخ தேதி ஆர்டர்_தேதி
        belegdatum bondatum verkaufsdatum verkauft_am date_vente date_de_vente
        date_facture fecha_venta fecha_de_venta fecha_factura
    """,
    "quantity": """
        quantity qty units qty_ordered quantity_ordered product_quantity item_quantity
        order_quantity lineitem_quantity pieces pcs count
        menge anzahl stueck stuck stuckzahl bestellmenge
        quantite qte cantidad cant unidades quantita qta pezzi aantal
        quantidade qtd qtde antal antall kpl maara ilosc mnozstvi pocet mennyiseg darab
        cantitate buc adet miktar количество кол-во ποσοτητα الكمية அளவு
        sold units_sold qty_sold quantity_sold stk verkaufte_menge quantite_vendue
        cantidad_vendida uds
    """,
    "price": """
        price unit_price item_price product_price price_each lineitem_price
        price_per_unit price_incl_tax unit_price_tax_incl
        preis einzelpreis stuckpreis stueckpreis verkaufspreis
        prix prix_unitaire precio precio_unitario prezzo prezzo_unitario
        prijs stukprijs eenheidsprijs preco preco_unitario
        pris enhedspris stykkpris styckpris enhetspris hinta yksikkohinta
        cena cena_jednostkowa cena_za_kus jednotkova_cena ar egysegar
        pret pret_unitar fiyat birim_fiyat цена τιμη السعر விலை
        selling_price vk_preis preis_pro_stuck preis_je_stuck prix_de_vente precio_venta
        precio_de_venta pvp
    """,
    "currency": """
        currency order_currency currency_code iso_currency
        wahrung waehrung devise moneda valuta munteenheid moeda valuutta waluta mena
        penznem para_birimi валюта νομισμα العملة நாணயம்
    """,
}
_ITEM_NAMES: Final = {
    "id": """
        id item_id product_id id_product productid product_code product_number product_no
        item_number item_no item_code article_id article_number article_no
        artikelnummer artikelnr artikel_id produktnummer produkt_id produktnr
        code_article id_produit reference_produit codigo_producto id_producto
        codigo_articulo codice_prodotto id_prodotto codice_articolo
        productnummer productcode varenummer varenr artikkelnummer
        codigo_produto id_produto tuotenumero tuotekoodi kod_produktu id_produktu
        kod_zbozi cislo_produktu termekkod termek_azonosito cikkszam
        cod_produs id_produs urun_kodu urun_id артикул код_товара
        κωδικος_προιοντος رقم_المنتج பொருள்_எண் sku reference model
        art_nr art_no stock_code sku_code code_produit reference_article
        ref_article ref_produit numero_article n°_article codigo_de_articulo
        codigo_de_producto referencia_producto referencia code codigo
    """,
    "title": """
        title name product_name product_title item_name article_name
        bezeichnung artikelbezeichnung artikelname produktname produktbezeichnung titel
        nom titre nom_du_produit designation libelle
        nombre titulo nombre_del_producto denominacion
        nome titolo nome_prodotto denominazione
        naam productnaam nome_do_produto
        navn varenavn produktnavn namn produktnamn artikelnamn benamning
        nimi tuotenimi tuotteen_nimi nazwa nazwa_produktu nazev nazev_produktu
        nev megnevezes termeknev nume denumire nume_produs
        ad urun_adi baslik название наименование ονομα τιτλος الاسم பெயர்
        article_title item_title kurzbezeichnung artikeltitel nom_produit nom_article
        nom_de_l'article intitule libelle_produit nombre_producto nombre_articulo
        nombre_del_articulo article artikel product produkt produit producto articulo
    """,
    "product_url": """
        product_url url link product_link permalink deep_link page_url
        produkt_url produktlink artikel_url lien url_produit enlace url_del_producto
        collegamento url_prodotto productlink produktlank tuotelinkki adres_url odkaz
        hivatkozas legatura baglanti ссылка συνδεσμος الرابط இணைப்பு
        shop_link shop_url shoplink product_page page_link item_url item_link article_url
        web_link weblink produktseite artikellink artikelseite lien_produit url_article
        page_produit lien_boutique enlace_producto url_producto pagina_producto
        enlace_tienda
    """,
    "image_url": """
        image_url image image_link picture picture_url photo main_image base_image
        image_src thumbnail bild bild_url bildlink produktbild
        url_image photo_produit imagen url_imagen foto immagine url_immagine
        afbeelding afbeelding_url imagem url_imagem billede bilde kuva zdjecie obrazek
        kep imagine resim gorsel изображение картинка εικονα الصورة படம்
        product_image main_picture picture_link photo_url image1 bild1 hauptbild
        bildadresse produktfoto foto_url image_produit image_principale lien_image
        imagen_principal enlace_imagen url_foto
    """,
    "price": """
        price selling_price current_price regular_price retail_price
        price_tax_included price_incl_tax
        preis verkaufspreis bruttopreis prix prix_ttc prix_de_vente precio precio_venta
        prezzo prezzo_vendita prijs verkoopprijs preco preco_venda pris salgspris
        forsaljningspris hinta myyntihinta cena cena_brutto cena_s_dph ar eladasi_ar
        pret pret_vanzare fiyat satis_fiyati цена τιμη السعر விலை
        gross_price unit_price item_price vk vk_preis ladenpreis endpreis einzelpreis
        prix_vente prix_unitaire prix_public pvp precio_de_venta precio_unitario
    """,
    "list_price": """
        list_price compare_at_price msrp rrp original_price uvp listenpreis
        unverbindliche_preisempfehlung prix_barre prix_conseille precio_original
        prezzo_di_listino adviesprijs preco_original vejledende_pris rekommenderat_pris
        ovh cena_katalogowa doporucena_cena lista_ar pret_de_lista liste_fiyati
        old_price was_price streichpreis alter_preis ancien_prix prix_avant_remise
        precio_anterior precio_antes
    """,
    "cost": """
        cost cost_price purchase_price wholesale_price cost_per_item einkaufspreis
        prix_d'achat prix_achat precio_de_coste costo prezzo_acquisto inkoopprijs
        preco_de_custo kostpris inkopspris ostohinta cena_zakupu nakupni_cena
        beszerzesi_ar pret_achizitie maliyet себестоимость
        buying_price ek ek_preis einstandspreis prix_de_revient cout precio_compra
        precio_de_compra coste
    """,
    "availability": """
        availability stock_status in_stock is_in_stock verfugbarkeit disponibilite
        disponibilidad disponibilita beschikbaarheid disponibilidade tilgaengelighed
        tilgjengelighet tillganglighet saatavuus dostepnosc dostupnost elerhetoseg
        disponibilitate stok_durumu наличие διαθεσιμοτητα التوفر கிடைக்கும்தன்மை
        available lieferbar lieferbarkeit verfugbar lieferstatus dispo disponible
        etat_stock estado_stock
    """,
    "stock_qty": """
        stock_qty stock stock_quantity inventory inventory_quantity quantity_available
        available_quantity qty quantity on_hand qty_on_hand quantity_in_stock units_in_stock
        inventory_level current_stock
        lagerbestand bestand lagermenge verfugbare_menge lager
        quantite quantite_en_stock en_stock existencias cantidad inventario giacenza
        quantita_disponibile scorte voorraad voorraadaantal estoque quantidade
        lagerbeholdning lagersaldo lagerantal varasto varastosaldo
        stan_magazynowy stan ilosc sklad skladem pocet_kusu keszlet raktarkeszlet
        stoc cantitate stok stok_miktari остаток остатки αποθεμα المخزون இருப்பு
        stock_level stock_count stock_on_hand free_stock available_units units pieces
        lagerstand stuckzahl anzahl menge stock_disponible stock_actuel stock_actual
        unidades_en_stock unidades
    """,
    "categories": """
        categories category product_category product_categories category_path kategorie
        kategorien warengruppe categorie categoria categorias categorieen kategori
        kategorier kategoria kategorie_produktu osasto tuoteryhma kategoriak categorii
        kategoriler категория κατηγορια الفئة வகை
        product_group product_groups product_type item_category item_group article_group
        category_name main_category department group produktgruppe artikelgruppe
        warengruppen hauptwarengruppe produktkategorie sortiment rubrik abteilung gruppe
        famille famille_produit famille_de_produits rayon groupe groupe_de_produits
        categorie_produit familia grupo grupo_de_productos seccion departamento
        categoria_producto
    """,
    "description": """
        description long_description product_description body body_html beschreibung
        produktbeschreibung artikelbeschreibung descriptif descripcion descrizione
        omschrijving beschrijving descricao beskrivelse beskrivning kuvaus opis popis
        leiras descriere aciklama описание περιγραφη الوصف விளக்கம்
        details langtext produkttext description_longue description_produit
        descripcion_larga descripcion_producto
    """,
    "brand": """
        brand vendor manufacturer manufacturer_name marke hersteller marque fabricant
        marca fabricante produttore merk fabrikant maerke merke marke varumarke
        tillverkare merkki valmistaja marka producent znacka vyrobce gyarto
        producator uretici бренд производитель μαρκα العلامة பிராண்ட்
        brand_name markenname nom_marque nombre_marca
    """,
    "gtin": """
        gtin ean upc isbn barcode ean13 ean_code strichcode code_barres codigo_de_barras
        codice_a_barre barkod штрихкод
        gtin13 gtin14 ean_nummer ean_nr ean_gtin code_ean codigo_ean codigo_barras
    """,
    "color": """
        color colour colors colours farbe couleur colore kleur cor farve farge farg vari
        kolor barva szin culoare renk цвет χρωμα اللون நிறம்
    """,
    "size": """
        size sizes grosse groesse taille talla taglia maat tamanho storrelse storlek
        koko rozmiar velikost meret marime beden размер μεγεθος المقاس
    """,
    "material": """
        material materials materiaux matiere materiale materiaal materiali materialer
        materiaali materialy anyag malzeme материал υλικο المادة பொருள்
    """,
    "sku": "sku product_sku item_sku variant_sku",
}


def _accepted_names_by_field(
    names: Mapping[str, str], fields: Sequence[str]
) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType(
        {
            field: tuple(dict.fromkeys((field, *names.get(field, "").split())))
            for field in fields
        }
    )


def order_column_names(fields: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the accepted names of each field of an order line, ours first."""
    return _accepted_names_by_field(_ORDER_NAMES, fields)


def item_column_names(fields: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the accepted names of each field of an item, ours first."""
    return _accepted_names_by_field(_ITEM_NAMES, fields)


ORDER_FIELDS: Final = (
    ("The order", ("order_id", "timestamp", "customer_id")),
    ("What was bought", ("item_id", "quantity", "price", "currency")),
)
ITEM_FIELDS: Final = (
    ("The product", ("id", "title", "description", "sku", "gtin")),
    ("Price", ("price", "list_price", "cost", "prices")),
    (
        "Planned price",
        ("planned_price", "planned_price_from", "planned_price_until"),
    ),
    ("Stock", ("availability", "stock_qty", "available_from", "available_until")),
    ("Page and picture", ("product_url", "image_url")),
    (
        "Categories and attributes",
        (
            *("categories", "category_ids", "brand", "color", "size", "material"),
            "attributes",
        ),
    ),
)
FIELD_GROUPS: Final = MappingProxyType({"orders": ORDER_FIELDS, "items": ITEM_FIELDS})
"""The fields of each kind of file, in groups as a merchant maps them."""

FIELD_TITLES: Final = MappingProxyType(
    {
        "order_id": "Order number",
        "timestamp": "Date of the order",
        "customer_id": "Customer number",
        "item_id": "Product id",
        "quantity": "Units",
        "id": "Product id",
        "sku": "SKU",
        "gtin": "GTIN, EAN or ISBN",
        "title": "Product name",
        "list_price": "Price before a reduction",
        "cost": "Purchase price",
        "prices": "Prices in other currencies or for customer groups",
        "planned_price": "Price on days ahead",
        "planned_price_from": "First day of that price",
        "planned_price_until": "Last day of that price",
        "availability": "Availability",
        "stock_qty": "Units in stock",
        "available_from": "On sale from",
        "available_until": "On sale until",
        "product_url": "Address of the page",
        "image_url": "Address of the picture",
        "category_ids": "Category ids",
        "attributes": "Further attributes",
        "row": "Row",
        "change": "Change",
    }
)
"""What a merchant reads in place of a field's name, where it is not the same."""


def field_title(name: str) -> str:
    """Return a field's name in words."""
    return FIELD_TITLES.get(name) or name.replace("_", " ").capitalize()
