"""Photo worker client: asks the process that compares photos.

The worker reads photos through a sandboxed decoder and compares them with the store's
pictures, which it maps as the API process does. No other reply waits for that work.
"""

import math
import time
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from productrecs.core.errors import ProductRecsError
from productrecs.engines.arrays import Bools, Ranked
from productrecs.engines.visual.match_confidence import MatchConfidence
from productrecs.records.pictures.decode_picture import (
    NotAPictureError,
    PictureTooLargeError,
)
from productrecs.records.pictures.sandboxed_decoder import WAIT_SECONDS
from productrecs.records.pictures.worker_process import ProcessTimeouts, WorkerProcess
from productrecs.training.visual.photo_matcher import PhotoMatches, RegionMatch
from productrecs.training.visual.served_pictures import ServedPictures

ALIKE, AROUND = b"a", b"r"
DECODED, NO_PICTURE, TOO_LARGE, OTHER_MODEL = b"+", b"-", b">", b"!"

IDLE_PRIORITY, NORMAL_PRIORITY = "calm", "pressed"
"""Priority of the photo worker: idle, or normal with a higher niceness."""

IDLE_SECONDS: Final = 2.5
"""Timeout of a photo at idle priority: twenty times what an idle machine needs."""

Row: TypeAlias = tuple[bytes, bytes]
"""Item numbers and scores, as `pack_ranked` writes them."""

PHOTO_WORKER_MODULE: Final = "productrecs.training.visual.photo_search_worker"

_OPENING_SECONDS: Final = 30.0  # beside the photo: a model of pictures that is new
_PRESSED_SECONDS: Final = 60.0
_LEAVE_SECONDS: Final = 5.0
_TRIES, _PAUSE_SECONDS = 20, 0.25


class PhotoWorkerError(ProductRecsError):
    """The photo worker ended or did not answer; a new one starts in a moment."""

    def __init__(self) -> None:
        """Say what to do."""
        message = "photo search is not available right now; retry in a moment"
        super().__init__(message)


class PhotoQuestion(msgspec.Struct, array_like=True):
    """A photo, the model that it is compared with, and which items may be shown."""

    folder: str
    visual_id: str
    limit: int
    count: int
    visible: bytes  # a bit for each of `count` items
    photo: bytes


class PhotoPlace(msgspec.Struct, array_like=True):
    """A place in a photo."""

    box: tuple[float, float, float, float]
    label: str
    confidence: float | None
    alike: Row


class PhotoPlaces(msgspec.Struct, array_like=True):
    """All places in a photo, and what a store's likenesses mean."""

    places: list[PhotoPlace]
    floor: float
    usual: float
    evidence: list[float]
    chance: list[float]


_encode: Final = msgspec.msgpack.Encoder().encode
_row: Final = msgspec.msgpack.Decoder(Row).decode
_places: Final = msgspec.msgpack.Decoder(PhotoPlaces).decode


class PhotoWorkerClient:
    """The photo worker, started on first use; for one thread at a time.

    It is calm, so that no reply waits for a photo. When a photo waits too long, since the
    machine has no time left over, another that is pressed looks for a while.
    """

    def __init__(
        self,
        detector: Path | None = None,
        embedder: Path | None = None,
        calm_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Look with the operator's models, where there are any."""
        self._models = (str(detector or ""), str(embedder or ""))
        self._calm_seconds = calm_seconds
        self._pressed_until = -math.inf
        self._process = self._starting(IDLE_PRIORITY)

    @property
    def pid(self) -> int | None:
        """The process's id, while there is one."""
        return self._process.pid

    def over(self, pictures: ServedPictures) -> "StorePhotoSearch":
        """Return a photo search in these pictures."""
        return StorePhotoSearch(self, pictures)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def ask(self, operation: bytes, question: PhotoQuestion) -> bytes | None:
        """Return the answer; None when the named model is gone.

        Raises:
            NotAPictureError: when the photo is invalid, or reading it takes too much.
            PictureTooLargeError: when it has too many pixels.
            PhotoWorkerError: when the process ended, or did not answer in time.
        """
        status, content = self._ask(operation, _encode(question))
        if status == DECODED:
            return content
        if status == OTHER_MODEL:
            return None
        words = content.decode("utf-8", "replace")
        if status == TOO_LARGE:
            raise PictureTooLargeError(words)
        raise NotAPictureError(words)

    def _ask(self, operation: bytes, data: bytes) -> tuple[bytes, bytes]:
        was_pressed = self._is_pressed()
        try:
            return self._process.ask(operation, data)
        except OSError as error:
            if was_pressed and isinstance(error, TimeoutError):
                raise PhotoWorkerError from error
        # It had no time, or was killed: no fault of the photo, which it never reads itself.
        self._pressed_until = time.monotonic() + _PRESSED_SECONDS
        self._process = self._starting(NORMAL_PRIORITY)
        try:
            return self._process.ask(operation, data)
        except OSError as error:
            raise PhotoWorkerError from error

    def _is_pressed(self) -> bool:
        """Return whether it runs at normal priority; return to idle after a while."""
        if time.monotonic() < self._pressed_until:
            return True
        if self._pressed_until > 0:
            self._pressed_until = -math.inf
            self._process.close()
            self._process = self._starting(IDLE_PRIORITY)
        return False

    def _starting(self, how: str) -> WorkerProcess:
        """Return a process that starts on its first request."""
        seconds = (
            WAIT_SECONDS + _OPENING_SECONDS
            if how == NORMAL_PRIORITY
            else self._calm_seconds
        )
        patience = ProcessTimeouts(answer=seconds, leave=_LEAVE_SECONDS)
        return WorkerProcess(PHOTO_WORKER_MODULE, (how, *self._models), patience)


class StorePhotoSearch:
    """Photo search in one store's pictures, answered by the photo worker."""

    def __init__(self, lookout: PhotoWorkerClient, pictures: ServedPictures) -> None:
        """Ask `lookout` for what `pictures` shows."""
        self._lookout, self._pictures = lookout, pictures

    def alike(self, photo: bytes, limit: int, visible: Bools) -> Ranked:
        """Return the `limit` visible items most like a photo, or like a place in it.

        Raises:
            PhotoWorkerError: when the worker does not answer.
        """
        return unpack_ranked(_row(self._ask(ALIKE, photo, limit, visible)))

    def around(self, photo: bytes, limit: int, visible: Bools) -> PhotoMatches:
        """Return the places in a photo, each with the visible items most like it.

        Raises:
            PhotoWorkerError: when the worker does not answer.
        """
        answer = _places(self._ask(AROUND, photo, limit, visible))
        places = [
            RegionMatch(one.box, one.label, one.confidence, unpack_ranked(one.alike))
            for one in answer.places
        ]
        steps = np.array(answer.evidence), np.array(answer.chance)
        return PhotoMatches(places, MatchConfidence(answer.floor, answer.usual, *steps))

    def _ask(self, operation: bytes, photo: bytes, limit: int, visible: Bools) -> bytes:
        bits = np.packbits(visible).tobytes()
        for _ in range(_TRIES):
            pictures = self._pictures
            question = PhotoQuestion(
                str(pictures.folder), pictures.visual_id, limit, len(visible), bits, photo
            )
            answer = self._lookout.ask(operation, question)
            if answer is not None:
                return answer
            time.sleep(_PAUSE_SECONDS)  # another model serves, and is heard of in a moment
        raise PhotoWorkerError


def pack_ranked(ranked: Ranked) -> Row:
    """Return items and scores as bytes."""
    items, scores = ranked
    return items.astype("<i4").tobytes(), scores.astype("<f4").tobytes()


def unpack_ranked(row: Row) -> Ranked:
    """Return the items and scores that `pack_ranked` wrote."""
    return Ranked(np.frombuffer(row[0], "<i4"), np.frombuffer(row[1], "<f4"))


def to_float_steps(values: npt.NDArray[np.floating[Any]]) -> list[float]:
    """Return numbers as they go over the line."""
    return [float(value) for value in values]
