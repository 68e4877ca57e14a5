"""Format detection: by content, whatever the file name."""

import io

import pytest

from productrecs.features.imports.feeds.format_detection import (
    ItemFileFormat,
    UnknownItemFormatError,
    detect_item_format,
)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("id,title,price\n", ItemFileFormat.CSV),
        ("id;title;image_url\n", ItemFileFormat.CSV),
        ("id,title,handle,image_url\n", ItemFileFormat.CSV),
        ("id\n", ItemFileFormat.CSV),
        ("Handle,Title,Variant Price\n", ItemFileFormat.SHOPIFY),
        ("\ufeffTitle,URL handle,Price\n", ItemFileFormat.SHOPIFY),
        ("ID,Type,SKU,Name,Regular price\n", ItemFileFormat.WOOCOMMERCE),
        ("ID;SKU;Name;Published;In stock?\n", ItemFileFormat.WOOCOMMERCE),
        ("ID,Name,Regular price,Categories\n", ItemFileFormat.WOOCOMMERCE),
        ("ID,Name,Categories\n", ItemFileFormat.WOOCOMMERCE),
        ("SKU,Name,Regular price\n", ItemFileFormat.WOOCOMMERCE),
        ("ID;Name;Regulärer Preis\n", ItemFileFormat.WOOCOMMERCE),
        ("ID,UGS,Nom,Tarif régulier\n", ItemFileFormat.WOOCOMMERCE),
        ("ID,Nombre,Precio normal\n", ItemFileFormat.WOOCOMMERCE),
        ("ID,Nome,Prezzo di listino\n", ItemFileFormat.WOOCOMMERCE),
        ("ID,Naam,Reguliere prijs\n", ItemFileFormat.WOOCOMMERCE),
        ("id,title,Categories,price\n", ItemFileFormat.CSV),
        ("id,title,brand,color\n", ItemFileFormat.CSV),
        ("ID,Titel,Preis\n", ItemFileFormat.CSV),
        ("id,name,price\n", ItemFileFormat.CSV),
        ("sku,attribute_set_code,product_type,name,price\n", ItemFileFormat.MAGENTO),
        ("sku;product_type;url_key\n", ItemFileFormat.MAGENTO),
        ("id,sku,product_type,url_key,image_url\n", ItemFileFormat.CSV),
        ("id\ttitle\tlink\timage_link\tprice\n", ItemFileFormat.GOOGLE),
        ("g:id,g:title,g:link\n", ItemFileFormat.GOOGLE),
        ('\ufeff<?xml version="1.0"?><rss/>', ItemFileFormat.GOOGLE),
        ("  \n<feed/>", ItemFileFormat.GOOGLE),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_is_known_by_its_beginning(
    content: str, kind: ItemFileFormat, encoding: str
) -> None:
    file = io.BytesIO(content.replace("\ufeff", "").encode(encoding))

    assert detect_item_format(file, ".txt") is kind


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('[{"id": "a"}]', ItemFileFormat.JSON),
        ('{\n"items": []}', ItemFileFormat.JSON),
        ('\ufeff{"id": "a"}\n{"id": "b"}\n', ItemFileFormat.JSONL),
    ],
)
def test_json_is_known_without_an_ending(content: str, kind: ItemFileFormat) -> None:
    assert detect_item_format(io.BytesIO(content.encode()), "") is kind


def test_a_file_of_json_is_known_by_its_ending() -> None:
    assert detect_item_format(io.BytesIO(b"nothing"), ".jsonl") is ItemFileFormat.JSONL
    assert detect_item_format(io.BytesIO(b"nothing"), ".json") is ItemFileFormat.JSON


@pytest.mark.parametrize("content", ["title,price\nTent,9\n", "\x00\x01\x02"])
def test_an_unknown_format_is_refused_with_the_options_that_help(content: str) -> None:
    with pytest.raises(UnknownItemFormatError, match=r"no column id.*--format.*--mapping"):
        detect_item_format(io.BytesIO(content.encode()), ".csv")
