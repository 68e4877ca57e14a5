"""Photo worker owner: runs the process that compares photos, and sends it photos.

The worker reads photos through a sandboxed decoder and compares them with the store's
memory-mapped pictures. It does not block other replies.
"""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from msgspec.msgpack import Decoder

from productrecs.core.errors import ProductRecsError
from productrecs.engines.array_types_and_sorting import Bools
from productrecs.engines.visual.visual_similarity import MatchCalibration
from productrecs.processes.child_process import WorkerProcess, WorkerTimeouts
from productrecs.records.pictures.decode_picture import PictureRefusal
from productrecs.records.pictures.sandboxed_decoder import WAIT_SECONDS
from productrecs.training.visual.photo_matcher import (
    PhotoSearchHits,
    RegionMatch,
    RegionMatches,
)
from productrecs.training.visual.photo_search_messages import (
    ALIKE,
    AROUND,
    PhotoItemsReply,
    PhotoModelMismatch,
    PhotoRegionReplies,
    PhotoSearchRequest,
    unpack_ranked,
)
from productrecs.training.visual.picture_encoders import PictureEncoders
from productrecs.training.visual.served_visual_model import ServedVisualModel

IDLE_PRIORITY, NORMAL_PRIORITY = "calm", "pressed"
"""Priority of the photo worker: idle, or normal with a higher niceness."""

IDLE_SECONDS: Final = 2.5
"""Timeout of a photo at idle priority: twenty times what an idle machine needs."""

PHOTO_WORKER_MODULE: Final = "productrecs.training.visual.photo_search_worker"

_LOADING_SECONDS: Final = 30.0  # extra timeout for loading a new visual model
_NORMAL_PRIORITY_SECONDS: Final = 60.0
_EXIT_SECONDS: Final = 5.0
_ATTEMPTS, _PAUSE_SECONDS = 20, 0.25


class PhotoWorkerError(ProductRecsError):
    """The photo worker ended or did not answer; a new one starts in a moment."""

    def __init__(self) -> None:
        """Set the message with the next step."""
        message = "photo search is not available right now; retry in a moment"
        super().__init__(message)


_Reply = TypeVar("_Reply", PhotoItemsReply, PhotoRegionReplies)


class PhotoWorkerOwner:
    """The photo worker, started on first use; for one thread at a time.

    It has idle priority, so that no other reply waits for a photo. If a photo times out
    because the machine is busy, a worker with normal priority takes over for a while.
    """

    def __init__(
        self,
        detectors: Sequence[Path] = (),
        encoders: PictureEncoders | None = None,
        idle_seconds: float = IDLE_SECONDS,
        text_reader: Path | None = None,
    ) -> None:
        """Use the operator's models and the packaged text reader, if there are any."""
        found = encoders or PictureEncoders()
        paths = (text_reader, found.setting, found.packaged, found.installed, *detectors)
        self._models = tuple(str(path or "") for path in paths)
        self._idle_seconds = idle_seconds
        self._normal_priority_until = -math.inf
        self._process = self._create_worker_process(IDLE_PRIORITY)

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid

    def search_in(self, pictures: ServedVisualModel) -> "StorePhotoSearch":
        """Return a photo search in these pictures."""
        return StorePhotoSearch(self, pictures)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def ask(
        self, search_request: PhotoSearchRequest, photo: bytes, reply_type: type[_Reply]
    ) -> _Reply | None:
        """Return the reply; None when the named model is gone.

        Raises:
            UnreadablePictureError: when the photo is invalid, or reading it takes too much.
            PictureTooLargeError: when it has too many pixels.
            PhotoWorkerError: when the process ended, or did not answer in time.
        """
        replies: Decoder[_Reply | PhotoModelMismatch | PictureRefusal]
        replies = Decoder(reply_type | PhotoModelMismatch | PictureRefusal)
        reply = self._request_at_idle_then_normal_priority(search_request, photo, replies)
        if isinstance(reply, PictureRefusal):
            raise reply.error()
        return None if isinstance(reply, PhotoModelMismatch) else reply

    def _request_at_idle_then_normal_priority(
        self,
        search_request: PhotoSearchRequest,
        photo: bytes,
        replies: Decoder[_Reply | PhotoModelMismatch | PictureRefusal],
    ) -> _Reply | PhotoModelMismatch | PictureRefusal:
        self._restore_idle_priority_when_due()
        had_normal_priority = time.monotonic() < self._normal_priority_until
        try:
            return self._process.request(search_request, replies, photo)
        except OSError as error:
            if had_normal_priority and isinstance(error, TimeoutError):
                raise PhotoWorkerError from error
        # A timeout or a killed process is not the photo's fault: the worker does not decode
        # it.
        self._normal_priority_until = time.monotonic() + _NORMAL_PRIORITY_SECONDS
        self._process = self._create_worker_process(NORMAL_PRIORITY)
        try:
            return self._process.request(search_request, replies, photo)
        except OSError as error:
            raise PhotoWorkerError from error

    def _restore_idle_priority_when_due(self) -> None:
        """Start the worker again at idle priority, a while after it got normal priority."""
        if 0 < self._normal_priority_until <= time.monotonic():
            self._normal_priority_until = -math.inf
            self._process.close()
            self._process = self._create_worker_process(IDLE_PRIORITY)

    def _create_worker_process(self, priority: str) -> WorkerProcess:
        """Return a process that starts on its first request."""
        seconds = (
            WAIT_SECONDS + _LOADING_SECONDS
            if priority == NORMAL_PRIORITY
            else self._idle_seconds
        )
        timeouts = WorkerTimeouts(reply=seconds, exit=_EXIT_SECONDS)
        return WorkerProcess(PHOTO_WORKER_MODULE, (priority, *self._models), timeouts)


class StorePhotoSearch:
    """Photo search in one store's pictures, answered by the photo worker."""

    def __init__(self, worker: PhotoWorkerOwner, pictures: ServedVisualModel) -> None:
        """Search `pictures` through `worker`."""
        self._worker, self._pictures = worker, pictures

    def similar_items(self, photo: bytes, limit: int, visible: Bools) -> PhotoSearchHits:
        """Return the `limit` visible items most similar to a photo, or to a region of it.

        Raises:
            PhotoWorkerError: when the worker does not answer.
        """
        search_request = self._build_search_request(ALIKE, limit, visible)
        reply = self._ask_until_model_serves(search_request, photo, PhotoItemsReply)
        return PhotoSearchHits(
            unpack_ranked(reply.row), tuple(reply.codes), tuple(reply.lines)
        )

    def similar_items_by_region(
        self, photo: bytes, limit: int, visible: Bools
    ) -> RegionMatches:
        """Return the regions of a photo, each with the most similar visible items.

        Raises:
            PhotoWorkerError: when the worker does not answer.
        """
        search_request = self._build_search_request(AROUND, limit, visible)
        answer = self._ask_until_model_serves(search_request, photo, PhotoRegionReplies)
        places = [
            RegionMatch(
                place.box,
                place.label,
                place.confidence,
                unpack_ranked(place.similar),
                place.is_garment,
                place.similarity,
            )
            for place in answer.regions
        ]
        calibration = np.array(answer.evidence), np.array(answer.chance)
        return RegionMatches(
            places, MatchCalibration(answer.floor, answer.usual, *calibration)
        )

    def _build_search_request(
        self, operation: str, limit: int, visible: Bools
    ) -> PhotoSearchRequest:
        bits = np.packbits(visible).tobytes()
        folder = str(self._pictures.folder)
        return PhotoSearchRequest(operation, folder, "", limit, len(visible), bits)

    def _ask_until_model_serves(
        self, search_request: PhotoSearchRequest, photo: bytes, reply_type: type[_Reply]
    ) -> _Reply:
        for _ in range(_ATTEMPTS):
            search_request.visual_id = self._pictures.visual_id
            answer = self._worker.ask(search_request, photo, reply_type)
            if answer is not None:
                return answer
            time.sleep(_PAUSE_SECONDS)  # a newer model serves; its id arrives soon
        raise PhotoWorkerError
