"""Catalog products: products and variants in the form of the protocol.

A product is what a shop's page shows: items that differ only in size and colour are its
variants. An item without variants is a product with one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from productrecs.core.currency_digits import digits_after_point
from productrecs.core.html_text import html_to_text, html_to_title
from productrecs.features.assistants.catalog_calls import with_assistant_utm_parameters
from productrecs.records.catalog.availability import Availability, is_buyable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from productrecs.features.assistants.catalog_calls import SelectedOption
    from productrecs.records.catalog.item import Item

GROUP_PREFIX: Final = "variants-of:"
"""Starts the id of a product with variants, before the id of one of them."""

_LONGEST_DESCRIPTION: Final = 5_000
_NAMED_OPTIONS: Final = ("Color", "Size")
_OTHER_OPTION: Final = "Variant"

Options = dict[str, str]
"""The option values of a variant, by the option's name."""


@dataclass(frozen=True, slots=True)
class OfferedItem:
    """An item as it is offered now; its addresses are whole."""

    item: Item
    price: float
    list_price: float | None  # above the price; None: not reduced
    availability: Availability

    @property
    def is_buyable(self) -> bool:
        """Whether it can be bought now."""
        return is_buyable(self.availability)


@dataclass(frozen=True, slots=True)
class OfferedProduct:
    """A product: its id, and the items that are its variants, the featured one first."""

    product_id: str
    variants: Sequence[OfferedItem]
    options: Mapping[str, Options]  # by the id of the item; without variants empty


def build_offered_product(
    product_id: str, variants: Sequence[OfferedItem]
) -> OfferedProduct:
    """Return a product; its options tell all of its variants apart."""
    options: dict[str, Options] = {}
    if len(variants) > 1:
        options = {variant.item.item_id: _options(variant.item) for variant in variants}
        names = set.intersection(*map(set, options.values()))
        options = {
            item_id: {name: label for name, label in own.items() if name in names}
            for item_id, own in options.items()
        }
        if len({tuple(own.items()) for own in options.values()}) < len(variants):
            options = _title_option_by_item_id(variants)
    return OfferedProduct(product_id, variants, options)


def _options(item: Item) -> Options:
    values = zip(_NAMED_OPTIONS, (item.color, item.size), strict=True)
    return {name: labels[0] for name, labels in values if len(labels) == 1}


def _title_option_by_item_id(variants: Sequence[OfferedItem]) -> dict[str, Options]:
    titles = {
        variant.item.item_id: html_to_title(variant.item.title) for variant in variants
    }
    is_unique = len(set(titles.values())) == len(titles)
    return {
        item_id: {_OTHER_OPTION: title if is_unique else f"{title} ({item_id})"}
        for item_id, title in titles.items()
    }


@dataclass(frozen=True, slots=True)
class ProductSerializer:
    """Writes products in the form of the protocol, for one call."""

    currency: str
    seller: str
    agent: str  # the assistant that calls

    def product_fields(self, product: OfferedProduct) -> dict[str, Any]:
        """Return a product with all its variants; the first one stands for it."""
        featured, variants = product.variants[0], product.variants
        item = featured.item
        fields: dict[str, Any] = {
            "id": product.product_id,
            "title": html_to_title(item.title) or item.item_id,
            "description": {"plain": _description(item)},
            "price_range": self._price_range([variant.price for variant in variants]),
            "variants": [
                self._variant_fields(variant, product.options) for variant in variants
            ],
        }
        usual = [variant.list_price or variant.price for variant in variants]
        if any(variant.list_price for variant in variants):
            fields["list_price_range"] = self._price_range(usual)
        fields |= self._url_and_media_fields(item)
        if item.categories:
            fields["categories"] = _categories(item)
        if product.options:
            fields["options"] = [
                {"name": name, "values": [{"label": label} for label in labels]}
                for name, labels in _labels_by_option(product.options).items()
            ]
        details = {
            "brand": item.brand,
            "material": list(item.material),
            "attributes": {name: list(values) for name, values in item.attributes},
        }
        if any(details.values()):
            fields["metadata"] = {name: value for name, value in details.items() if value}
        return fields

    def detail_fields(
        self, product: OfferedProduct, selected: Options, variants: Iterable[OfferedItem]
    ) -> dict[str, Any]:
        """Return a product with variants that fit `selected`, and its options in full."""
        fields = self.product_fields(product)
        fields["variants"] = [
            self._variant_fields(variant, product.options) for variant in variants
        ]
        if product.options:
            fields["selected"] = [
                {"name": name, "label": label} for name, label in selected.items()
            ]
            fields["options"] = [
                {
                    "name": name,
                    "values": [
                        _option_value_fields(product, selected | {name: label}, label)
                        for label in labels
                    ],
                }
                for name, labels in _labels_by_option(product.options).items()
            ]
        return fields

    def _variant_fields(
        self, variant: OfferedItem, all_options: Mapping[str, Options]
    ) -> dict[str, Any]:
        item, options = variant.item, all_options.get(variant.item.item_id, {})
        title = html_to_title(item.title) or item.item_id
        fields: dict[str, Any] = {
            "id": item.item_id,
            "title": " / ".join(options.values()) or title,
            "description": {"plain": _description(item)},
            "price": self._price(variant.price),
            "availability": {
                "available": variant.is_buyable,
                "status": variant.availability.value,
            },
            "seller": {"name": self.seller},
        }
        if variant.list_price is not None:
            fields["list_price"] = self._price(variant.list_price)
        if item.sku:
            fields["sku"] = item.sku
        if item.gtin:
            fields["barcodes"] = [{"type": "GTIN", "value": item.gtin}]
        if options:
            fields["options"] = [
                {"name": name, "label": label} for name, label in options.items()
            ]
        return fields | self._url_and_media_fields(item)

    def _url_and_media_fields(self, item: Item) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if _is_web_address(item.product_url):
            fields["url"] = with_assistant_utm_parameters(
                item.product_url or "", self.agent
            )
        if _is_web_address(item.image_url):
            image = {"type": "image", "url": item.image_url}
            fields["media"] = [image | {"alt_text": html_to_title(item.title)}]
        return fields

    def _price(self, amount: float) -> dict[str, Any]:
        minor_units = round(amount * 10 ** digits_after_point(self.currency))
        return {"amount": minor_units, "currency": self.currency}

    def _price_range(self, amounts: Sequence[float]) -> dict[str, Any]:
        return {"min": self._price(min(amounts)), "max": self._price(max(amounts))}


def _description(item: Item) -> str:
    text = html_to_text(item.description or "")[:_LONGEST_DESCRIPTION]
    return text or html_to_title(item.title) or item.item_id


def _categories(item: Item) -> list[dict[str, str]]:
    return [{"value": name, "taxonomy": "merchant"} for name in item.categories]


def _is_web_address(url: str | None) -> bool:
    return (url or "").lower().startswith(("https://", "http://"))


def _labels_by_option(options_by_variant: Mapping[str, Options]) -> dict[str, list[str]]:
    """Return the labels of each option, in the order of the variants."""
    labels: dict[str, list[str]] = {}
    for own in options_by_variant.values():
        for name, label in own.items():
            if label not in labels.setdefault(name, []):
                labels[name].append(label)
    return labels


def _option_value_fields(
    product: OfferedProduct, selected: Options, label: str
) -> dict[str, Any]:
    fitting = matching_variants(product, selected)
    return {
        "label": label,
        "available": any(variant.is_buyable for variant in fitting),
        "exists": bool(fitting),
    }


def matching_variants(product: OfferedProduct, selected: Options) -> list[OfferedItem]:
    """Return the variants that have all of the selected option values."""
    return [
        variant
        for variant in product.variants
        if selected.items() <= product.options.get(variant.item.item_id, {}).items()
    ]


def relax_selection(
    product: OfferedProduct, selected: Sequence[SelectedOption], preferences: Sequence[str]
) -> Options:
    """Return the selected options that some variant has together.

    Options are given up from the end of `preferences`; those that it does not name first.
    """
    ranks = {name: rank for rank, name in enumerate(preferences)}

    def rank(option: SelectedOption) -> int:
        return ranks.get(option.name, len(ranks))

    kept = {option.name: option.label for option in sorted(selected, key=rank)}
    while kept and not matching_variants(product, kept):
        kept.popitem()
    return kept
