"""Cards: the JSON of products, encoded once when an item changes."""

from typing import Final

import msgspec

from productrecs.records.catalog.catalog_view import CardFields

_encode: Final = msgspec.json.Encoder().encode
_SAFE_SCHEMES: Final = ("http:", "https:")
_IGNORED_BY_BROWSERS: Final = dict.fromkeys([*range(33), 127])


class _ProductCardFields(msgspec.Struct):
    id: str
    title: str
    price: float | int | None
    image_url: str | None
    product_url: str | None


def encode_card_start(fields: CardFields) -> bytes:
    """Return the start of a product's JSON object: everything except source and score."""
    price = fields.price
    card = _ProductCardFields(
        id=fields.item_id,
        title=fields.title,
        price=int(price) if price is not None and price.is_integer() else price,
        image_url=safe_url(fields.image_url),
        product_url=safe_url(fields.product_url),
    )
    return _encode(card)[:-1]


def safe_url(url: str | None) -> str | None:
    """Return the URL if a page may link to it (http, https, relative); else None."""
    if url is None:
        return None
    cleaned_url = url.translate(
        _IGNORED_BY_BROWSERS
    ).lower()  # as a browser reads the scheme
    scheme = cleaned_url.split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]
    if ":" in scheme and not scheme.startswith(_SAFE_SCHEMES):
        return None
    return url


def title_of(card: bytes) -> str:
    """Return the title in a card."""
    return msgspec.json.decode(card + b"}", type=_ProductCardFields).title


def product_url_of(card: bytes) -> str | None:
    """Return the address of a card's product."""
    return msgspec.json.decode(card + b"}", type=_ProductCardFields).product_url
