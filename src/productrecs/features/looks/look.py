"""Look: its fields, limits, states, validation and re-encoded picture."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder

MAX_LOOKS: Final = 5_000
MAX_HOTSPOTS: Final = 20
MAX_VERSIONS: Final = 20
"""The number of earlier versions stored per look."""
LONGEST_LABEL: Final = 80
_LONGEST_TITLE, _LONGEST_ID, _LONGEST_URL = 200, 255, 2_000
_SIDES: Final = 4
_SLACK: Final = 1e-6  # rounding tolerance for a box at the picture's edge

Box = tuple[float, float, float, float]
"""x, y, width and height as fractions of the upright picture, from its top left."""


class InvalidLookError(ProductRecsError):
    """A look is invalid or one too many; the message names the field and valid values."""


class UnknownLookError(ProductRecsError):
    """The store has no look of this id."""


class UnknownLookPictureError(ProductRecsError):
    """The store has no such picture."""


class LookState(StrEnum):
    """The state of a look; only a published one is shown."""

    DRAFT = "draft"
    PUBLISHED = "published"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Hotspot:
    """One product in the picture: its label, its box, and its item."""

    label: str
    box: Box
    item_id: str


@dataclass(frozen=True, slots=True)
class LookContent:
    """The merchant's part of a look; `item_id` is the product whose page shows it.

    Its picture is either at `image_url`, or stored by the service.
    """

    item_id: str
    image_url: str = ""
    title: str = ""
    hotspots: tuple[Hotspot, ...] = ()
    picture_id: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """A stored look."""

    look_id: int
    content: LookContent
    state: LookState
    published_at: int | None  # UTC ms; of the last time it was published
    updated_at: int
    updated_by: str = ""  # an e-mail; "" for a command


@dataclass(frozen=True, slots=True)
class LookVersion:
    """A look before a change of its content."""

    version: int
    content: LookContent
    updated_at: int
    updated_by: str


def validate_look(content: LookContent) -> LookContent:
    """Return a validated look in its stored form.

    Raises:
        InvalidLookError: when it is invalid.
    """
    _check_picture(content)
    _check_id("item_id", content.item_id)
    _check_text("title", content.title, _LONGEST_TITLE)
    if len(content.hotspots) > MAX_HOTSPOTS:
        message = f"a look may have at most {MAX_HOTSPOTS} hotspots"
        raise InvalidLookError(message)
    for number, hotspot in enumerate(content.hotspots):
        where = f"hotspots.{number}"
        _check_text(f"{where}.label", hotspot.label, LONGEST_LABEL)
        _check_id(f"{where}.item_id", hotspot.item_id)
        validate_box(hotspot.box, f"{where}.bbox")
    return content


def validate_box(box: Sequence[float], where: str = "bbox") -> Box:
    """Return a validated box.

    Raises:
        InvalidLookError: when it is not within the picture.
    """
    if len(box) == _SIDES and all(math.isfinite(side) for side in box):
        x, y, width, height = box
        ends = x + width <= 1 + _SLACK and y + height <= 1 + _SLACK
        if x >= 0 and y >= 0 and width > 0 and height > 0 and ends:
            return x, y, width, height
    message = (
        f"{where} must be [x, y, width, height], fractions of the picture from 0 to 1, "
        "and lie in it"
    )
    raise InvalidLookError(message)


def _check_picture(content: LookContent) -> None:
    if bool(content.image_url) == bool(content.picture_id):
        message = "a look needs one picture: an image_url, or an image that is stored here"
        raise InvalidLookError(message)
    if content.picture_id:
        return
    if not re.fullmatch(r"(https?:/)?/[^/\s\\<>\"][^\s\\<>\"]*", content.image_url):
        message = "a look's image_url must be an http or https address, or a path (/...)"
        raise InvalidLookError(message)
    _check_text("image_url", content.image_url, _LONGEST_URL)


def _check_id(where: str, text: str) -> None:
    if not text:
        message = f"{where} must name a product"
        raise InvalidLookError(message)
    _check_text(where, text, _LONGEST_ID)


def _check_text(where: str, text: str, limit: int) -> None:
    if len(text) > limit or "\0" in text:
        message = f"{where} may have at most {limit} characters, and no NUL"
        raise InvalidLookError(message)


@dataclass(frozen=True, slots=True)
class SanitizedPicture:
    """A picture in the form that the service shows."""

    picture_id: str  # a hash of the content: equal pictures have equal ids
    content: bytes  # a JPEG
    width: int
    height: int


def sanitize_picture(picture_bytes: bytes, decoder: SandboxedDecoder) -> SanitizedPicture:
    """Return the re-encoded picture that is stored for a merchant's file.

    Raises:
        UnreadablePictureError: when it is not a valid JPEG, PNG, WebP, AVIF or GIF.
        PictureTooLargeError: when it has too many pixels.
    """
    content, width, height = decoder.reencode_as_jpeg(picture_bytes)
    return SanitizedPicture(
        hashlib.sha256(content).hexdigest()[:32], content, width, height
    )
