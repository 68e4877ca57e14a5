"""Availability: parses merchants' spellings and decides which items are buyable."""

import re
from enum import StrEnum
from types import MappingProxyType

from productrecs.core.errors import ProductRecsError


class UnknownAvailabilityError(ProductRecsError):
    """The availability is unknown; the message lists the valid words."""


class Availability(StrEnum):
    """The five availability states of an item."""

    IN_STOCK = "in_stock"
    OUT_OF_STOCK = "out_of_stock"
    PREORDER = "preorder"
    BACKORDER = "backorder"
    DISCONTINUED = "discontinued"


class UnavailableReason(StrEnum):
    """The reason why an item is currently hidden."""

    DELETED = "deleted"  # or never pushed
    DISCONTINUED = "discontinued"
    SOLD_OUT = "sold_out"
    NOT_YET = "not_yet"  # before its time window
    NO_LONGER = "no_longer"  # after its time window


SPELLINGS = MappingProxyType(
    {
        # Our own words and Google Merchant's, which differ only in spaces
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
"""The online availability of each accepted spelling, without spaces."""

_VOCABULARY = re.compile(r"(?:https?://(?:www\.)?schema\.org/|schema:)", re.IGNORECASE)
_LONGEST = 200  # characters; longer texts are rejected without a search
_BLANKS = re.compile(r"[\s_-]+")
_AS_GIVEN = MappingProxyType({state.value: state for state in Availability})
_BUYABLE = frozenset({Availability.IN_STOCK, Availability.PREORDER, Availability.BACKORDER})


def parse_availability(text: str) -> Availability:
    """Return the state of a schema.org, Google Merchant or WooCommerce spelling.

    Case, spaces, underscores and hyphens do not matter.

    Raises:
        UnknownAvailabilityError: when the text is not a known spelling.
    """
    exact = _AS_GIVEN.get(text)
    if exact is not None:
        return exact
    stripped = text.strip().rstrip("/") if len(text) <= _LONGEST else ""
    prefix = _VOCABULARY.match(stripped)
    word = _BLANKS.sub("", stripped[prefix.end() :] if prefix else stripped).lower()
    try:
        return SPELLINGS[word]
    except KeyError:
        known_values = ", ".join(Availability)
        message = (
            f"availability must be one of {known_values}, or a schema.org spelling of it"
        )
        raise UnknownAvailabilityError(message) from None


def effective_availability(
    stated: Availability | None, stock_qty: int | None
) -> Availability:
    """Return the effective state: the given one, else out of stock if there is no stock.

    Only a stock of exactly 0 means out of stock; a negative one is a backorder.
    """
    if stated is not None:
        return stated
    return Availability.OUT_OF_STOCK if stock_qty == 0 else Availability.IN_STOCK


def is_buyable(state: Availability) -> bool:
    """Return whether a shopper can order the item now, even with later delivery."""
    return state in _BUYABLE
