"""Upload submission: stores an upload with its import job, within a limit."""

from typing import Final

from productrecs.records.orders.uploads.repository import UploadRepository
from productrecs.records.orders.uploads.upload import NewUpload, TooManyUploadsError
from productrecs.storage.job_queue import JobQueue, NewJob
from productrecs.storage.store_log import StoreLog

QUEUE_LIMIT: Final = 20
"""Uploads of one store that may wait or run."""

JOB: Final = "import-uploads"
"""The kind of job that imports what one store has handed in, in the order it came."""


def submit_upload(log: StoreLog, queue: JobQueue, new: NewUpload) -> None:
    """Store an upload with the job that will import it.

    Raises:
        TooManyUploadsError: when as many are on their way as may be.
        StoreDeletedError: when the store was deleted.
    """
    log.take(0)  # locks the store's head: uploads are counted and numbered one by one
    repository = UploadRepository(log.transaction, log.store_id)
    check_upload_limit(repository)
    repository.add(new)
    queue.enqueue(log.transaction, NewJob(log.store_id, JOB))


def check_upload_limit(repository: UploadRepository) -> None:
    """Do nothing where one more upload may wait.

    Raises:
        TooManyUploadsError: when as many are on their way as may be.
    """
    if repository.unfinished() >= QUEUE_LIMIT:
        message = (
            f"{QUEUE_LIMIT} uploads of this store wait already; send this one again when "
            "GET /orders/upload/{upload_id} shows some of them done"
        )
        raise TooManyUploadsError(message)
