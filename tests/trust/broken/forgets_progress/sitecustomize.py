"""Broken variant: an interrupted import begins anew instead of resuming."""

from productrecs.records.purchases.repository import ImportMark
from productrecs.records.uploads.order_upload_import import UploadProgress

_start = UploadProgress.start


def _from_the_beginning(self: UploadProgress) -> ImportMark:
    mark = _start(self)
    return ImportMark(mark.digest, mark.submitted_at)


UploadProgress.start = _from_the_beginning  # type: ignore[method-assign]  # the fault itself
