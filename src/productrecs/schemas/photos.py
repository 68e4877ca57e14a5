"""Photo schema: a photo as base64 in JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
)

from productrecs.records.pictures.decode_picture import MAX_BYTES, PictureTooLargeError
from productrecs.schemas.field_readers import (
    OptionalSwitch,
    integer_reader,
    integer_schema,
)
from productrecs.schemas.validation_errors import (
    InvalidInputError,
    ValidationProblem,
    validate_body,
)

if TYPE_CHECKING:
    from productrecs.core.errors import ProductRecsError

PHOTO_LIMIT: Final = MAX_BYTES * 4 // 3 + (512 << 10)
"""The limit of the whole body: 10 MiB in base64, line breaks and other fields."""

MAX_RESULTS: Final = 50
DEFAULT: Final = 12

_PREFIX: Final = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)
_BLANKS: Final = "\r\n\t "
_WITHOUT_BLANKS: Final = str.maketrans("", "", _BLANKS)
_SHORTEST: Final = 16


_Num = Annotated[
    int | None,
    PlainValidator(integer_reader(1, MAX_RESULTS)),
    WithJsonSchema(integer_schema(1, MAX_RESULTS)),
]


class PhotoBody(BaseModel):
    """A photo: JPEG, PNG, WebP, AVIF or GIF, up to 10 MiB and 25 megapixels.

    A PNG, WebP or AVIF may have 8.
    """

    model_config = ConfigDict(title="Photo", extra="ignore")

    image: str = Field(
        description=(
            "Base64; a `data:` prefix, line breaks and URL-safe letters are accepted."
        ),
        min_length=_SHORTEST,
    )


class PhotoSearchBody(PhotoBody):
    """A photo, and how many products that look like it are wanted."""

    model_config = ConfigDict(title="PhotoSearch", extra="ignore")

    num: _Num = Field(None, description=f"How many products; default {DEFAULT}.")
    in_stock: OptionalSwitch = Field(
        None, description="Only products that can be bought; null means no."
    )
    regions: OptionalSwitch = Field(
        None,
        description=(
            "Also the photo's regions, each with its products, for a photo that shows "
            "several things; null means no."
        ),
    )


class SubmittedPhotoSearch:
    """An uploaded photo: the file's bytes, and the search options."""

    __slots__ = ("by_region", "data", "in_stock", "num")

    def __init__(self, data: bytes, num: int, *, in_stock: bool, by_region: bool) -> None:
        """Store the photo and the options for the request."""
        self.data = data
        self.num = num
        self.in_stock = in_stock
        self.by_region = by_region


def parse_photo_data(body: object) -> bytes:
    """Return the photo's file in a body, without options.

    Raises:
        InvalidInputError: when it is missing.
        PictureTooLargeError: when the file has more than 10 MiB.
    """
    photo = validate_body(PhotoBody, body)
    return _decode_base64_photo(photo.image)


def parse_photo_search(body: object) -> SubmittedPhotoSearch:
    """Return the photo in a body.

    Raises:
        InvalidInputError: when it is missing, or another field is invalid.
        PictureTooLargeError: when the file has more than 10 MiB.
    """
    photo = validate_body(PhotoSearchBody, body)
    num = DEFAULT if photo.num is None else photo.num
    return SubmittedPhotoSearch(
        _decode_base64_photo(photo.image),
        num,
        in_stock=bool(photo.in_stock),
        by_region=bool(photo.regions),
    )


def unreadable_photo_error(error: ProductRecsError) -> InvalidInputError:
    """Return the error of a file that is not a readable picture."""
    return InvalidInputError(
        [ValidationProblem(("body", "image"), str(error), "image_unreadable", "")]
    )


def _decode_base64_photo(text: str) -> bytes:
    text = text.strip()
    prefix = _PREFIX.match(text)
    if prefix is not None:
        if not prefix[0].lower().endswith(";base64,"):
            raise _photo_error("a data: URL must be base64")
        text = text[prefix.end() :]
    if not text.isascii():
        raise _photo_error("the image is not base64")
    if any(blank in text for blank in _BLANKS):
        text = text.translate(_WITHOUT_BLANKS)
    text = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        # Holds the GIL for a third of the time of the standard library.
        data = msgspec.convert(text + "=" * (-len(text) % 4), bytes)
    except msgspec.ValidationError:
        raise _photo_error("the image is not base64") from None
    if len(data) > MAX_BYTES:
        message = f"the image may have at most {MAX_BYTES >> 20} MiB; send a smaller one"
        raise PictureTooLargeError(message)
    return data


def _photo_error(reason: str) -> InvalidInputError:
    return InvalidInputError(
        [ValidationProblem(("body", "image"), reason, "image_base64", "")]
    )
