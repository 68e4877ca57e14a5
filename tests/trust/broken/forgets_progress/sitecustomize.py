"""Broken variant: an interrupted import begins anew instead of resuming."""

from productrecs.records.purchases.repository import OrderImportProgress
from productrecs.records.uploads.order_upload_import import UploadProgressStore

_start = UploadProgressStore.start


def _from_the_beginning(self: UploadProgressStore) -> OrderImportProgress:
    mark = _start(self)
    return OrderImportProgress(mark.digest, mark.submitted_at)


UploadProgressStore.start = _from_the_beginning  # type: ignore[method-assign]  # the fault itself
