"""Picture encoders: the one that should serve, and others by the name of their vectors.

Each store's visual model names the encoder of its vectors. Photos are described by that
one, so no process compares vectors of two encoders while they are switched.
"""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.core.errors import ProductRecsError
from productrecs.records.pictures.onnx_model_file import (
    EMBEDDER,
    ModelFileError,
    OnnxModelFile,
    read_model_file,
)
from productrecs.training.installed_models import PACKAGED, InstalledModels
from productrecs.training.visual.picture_embedding import (
    DescriptorEmbedding,
    choose_embedding,
)

_log = logging.getLogger(__name__)

_PREFIX: Final = "onnx-"  # of the names of vectors that an encoder made
_DIGITS: Final = 16  # of its SHA-256, which follow


@dataclass(frozen=True, slots=True)
class PictureEncoder:
    """An encoder, and the embedding of its descriptors; the built-in one has no model."""

    model: OnnxModelFile | None

    @property
    def embedding(self) -> DescriptorEmbedding:
        """The embedding."""
        return choose_embedding(self.model)

    @property
    def path(self) -> Path | None:
        """The file of its model."""
        return None if self.model is None else self.model.path


OWN: Final = PictureEncoder(None)
"""Our own descriptor, without a model."""


@dataclass(frozen=True, slots=True)
class PictureEncoders:
    """The encoders on this machine."""

    setting: Path | None = None  # of the operator's setting, which comes first
    packaged: Path | None = None
    installed: Path | None = None  # the folder of the installed ones, if they may serve

    def current(self) -> PictureEncoder:
        """Return the encoder that should serve.

        Raises:
            ModelFileError: when the operator's cannot be used.
        """
        if self.setting is not None:
            return _read_encoder(self.setting)
        if self.installed is not None:
            path = InstalledModels(self.installed).used_file(EMBEDDER)
            if path is not None:
                return _read_encoder(path)
        return self._packaged_or_own_encoder()

    def previous(self) -> PictureEncoder | None:
        """Return the installed one or packaged one that served before, if it is usable."""
        if self.installed is None:
            return None
        installed = InstalledModels(self.installed)
        name = installed.previous_name(EMBEDDER)
        if name == PACKAGED:
            return self._packaged_or_own_encoder()
        try:
            return (
                None if name is None else PictureEncoder(installed.read_picture_model(name))
            )
        except ProductRecsError:
            return None

    def named(self, embedder: str) -> PictureEncoder | None:
        """Return the encoder that made vectors of this name; None if it is not usable."""
        if embedder == OWN.embedding.name:
            return OWN
        for path in self._model_paths(embedder.removeprefix(_PREFIX)[:_DIGITS]):
            try:
                encoder = _read_encoder(path)
            except ModelFileError:
                _log.exception("picture encoder rejected")
                continue
            if encoder.embedding.name == embedder:
                return encoder
        return None

    def by_name(self) -> dict[str, PictureEncoder]:
        """Return the installed encoders that can be used, and the packaged one."""
        encoders = {}
        if self.installed is not None:
            for path in InstalledModels(self.installed).picture_model_files(""):
                with contextlib.suppress(ModelFileError):
                    encoders[path.parent.name] = _read_encoder(path)
        return encoders | {PACKAGED: self._packaged_or_own_encoder()}

    def current_encoder_stamp(self) -> object:
        """Return what changes when another encoder should serve, or its file changed."""
        if self.installed is None:
            return None
        installed = InstalledModels(self.installed)
        path = installed.used_file(EMBEDDER)
        return (
            installed.used_models_stamp(),
            None if path is None else _size_and_time_stamp(path),
        )

    def _model_paths(self, digest: str) -> Iterator[Path]:
        yield from (path for path in (self.setting, self.packaged) if path is not None)
        if self.installed is not None:
            yield from InstalledModels(self.installed).picture_model_files(digest)

    def _packaged_or_own_encoder(self) -> PictureEncoder:
        if self.packaged is None:
            return OWN
        try:
            return _read_encoder(self.packaged)
        except ModelFileError:
            _log.exception("picture encoder rejected")
            return OWN


def _read_encoder(path: Path) -> PictureEncoder:
    return PictureEncoder(read_model_file(path, EMBEDDER))


def _size_and_time_stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
