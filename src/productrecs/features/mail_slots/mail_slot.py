"""Mail slot: signed addresses of a placement's products, and which mail shows which.

A mail is what one recipient gets of one campaign. Its products are chosen when it is opened
first, and kept for a week, so that a link leads to the product that its picture showed. A
product that can no longer be bought is replaced; the others stay where they are.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from productrecs.core.errors import ProductRecsError
from productrecs.core.ids import StoreId, first_control_code_point, visitor_hash
from productrecs.tenancy.accounts.api_keys import SecretKeyHashes, sign_address

MAX_POSITIONS: Final = 12
KEPT_DAYS: Final = 7
"""How many days the products of a mail stay the same."""

COUNTED_DAYS: Final = 30
WIDGET_PREFIX: Final = "mail-"
"""Before the placement's name, the widget that clicks in mails are counted under."""

PREVIEW_CAMPAIGN: Final = "dashboard-preview"
"""The campaign of the dashboard's preview, which is not counted."""

_SIGNATURE_DIGITS: Final = 32
_MAX_ID: Final = 255
_MAX_CAMPAIGN: Final = 100
# What a mail tool leaves where it has no value: *|UNIQID|*, {{ person.id }}, [ID], %id%.
_UNFILLED: Final = re.compile(r"\*\||\|\*|\{[{%$]|\{\w+\}|^\[.*\]$|^%.*%$|^<.*>$")
_PROXY: Final = re.compile(rb"googleimageproxy|yahoomailproxy|ms-office-proxy", re.I)
_APPLE_PROXY: Final = b"Mozilla/5.0"  # and nothing after it


class UnknownMailSlotError(ProductRecsError):
    """There is no slot at an address: they are off, or the signature is wrong."""


class MailResource(StrEnum):
    """What an address of a slot returns; the value is part of its path."""

    IMAGE = "image"
    LINK = "link"
    PRODUCTS = "products"


class MailProduct(NamedTuple):
    """A product of a mail, and the engine that suggested it."""

    item_id: str
    source: str


class CampaignMail(NamedTuple):
    """What one recipient gets of one campaign in a slot; neither is stored as sent."""

    recipient: int  # hash of the shopper's id; 0 without one
    digest: str

    @classmethod
    def from_parameters(
        cls, slot: str, user_id: str, campaign: str, item_ids: Sequence[str]
    ) -> "CampaignMail":
        """Return the mail that the parameters of an address name."""
        parts = "\0".join((slot, user_id, campaign, *item_ids))
        digest = hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(visitor_hash(user_id) if user_id else 0, digest[:32])


class MailProductSelection(NamedTuple):
    """The products that a mail shows, in the order of their positions."""

    store_id: StoreId
    mail: CampaignMail
    day: int  # of UTC, since 1970: when they were chosen first
    products: tuple[MailProduct, ...]

    @property
    def key(self) -> None:
        """Return None: a later choice of the same mail replaces an earlier one."""


class MailEngagement(NamedTuple):
    """A picture that was loaded, or a link that was clicked."""

    store_id: StoreId
    slot: str
    day: int
    part: MailResource
    is_proxy: bool

    @property
    def key(self) -> None:
        """Return None: each call counts."""


def usable_user_id_or_empty(user_id: str) -> str:
    """Return the shopper's id; empty for a tag without value, and for an e-mail address."""
    is_usable = (
        len(user_id) <= _MAX_ID
        and "@" not in user_id
        and not _UNFILLED.search(user_id)
        and first_control_code_point(user_id) is None
    )
    return user_id if is_usable else ""


def is_mail_proxy(agent: bytes) -> bool:
    """Return whether a mail provider's proxy loads a picture, read or not."""
    return agent == _APPLE_PROXY or _PROXY.search(agent) is not None


def refresh_mail_products(
    kept: Sequence[MailProduct],
    may_show: Callable[[str], bool],
    fresh: Sequence[MailProduct],
) -> tuple[MailProduct, ...]:
    """Return the products of a mail: those kept that may be shown, the others replaced.

    Replacements and further products come from `fresh`, best first; none is there twice.
    A product without replacement stays, so that the others keep their positions.
    """
    listed = {product.item_id for product in kept}
    waiting = [
        product
        for product in fresh
        if product.item_id not in listed and may_show(product.item_id)
    ]
    filled = [
        product if may_show(product.item_id) or not waiting else waiting.pop(0)
        for product in kept
    ]
    return tuple([*filled, *waiting][:MAX_POSITIONS])


def slot_path(part: MailResource, slot: str, parameters: str) -> str:
    """Return the path of a slot's address with these parameters, encoded as they are."""
    return f"/v1/mail/{part}/{quote(slot, safe='')}?{parameters}"


def sign_slot(secret_hash: str, slot: str) -> str:
    """Return the signature of a slot's addresses."""
    return sign_address(secret_hash, _subject(slot))[:_SIGNATURE_DIGITS]


def is_slot_signature_valid(
    secrets: SecretKeyHashes, slot: str, signature: str, now_ms: int
) -> bool:
    """Return whether a slot's signature is right; a replaced key counts while accepted."""
    return secrets.accepts_signature(_subject(slot), signature, now_ms, _SIGNATURE_DIGITS)


def _subject(slot: str) -> str:
    return f"mail-slot:{slot}"


def with_mail_utm_parameters(
    url: str, slot: str, position: int, campaign: str, *, counts_on_page: bool = False
) -> str:
    """Return a page's address with the parameters by which web analytics know a mail.

    Those that the address has already stay. With `counts_on_page` the widget script counts
    the click, in the session of a reader whom the service does not know.
    """
    parts = urlsplit(url)
    present = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    added = {
        "utm_source": "productrecs",
        "utm_medium": "email",
        "utm_campaign": campaign[:_MAX_CAMPAIGN] or slot,
        "utm_content": f"{slot}-{position}",
    }
    if counts_on_page:
        added["pr_mail"] = slot
    query = urlencode({name: added[name] for name in added if name not in present})
    joined = "&".join(filter(None, (parts.query, query)))
    return urlunsplit(parts._replace(query=joined))
