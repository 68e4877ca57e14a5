"""Picture describers: which encoders describe a store's pictures, each in a sandbox.

While another encoder takes over, new and changed pictures are described by the current one
and by the one of the store's lists; afterwards by the previous one too, so that the switch
can be undone at once. Other pictures get the missing descriptor only.
"""

import contextlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.records.pictures.stored_pictures import (
    DescriptorPlace,
    DuePicture,
    pack_descriptor,
)
from productrecs.training.visual.picture_embedding import DescriptorEmbedding
from productrecs.training.visual.picture_encoders import PictureEncoder, PictureEncoders

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PictureDescriber:
    """An encoder in a sandboxed process, which starts with the first picture."""

    embedding: DescriptorEmbedding
    decoder: SandboxedDecoder

    @property
    def name(self) -> str:
        """The name that is stored with its descriptors."""
        return self.embedding.name


@dataclass(frozen=True, slots=True)
class StoreDescribers:
    """The describers of one store's pictures."""

    current: PictureDescriber
    serving: PictureDescriber | None  # of the lists, until the current one takes over
    previous: PictureDescriber | None  # the one before, after that

    @property
    def serving_embedding(self) -> DescriptorEmbedding | None:
        """The embedding of the lists, if it is another than the current one."""
        return None if self.serving is None else self.serving.embedding

    def is_described(self, picture: DuePicture) -> bool:
        """Return whether no descriptor is missing unless the file changed."""
        return not self._missing(picture)

    def describe(
        self, picture: DuePicture, content: bytes, digest: int
    ) -> tuple[Mapping[str, bytes], DescriptorPlace]:
        """Return the descriptors to store, and where.

        Raises:
            UnreadablePictureError: when it is invalid, or decoding exceeds a limit.
            PictureTooLargeError: when it has too many pixels.
        """
        second = self.serving or self.previous
        if picture.digest != digest:
            wanted, place = [self.current, second], DescriptorPlace.BOTH
        else:
            wanted, place = [*self._missing(picture)], DescriptorPlace.BOTH
            names = {one.name for one in (self.current, second) if one is not None}
            if picture.embedder in names:
                place = DescriptorPlace.SECOND
            elif picture.other_embedder in names:
                place = DescriptorPlace.FIRST
        descriptors = dict[str, bytes]()
        for describer in wanted:
            if describer is None:
                continue
            is_current = describer is self.current
            with contextlib.suppress(*(() if is_current else _UNREADABLE)):
                described = describer.decoder.describe(content)
                descriptors[describer.name] = pack_descriptor(described)
        return descriptors, place

    def _missing(self, picture: DuePicture) -> list[PictureDescriber]:
        needed = (self.current, self.serving)
        return [one for one in needed if one and one.name not in picture.embedders]


_UNREADABLE: Final = (UnreadablePictureError, PictureTooLargeError)


@dataclass(slots=True)
class PictureDescribers:
    """The describers of this process, which follow the choice of the operator."""

    encoders: PictureEncoders
    current: PictureDescriber | None = None  # None while its model cannot be used
    _previous: PictureDescriber | None = None
    _by_name: dict[str, PictureDescriber | None] = field(default_factory=dict)
    _stamp: object = ""

    def refresh_if_changed(self) -> bool:
        """Read which encoder should serve; return whether that may have changed."""
        stamp = self.encoders.current_encoder_stamp()
        if stamp == self._stamp:
            return False
        self.close()
        self._stamp, self._by_name = stamp, {}
        try:
            self.current = self._cached_describer(self.encoders.current())
        except ModelFileError:
            self.current = None
            _log.exception("picture encoder rejected")
        previous = self.encoders.previous()
        self._previous = None if previous is None else self._cached_describer(previous)
        return True

    def describers_of_store(
        self, serving: str, stored: Collection[str]
    ) -> StoreDescribers | None:
        """Return a store's describers by the embedding of its lists, "" without lists.

        `stored` are the embeddings of its visual models: only to those can a switch be
        undone. None while the current model cannot be used: pictures wait.
        """
        if self.current is None:
            return None
        if serving in {"", self.current.name}:
            previous = self._previous
            if previous is self.current or (previous and previous.name not in stored):
                previous = None
            return StoreDescribers(self.current, None, previous)
        if serving not in self._by_name:
            encoder = self.encoders.named(serving)
            self._by_name[serving] = (
                None if encoder is None else self._cached_describer(encoder)
            )
        return StoreDescribers(self.current, self._by_name[serving], None)

    def close_all_but_current(self) -> None:
        """End the processes of all but the current encoder, until they are needed."""
        for describer in self._by_name.values():
            if describer is not None and describer is not self.current:
                describer.decoder.close()

    def close(self) -> None:
        """End all processes."""
        self.close_all_but_current()
        if self.current is not None:
            self.current.decoder.close()

    def _cached_describer(self, encoder: PictureEncoder) -> PictureDescriber:
        """Return the describer of an encoder, one for each."""
        embedding = encoder.embedding
        known = self._by_name.get(embedding.name)
        if known is None:
            known = PictureDescriber(embedding, SandboxedDecoder(embedder=encoder.path))
            self._by_name[embedding.name] = known
        return known
