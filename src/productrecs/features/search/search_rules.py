"""Search rules: synonyms, pins, hidden products and redirects, and their validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from enum import StrEnum
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.core.iso_dates import (
    InvalidDateError,
    normalise_date_or_datetime,
    window_end_ms,
    window_start_ms,
)

MAX_SYNONYMS: Final = 2_000
MAX_RULES: Final = 2_000
MIN_WORDS, MAX_WORDS = 2, 20  # number of texts of a synonym
MAX_ITEMS: Final = 50
LONGEST_TEXT: Final = 256
LONGEST_ADDRESS: Final = 8_192


class InvalidSynonymOrRuleError(ProductRecsError):
    """A synonym or a rule is invalid; the message says what is valid."""


class UnknownSynonymOrRuleError(ProductRecsError):
    """The store has no synonym, or no rule, of this id."""


class SearchRuleAction(StrEnum):
    """What a rule does where its query is searched for."""

    PIN = "pin"  # its products come first, in their order
    HIDE = "hide"  # its products are left out
    REDIRECT = "redirect"  # the page goes to its address


@dataclass(frozen=True, slots=True)
class Synonym:
    """Synonymous texts; one-way: the first finds the others, not the reverse."""

    texts: tuple[str, ...]
    one_way: bool = False


@dataclass(frozen=True, slots=True)
class SearchRule:
    """A rule for one query; dates are inclusive, in the store's time zone."""

    action: SearchRuleAction
    query: str
    items: tuple[str, ...] = ()
    address: str | None = None
    starts: str | None = None
    ends: str | None = None

    def is_active(self, now_ms: int, zone: tzinfo) -> bool:
        """Return whether the rule is in force."""
        if self.starts and now_ms < window_start_ms(self.starts, zone):
            return False
        return not self.ends or now_ms <= window_end_ms(self.ends, zone)


def validate_synonym(texts: Sequence[str], *, one_way: bool) -> Synonym:
    """Return a synonym in its stored form.

    Raises:
        InvalidSynonymOrRuleError: when it does not have two different texts.
    """
    distinct_texts = tuple(dict.fromkeys(" ".join(text.split()) for text in texts))
    if "" in distinct_texts:
        message = "a text of the synonym is empty; fill in each, such as couch and sofa"
        raise InvalidSynonymOrRuleError(message)
    if not MIN_WORDS <= len(distinct_texts) <= MAX_WORDS or not all(
        map(_is_text, distinct_texts)
    ):
        message = (
            f"a synonym is 2 to {MAX_WORDS} different texts of up to {LONGEST_TEXT} "
            "characters, such as couch sofa"
        )
        raise InvalidSynonymOrRuleError(message)
    return Synonym(distinct_texts, one_way)


def validate_search_rule(rule: SearchRule) -> SearchRule:
    """Return a rule in its stored form.

    Raises:
        InvalidSynonymOrRuleError: when it is invalid.
    """
    query = " ".join(rule.query.split())
    if not _is_text(query):
        message = f"the query of a rule may have at most {LONGEST_TEXT} characters"
        raise InvalidSynonymOrRuleError(message)
    if rule.action is SearchRuleAction.REDIRECT:
        _check_redirect(rule)
    elif not 1 <= len(rule.items) <= MAX_ITEMS or rule.address is not None:
        message = f"{rule.action} needs 1 to {MAX_ITEMS} items, and no address"
        raise InvalidSynonymOrRuleError(message)
    items = tuple(dict.fromkeys(rule.items))
    starts, ends = _normalize_time(rule.starts), _normalize_time(rule.ends)
    return SearchRule(rule.action, query, items, rule.address, starts, ends)


def _check_redirect(rule: SearchRule) -> None:
    address = rule.address or ""
    is_valid = (
        len(address) <= LONGEST_ADDRESS and address.isprintable() and address.isascii()
    )
    if rule.items or not is_valid or not address.startswith(("https://", "http://", "/")):
        message = (
            "a redirect needs the address that it leads to: it begins with https://, "
            "http:// or /, without spaces and accents; and no items"
        )
        raise InvalidSynonymOrRuleError(message)


def _normalize_time(text: str | None) -> str | None:
    try:
        return normalise_date_or_datetime(text) if text else None
    except InvalidDateError as error:
        raise InvalidSynonymOrRuleError(str(error)) from error


def _is_text(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TEXT and "\0" not in text
