"""A file is known by what stands in it, whatever its name is."""

import io

import pytest

from productrecs.entrypoints.cli.feeds.kinds import Kind, UnknownFileKindError, recognise


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("id,title,price\n", Kind.CSV),
        ("id;title;image_url\n", Kind.CSV),
        ("id,title,handle,image_url\n", Kind.CSV),
        ("id\n", Kind.CSV),
        ("Handle,Title,Variant Price\n", Kind.SHOPIFY),
        ("\ufeffTitle,URL handle,Price\n", Kind.SHOPIFY),
        ("ID,Type,SKU,Name,Regular price\n", Kind.WOOCOMMERCE),
        ("ID;SKU;Name;Published;In stock?\n", Kind.WOOCOMMERCE),
        ("ID,Name,Regular price,Categories\n", Kind.WOOCOMMERCE),
        ("ID,Name,Categories\n", Kind.WOOCOMMERCE),
        ("SKU,Name,Regular price\n", Kind.WOOCOMMERCE),
        ("ID;Name;Regulärer Preis\n", Kind.WOOCOMMERCE),
        ("ID,UGS,Nom,Tarif régulier\n", Kind.WOOCOMMERCE),
        ("ID,Nombre,Precio normal\n", Kind.WOOCOMMERCE),
        ("ID,Nome,Prezzo di listino\n", Kind.WOOCOMMERCE),
        ("ID,Naam,Reguliere prijs\n", Kind.WOOCOMMERCE),
        ("id,title,Categories,price\n", Kind.CSV),
        ("id,title,brand,color\n", Kind.CSV),
        ("ID,Titel,Preis\n", Kind.CSV),
        ("id,name,price\n", Kind.CSV),
        ("sku,attribute_set_code,product_type,name,price\n", Kind.MAGENTO),
        ("sku;product_type;url_key\n", Kind.MAGENTO),
        ("id,sku,product_type,url_key,image_url\n", Kind.CSV),
        ("id\ttitle\tlink\timage_link\tprice\n", Kind.GOOGLE),
        ("g:id,g:title,g:link\n", Kind.GOOGLE),
        ('\ufeff<?xml version="1.0"?><rss/>', Kind.GOOGLE),
        ("  \n<feed/>", Kind.GOOGLE),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_is_known_by_its_beginning(content: str, kind: Kind, encoding: str) -> None:
    file = io.BytesIO(content.replace("\ufeff", "").encode(encoding))

    assert recognise(file, ".txt") is kind


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('[{"id": "a"}]', Kind.JSON),
        ('{\n"items": []}', Kind.JSON),
        ('\ufeff{"id": "a"}\n{"id": "b"}\n', Kind.JSONL),
    ],
)
def test_json_is_known_without_an_ending(content: str, kind: Kind) -> None:
    assert recognise(io.BytesIO(content.encode()), "") is kind


def test_a_file_of_json_is_known_by_its_ending() -> None:
    assert recognise(io.BytesIO(b"nothing"), ".jsonl") is Kind.JSONL
    assert recognise(io.BytesIO(b"nothing"), ".json") is Kind.JSON


@pytest.mark.parametrize("content", ["title,price\nTent,9\n", "\x00\x01\x02"])
def test_what_tells_nothing_is_refused_with_a_way_out(content: str) -> None:
    with pytest.raises(UnknownFileKindError, match=r"no column id.*--format.*--mapping"):
        recognise(io.BytesIO(content.encode()), ".csv")
