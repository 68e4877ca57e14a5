"""Photo search worker: the process that compares photos with stores' pictures.

A sandboxed decoder process, which may be killed, decodes the photos. The worker has access
to the model folder only: no database and no key.
"""

import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
from msgspec.msgpack import Decoder

from productrecs.core.cache_registry import RegisteredCache
from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import Bools
from productrecs.processes.child_process import (
    lower_priority,
    serve_requests,
    set_idle_priority,
)
from productrecs.processes.process_messages import ParentConnection
from productrecs.records.pictures.decode_picture import (
    NotAPictureError,
    PictureRefusal,
    PictureTooLargeError,
)
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.training.visual.photo_matcher import PhotoMatcher, RegionMatches
from productrecs.training.visual.photo_search_client import (
    ALIKE,
    IDLE_PRIORITY,
    PhotoItemsReply,
    PhotoModelReplaced,
    PhotoRegionReplies,
    PhotoRegionReply,
    PhotoReply,
    PhotoSearchRequest,
    pack_ranked,
    to_float_steps,
)
from productrecs.training.visual.picture_embedding import choose_embedding
from productrecs.training.visual.served_visual_model import ServedVisualModel


class PhotoWorker:
    """Answers photo requests, with a sandboxed decoder process."""

    def __init__(
        self, detector: str = "", embedder: str = "", text_reader: str = ""
    ) -> None:
        """Use the operator's models and the packaged text reader, if there are any."""
        model = read_model_file(Path(embedder), EMBEDDER) if embedder else None
        self._embedding = choose_embedding(model)
        self._viewer = SandboxedDecoder(
            detector=Path(detector) if detector else None,
            embedder=None if model is None else model.path,
            text_reader=Path(text_reader) if text_reader else None,
        )
        self._served = OrderedDict[str, ServedVisualModel]()

    def start(self, *, is_idle: bool) -> None:
        """Start the decoder; with `is_idle`, switch it to idle priority after the start."""
        self._viewer.start()
        if is_idle and self._viewer.pid is not None:
            set_idle_priority(self._viewer.pid)
            set_idle_priority()

    def answer(self, search_request: PhotoSearchRequest, photo: bytes) -> PhotoReply:
        """Return the reply to a photo request."""
        pictures = self._pictures_in(search_request.folder)
        pictures.open_published_model(search_request.visual_id)
        if pictures.visual_id != search_request.visual_id:
            return PhotoModelReplaced()
        matcher = PhotoMatcher(self._viewer, pictures, self._embedding)
        limit, visible = search_request.limit, _unpack_visible(search_request)
        try:
            if search_request.operation == ALIKE:
                hits = matcher.similar_items(photo, limit, visible)
                row = pack_ranked(hits.ranked)
                return PhotoItemsReply(row, list(hits.codes), list(hits.lines))
            return _pack_places(matcher.similar_items_by_region(photo, limit, visible))
        except (NotAPictureError, PictureTooLargeError) as error:
            return PictureRefusal.of(error)

    def close(self) -> None:
        """End the decoder process."""
        self._viewer.close()

    def _pictures_in(self, folder: str) -> ServedVisualModel:
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


def _pack_places(matches: RegionMatches) -> PhotoRegionReplies:
    confidence = matches.confidence
    places = [
        PhotoRegionReply(
            place.box,
            place.label,
            place.confidence,
            pack_ranked(place.alike),
            place.is_garment,
        )
        for place in matches.places
    ]
    calibration = to_float_steps(confidence.evidence), to_float_steps(confidence.chance)
    return PhotoRegionReplies(places, confidence.floor, confidence.usual, *calibration)


def main() -> None:
    """Answer requests until the other side closes the socket."""
    lower_priority()
    process = PhotoWorker(*sys.argv[3:])
    process.start(is_idle=sys.argv[2] == IDLE_PRIORITY)
    parent = ParentConnection.inherited(int(sys.argv[1]))
    serve_requests(parent, Decoder(PhotoSearchRequest), process.answer)
    process.close()


if __name__ == "__main__":
    main()
