"""Photo search worker: the process that compares photos with stores' pictures.

A sandboxed decoder process, which may be killed, decodes the photos. The worker has access
to the model folder only: no database and no key.
"""

import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
from msgspec.msgpack import Decoder

from productrecs.core.cache_registry import Cache
from productrecs.core.ids import StoreId
from productrecs.engines.arrays import Bools
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
from productrecs.records.pictures.onnx_model_check_and_writer import (
    EMBEDDER,
    read_model_file,
)
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.training.visual.photo_matcher import PhotoMatcher, PhotoMatches
from productrecs.training.visual.photo_search_client import (
    ALIKE,
    IDLE_PRIORITY,
    OtherModel,
    PhotoItems,
    PhotoPlace,
    PhotoPlaces,
    PhotoQuestion,
    PhotoReply,
    pack_ranked,
    to_float_steps,
)
from productrecs.training.visual.picture_embedding import choose_embedding
from productrecs.training.visual.served_visual_model import ServedPictures


class PhotoWorker:
    """Answers photo requests, with a sandboxed decoder process."""

    def __init__(self, detector: str = "", embedder: str = "") -> None:
        """Use the operator's models, if there are any."""
        model = read_model_file(Path(embedder), EMBEDDER) if embedder else None
        self._embedding = choose_embedding(model)
        self._viewer = SandboxedDecoder(
            detector=Path(detector) if detector else None,
            embedder=None if model is None else model.path,
        )
        self._served = OrderedDict[str, ServedPictures]()

    def start(self, *, is_calm: bool) -> None:
        """Start the decoder; with `is_calm`, switch it to idle priority after the start."""
        self._viewer.start()
        if is_calm and self._viewer.pid is not None:
            set_idle_priority(self._viewer.pid)
            set_idle_priority()

    def answer(self, question: PhotoQuestion, photo: bytes) -> PhotoReply:
        """Return the reply to a photo request."""
        pictures = self._pictures(question.folder)
        pictures.follow(question.visual_id)
        if pictures.visual_id != question.visual_id:
            return OtherModel()
        eye = PhotoMatcher(self._viewer, pictures, self._embedding)
        limit, visible = question.limit, _visible(question)
        try:
            if question.operation == ALIKE:
                return PhotoItems(pack_ranked(eye.alike(photo, limit, visible)))
            return _places(eye.around(photo, limit, visible))
        except (NotAPictureError, PictureTooLargeError) as error:
            return PictureRefusal.of(error)

    def close(self) -> None:
        """End the decoder process."""
        self._viewer.close()

    def _pictures(self, folder: str) -> ServedPictures:
        found = self._served.pop(folder, None)
        if found is None:
            path = Path(folder)
            found = ServedPictures(path.parent, StoreId(path.name))
        self._served[folder] = found  # LRU: the most recent one is last
        if len(self._served) > Cache.PHOTO_STORES.limit:
            self._served.popitem(last=False)
        return found


def _visible(question: PhotoQuestion) -> Bools:
    bits = np.frombuffer(question.visible, np.uint8)
    return np.unpackbits(bits, count=question.count).astype(np.bool_)


def _places(sights: PhotoMatches) -> PhotoPlaces:
    sureness = sights.sureness
    places = [
        PhotoPlace(one.box, one.label, one.confidence, pack_ranked(one.alike))
        for one in sights.places
    ]
    steps = to_float_steps(sureness.evidence), to_float_steps(sureness.chance)
    return PhotoPlaces(places, sureness.floor, sureness.usual, *steps)


def main() -> None:
    """Answer requests until the other side closes the socket."""
    lower_priority()
    process = PhotoWorker(*sys.argv[3:])
    process.start(is_calm=sys.argv[2] == IDLE_PRIORITY)
    parent = ParentConnection.inherited(int(sys.argv[1]))
    serve_requests(parent, Decoder(PhotoQuestion), process.answer)
    process.close()


if __name__ == "__main__":
    main()
