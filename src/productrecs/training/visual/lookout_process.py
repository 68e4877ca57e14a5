"""What runs in the process apart that compares photos with a store's pictures?

It decodes nothing itself: a child of its own does, which may be killed. Of the service it
has a folder of models alone, no database and no key.
"""

import socket
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from productrecs.core.ids import StoreId
from productrecs.engines.contract import Bools
from productrecs.records.pictures.apart import answer_all, give_way, give_way_wholly
from productrecs.records.pictures.decoding import NotAPictureError, PictureTooLargeError
from productrecs.records.pictures.viewer import Viewer
from productrecs.records.pictures.weights import EMBEDDER, read_model_file
from productrecs.training.visual.embedding import embedding_of
from productrecs.training.visual.eye import Eye, Sights
from productrecs.training.visual.lookout import (
    ALIKE,
    CALM,
    NO_PICTURE,
    OTHER_MODEL,
    SEEN,
    TOO_LARGE,
    Place,
    Places,
    Question,
    packed,
    steps_of,
)
from productrecs.training.visual.served import ServedPictures

_MOST_STORES: Final = 64
"""Whose pictures stay open; mapped files, which the machine takes back when it must."""

_encode: Final = msgspec.msgpack.Encoder().encode
_question: Final = msgspec.msgpack.Decoder(Question).decode


class LookoutProcess:
    """Answers what photos are like, with a child that looks."""

    def __init__(self, detector: str = "", embedder: str = "") -> None:
        """Look with the operator's models, where there are any."""
        model = read_model_file(Path(embedder), EMBEDDER) if embedder else None
        self._embedding = embedding_of(model)
        self._viewer = Viewer(
            detector=Path(detector) if detector else None,
            embedder=None if model is None else model.path,
        )
        self._served = OrderedDict[str, ServedPictures]()

    def start(self, *, is_calm: bool) -> None:
        """Start the child; what is calm is so from then on, having started like others."""
        self._viewer.start()
        if is_calm and self._viewer.pid is not None:
            give_way_wholly(self._viewer.pid)
            give_way_wholly()

    def answer(self, operation: bytes, data: bytes) -> tuple[bytes, bytes]:
        """Return the status and the bytes that answer a question."""
        question = _question(data)
        pictures = self._pictures(question.folder)
        pictures.follow(question.visual_id)
        if pictures.visual_id != question.visual_id:
            return OTHER_MODEL, b""
        eye = Eye(self._viewer, pictures, self._embedding)
        photo, limit, visible = question.photo, question.limit, _visible(question)
        try:
            if operation == ALIKE:
                return SEEN, _encode(packed(eye.alike(photo, limit, visible)))
            return SEEN, _told(eye.around(photo, limit, visible))
        except NotAPictureError as error:
            return NO_PICTURE, str(error).encode()
        except PictureTooLargeError as error:
            return TOO_LARGE, str(error).encode()

    def close(self) -> None:
        """Let the child go."""
        self._viewer.close()

    def _pictures(self, folder: str) -> ServedPictures:
        found = self._served.pop(folder, None)
        if found is None:
            path = Path(folder)
            found = ServedPictures(path.parent, StoreId(path.name))
        self._served[folder] = found  # the last one asked for is the last one to go
        if len(self._served) > _MOST_STORES:
            self._served.popitem(last=False)
        return found


def _visible(question: Question) -> Bools:
    bits = np.frombuffer(question.visible, np.uint8)
    return np.unpackbits(bits, count=question.count).astype(np.bool_)


def _told(sights: Sights) -> bytes:
    sureness = sights.sureness
    places = [
        Place(one.box, one.label, one.confidence, packed(one.alike))
        for one in sights.places
    ]
    steps = steps_of(sureness.evidence), steps_of(sureness.chance)
    return _encode(Places(places, sureness.floor, sureness.usual, *steps))


def main() -> None:
    """Answer until the other side hangs up."""
    give_way()
    process = LookoutProcess(*sys.argv[3:])
    process.start(is_calm=sys.argv[2] == CALM)
    answer_all(socket.socket(fileno=int(sys.argv[1])), process.answer)
    process.close()


if __name__ == "__main__":
    main()
