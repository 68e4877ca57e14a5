"""Sanitized picture: re-encodes a merchant's file for a look in a sandboxed process.

The result is upright, a JPEG of a bounded size, without any other content of the file.
"""

import hashlib
from dataclasses import dataclass

from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder


@dataclass(frozen=True, slots=True)
class SanitizedPicture:
    """A picture as the service shows it."""

    picture_id: str  # of the content: the same picture is the same id
    content: bytes  # a JPEG
    width: int
    height: int


def sanitize_picture(data: bytes, viewer: SandboxedDecoder) -> SanitizedPicture:
    """Return the re-encoded picture that is stored for a merchant's file.

    Raises:
        NotAPictureError: when it is not a valid JPEG, PNG, WebP, AVIF or GIF.
        PictureTooLargeError: when it has too many pixels.
    """
    content, width, height = viewer.rewrite(data)
    return SanitizedPicture(
        hashlib.sha256(content).hexdigest()[:32], content, width, height
    )
