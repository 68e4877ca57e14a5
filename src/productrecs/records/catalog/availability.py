"""Availability: parses merchants' spellings and decides which items can be bought."""

import re
from enum import StrEnum
from types import MappingProxyType

from productrecs.core.errors import ProductRecsError


class UnknownAvailabilityError(ProductRecsError):
    """The availability is none of the known words; the message lists them."""


class Availability(StrEnum):
    """The five states a merchant can give an item."""

    IN_STOCK = "in_stock"
    OUT_OF_STOCK = "out_of_stock"
    PREORDER = "preorder"
    BACKORDER = "backorder"
    DISCONTINUED = "discontinued"


class HiddenReason(StrEnum):
    """Why an item cannot be shown right now."""

    DELETED = "deleted"  # or never pushed
    DISCONTINUED = "discontinued"
    SOLD_OUT = "sold_out"
    NOT_YET = "not_yet"  # its window has not opened
    NO_LONGER = "no_longer"  # its window has closed


SPELLINGS = MappingProxyType(
    {
        # our own words and Google Merchant's, which differ in blanks only
        "instock": Availability.IN_STOCK,
        "outofstock": Availability.OUT_OF_STOCK,
        "preorder": Availability.PREORDER,
        "backorder": Availability.BACKORDER,
        "discontinued": Availability.DISCONTINUED,
        "availablefororder": Availability.BACKORDER,
        # WooCommerce
        "onbackorder": Availability.BACKORDER,
        # the rest of schema.org's ItemAvailability
        "limitedavailability": Availability.IN_STOCK,
        "onlineonly": Availability.IN_STOCK,
        "madetoorder": Availability.BACKORDER,
        "presale": Availability.PREORDER,
        "instoreonly": Availability.OUT_OF_STOCK,
        "reserved": Availability.OUT_OF_STOCK,
        "soldout": Availability.OUT_OF_STOCK,
    }
)
"""The availability for online buyers of each accepted spelling, without blanks."""

_VOCABULARY = re.compile(r"(?:https?://(?:www\.)?schema\.org/|schema:)", re.IGNORECASE)
_LONGEST = 200  # characters; what is longer is no word, and is not searched
_BLANKS = re.compile(r"[\s_-]+")
_AS_GIVEN = MappingProxyType({state.value: state for state in Availability})
_BUYABLE = frozenset({Availability.IN_STOCK, Availability.PREORDER, Availability.BACKORDER})


def parse_availability(text: str) -> Availability:
    """Return the state meant by a schema.org, Google Merchant or WooCommerce spelling.

    Case, spaces, underscores and hyphens do not matter.

    Raises:
        UnknownAvailabilityError: when the text is none of the known spellings.
    """
    exact = _AS_GIVEN.get(text)
    if exact is not None:
        return exact
    bare = text.strip().rstrip("/") if len(text) <= _LONGEST else ""
    prefix = _VOCABULARY.match(bare)
    word = _BLANKS.sub("", bare[prefix.end() :] if prefix else bare).lower()
    try:
        return SPELLINGS[word]
    except KeyError:
        known = ", ".join(Availability)
        message = f"availability must be one of {known}, or a schema.org spelling of it"
        raise UnknownAvailabilityError(message) from None


def effective_availability(
    given: Availability | None, stock_qty: int | None
) -> Availability:
    """Return the state that counts: a given one wins, else no stock is out of stock.

    Only a stock of exactly 0 counts as none; below it a shop is selling on order.
    """
    if given is not None:
        return given
    return Availability.OUT_OF_STOCK if stock_qty == 0 else Availability.IN_STOCK


def is_buyable(state: Availability) -> bool:
    """Return whether a shopper can order the item now, even if it is delivered later."""
    return state in _BUYABLE
