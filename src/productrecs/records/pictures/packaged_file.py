"""Packaged file: a model's file in an optional package, used only if it was checked."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from productrecs.records.pictures.onnx_model_file import ModelFileError


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file of a package, and the hash of the version that we checked.

    No code of the package is imported.
    """

    module: str
    file: str
    sha256: str

    def find_path(self) -> Path | None:
        """Return the file's path; None if the package is not installed."""
        spec = importlib.util.find_spec(self.module)
        if spec is None or spec.origin is None:
            return None
        return Path(spec.origin).parent / self.file

    def read_verified(self, path: Path) -> bytes:
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
