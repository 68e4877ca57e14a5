"""Photo search worker: the process that compares photos with stores' pictures.

A sandboxed decoder process, which may be killed, decodes the photos. The worker has access
to the model folder only: no database and no key.
"""

import sys
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.msgpack import Decoder

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Bools
from productrecs.processes.child_process import (
    lower_priority_and_ignore_stops,
    serve_requests,
    set_idle_priority,
)
from productrecs.processes.process_messages import ParentConnection
from productrecs.records.pictures.decode_picture import (
    PictureRefusal,
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.training.visual.photo_matcher import PhotoMatcher, RegionMatches
from productrecs.training.visual.photo_search_messages import (
    ALIKE,
    PhotoItemsReply,
    PhotoModelMismatch,
    PhotoRegionReplies,
    PhotoRegionReply,
    PhotoReply,
    PhotoSearchRequest,
    pack_ranked,
)
from productrecs.training.visual.photo_worker_owner import (
    IDLE_PRIORITY,
)
from productrecs.training.visual.picture_embedding import DescriptorEmbedding
from productrecs.training.visual.picture_encoders import (
    OWN,
    PictureEncoder,
    PictureEncoders,
)
from productrecs.training.visual.served_visual_model import ServedVisualModel

_ENCODERS: Final = 3  # paths of encoders among the arguments
_IDLE_SECONDS: Final = 600.0
"""The time after which the process of an encoder that no photo needs ends."""


@dataclass(slots=True)
class _PhotoDescriber:
    """An encoder in a sandboxed process, and when it was last used."""

    embedding: DescriptorEmbedding
    viewer: SandboxedDecoder
    used_at: float = 0.0


class PhotoWorker:
    """Answers photo requests, with a sandboxed decoder process for each encoder in use."""

    def __init__(
        self,
        encoders: PictureEncoders | None = None,
        text_reader: str = "",
        detectors: Sequence[Path] = (),
    ) -> None:
        """Use the operator's models and the packaged text reader, if there are any."""
        self._encoders = encoders or PictureEncoders()
        self._detectors = detectors
        self._text_reader = Path(text_reader) if text_reader else None
        self._describers: dict[str, _PhotoDescriber] = {}  # by embedder
        self._served = OrderedDict[str, ServedVisualModel]()

    def start(self, *, is_idle: bool) -> None:
        """Start a decoder; with `is_idle`, switch it to idle priority after the start."""
        try:
            encoder = self._encoders.current()
        except ModelFileError:
            encoder = OWN  # photos are described by what their store's pictures are
        viewer = self._add_describer(encoder).viewer
        viewer.start()
        if is_idle and viewer.pid is not None:
            set_idle_priority(viewer.pid)
            set_idle_priority()

    def answer(self, search_request: PhotoSearchRequest, photo: bytes) -> PhotoReply:
        """Return the reply to a photo request."""
        pictures = self._cached_visual_model(search_request.folder)
        pictures.open_published_model(search_request.visual_id)
        if pictures.visual_id != search_request.visual_id:
            return PhotoModelMismatch()
        describer = self._find_or_start_describer(pictures.embedder)
        describer.used_at = time.monotonic()
        self._end_idle_describers(describer.used_at)
        matcher = PhotoMatcher(describer.viewer, pictures, describer.embedding)
        limit, visible = search_request.limit, _unpack_visible(search_request)
        try:
            if search_request.operation == ALIKE:
                hits = matcher.similar_items(photo, limit, visible)
                row = pack_ranked(hits.ranked)
                return PhotoItemsReply(row, list(hits.codes), list(hits.lines))
            return _pack_regions(matcher.similar_items_by_region(photo, limit, visible))
        except (UnreadablePictureError, PictureTooLargeError) as error:
            return PictureRefusal.of(error)

    def close(self) -> None:
        """End the decoder processes."""
        for describer in self._describers.values():
            describer.viewer.close()

    def _find_or_start_describer(self, embedder: str) -> _PhotoDescriber:
        """Return the describer whose vectors the store has.

        Our own descriptors need no process of their own. Without the encoder, any
        describer reads what is printed, and finds nothing similar.
        """
        describer = self._describers.get(embedder)
        if describer is None and embedder != OWN.embedding.name:
            encoder = self._encoders.named(embedder)
            describer = None if encoder is None else self._add_describer(encoder)
        describer = describer or next(iter(self._describers.values()), None)
        return describer or self._add_describer(OWN)

    def _end_idle_describers(self, now: float) -> None:
        for embedder, describer in list(self._describers.items()):
            if now - describer.used_at > _IDLE_SECONDS:
                describer.viewer.close()
                del self._describers[embedder]

    def _add_describer(self, encoder: PictureEncoder) -> _PhotoDescriber:
        viewer = SandboxedDecoder(
            detectors=self._detectors, embedder=encoder.path, text_reader=self._text_reader
        )
        added = _PhotoDescriber(encoder.embedding, viewer, time.monotonic())
        self._describers[encoder.embedding.name] = added
        return added

    def _cached_visual_model(self, folder: str) -> ServedVisualModel:
        pictures = self._served.pop(folder, None)
        if pictures is None:
            path = Path(folder)
            pictures = ServedVisualModel(path.parent, StoreId(path.name))
        self._served[folder] = pictures  # LRU: the most recent one is last
        if len(self._served) > RegisteredCache.PHOTO_STORES.limit:
            self._served.popitem(last=False)
        return pictures


def _unpack_visible(search_request: PhotoSearchRequest) -> Bools:
    bits = np.frombuffer(search_request.visible, np.uint8)
    return np.unpackbits(bits, count=search_request.count).astype(np.bool_)


def _pack_regions(matches: RegionMatches) -> PhotoRegionReplies:
    calibration = matches.calibration
    places = [
        PhotoRegionReply(
            place.box,
            place.label,
            place.confidence,
            pack_ranked(place.similar),
            place.is_garment,
            place.similarity,
        )
        for place in matches.regions
    ]
    return PhotoRegionReplies(
        places,
        calibration.floor,
        calibration.usual,
        calibration.evidence.tolist(),
        calibration.chance.tolist(),
    )


def main() -> None:
    """Answer requests until the other side closes the socket."""
    lower_priority_and_ignore_stops()
    descriptor, priority, text_reader, *paths = sys.argv[1:]
    encoders, detectors = paths[:_ENCODERS], paths[_ENCODERS:]
    worker = PhotoWorker(
        PictureEncoders(*(Path(path) if path else None for path in encoders)),
        text_reader,
        [Path(path) for path in detectors],
    )
    worker.start(is_idle=priority == IDLE_PRIORITY)
    parent = ParentConnection.inherited(int(descriptor))
    serve_requests(parent, Decoder(PhotoSearchRequest), worker.answer)
    worker.close()


if __name__ == "__main__":
    main()
