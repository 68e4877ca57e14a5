"""ONNX model file: the operator's ONNX model, checked against its sidecar file.

Sidecar `model.json` of `model.onnx`: `{"kind": "detector", "sha256": "...", "side": 416,
"labels": [...]}` or `{"kind": "embedder", "sha256": "...", "side": 224, "mean": [...],
"std": [...]}`. A file that does not match its sidecar is rejected. Nothing is downloaded.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from productrecs.core.errors import ProductRecsError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

DETECTOR, EMBEDDER = "detector", "embedder"
BODY_DETECTOR: Final = "body detector"
"""The kind of an installed detector of a body, which serves beside one of objects."""
OBJECTS, BODY = "objects", "body"
"""What a detector finds: boxes of objects, or landmarks of a person's body."""
YOLOX, SSD = "yolox", "ssd"
"""The network of a detector of objects."""

_SIDES: Final = range(32, 1_025)


class ModelFileError(ProductRecsError):
    """The operator's model cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class OnnxModelFile:
    """A verified model, and its input parameters."""

    path: Path
    kind: str
    sha256: str
    side: int  # of the square input
    labels: tuple[str, ...] = ()  # of a detector
    least: float = 0.3  # minimum score of a detection
    overlap: float = 0.45
    finds: str = OBJECTS  # or BODY
    network: str = YOLOX  # or SSD, of a detector of objects
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of an embedder: red, green, blue
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    is_fused: bool = False  # an embedder whose vectors are combined with our descriptors

    @property
    def name(self) -> str:
        """The id that is stored with this model's descriptors."""
        return f"onnx-{self.sha256[:16]}"


def read_model_file(path: Path, kind: str) -> OnnxModelFile:
    """Return the model at `path` after its sidecar was verified.

    Raises:
        ModelFileError: when it does not match, or is missing.
    """
    sidecar_fields, digest = read_verified_sidecar(path, kind)
    try:
        return _parse_sidecar(path, kind, digest, sidecar_fields)
    except (TypeError, ValueError, KeyError) as error:
        message = f"{path.with_suffix('.json')} is invalid: {error!r}"
        raise ModelFileError(message) from error


def read_verified_sidecar(path: Path, kind: str) -> tuple[Mapping[str, Any], str]:
    """Return a model's sidecar and the verified SHA-256.

    Raises:
        ModelFileError: when they differ, the kind is wrong, or a file is missing.
    """
    sidecar = path.with_suffix(".json")
    try:
        sidecar_fields: Mapping[str, Any] = json.loads(sidecar.read_text("utf-8"))
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError) as error:
        message = (
            f"{path} needs {sidecar.name} beside it, and both must be readable: {error}"
        )
        raise ModelFileError(message) from error
    if not isinstance(sidecar_fields, dict) or sidecar_fields.get("kind") != kind:
        message = f'{sidecar} must say "kind": "{kind}"'
        raise ModelFileError(message)
    if sidecar_fields.get("sha256") != digest:
        message = f"{path} has the SHA-256 {digest}, which is not the one in {sidecar.name}"
        raise ModelFileError(message)
    return sidecar_fields, digest


def open_session(path: Path, *, keeps_memory: bool = True) -> "InferenceSession":
    """Return a model that runs in the calling thread alone.

    Without `keeps_memory` it gives the memory of a run back, which takes time.
    """
    import onnxruntime  # noqa: PLC0415 - optional, and slow to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = keeps_memory
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )


def _parse_sidecar(
    path: Path, kind: str, digest: str, sidecar_fields: Mapping[str, Any]
) -> OnnxModelFile:
    side = int(sidecar_fields["side"])
    if side not in _SIDES:
        message = f"side must be from {_SIDES.start} to {_SIDES.stop - 1}"
        raise ValueError(message)
    return OnnxModelFile(
        path,
        kind,
        digest,
        side,
        labels=tuple(str(label) for label in sidecar_fields.get("labels", ())),
        least=float(sidecar_fields.get("least", 0.3)),
        overlap=float(sidecar_fields.get("overlap", 0.45)),
        mean=_three_numbers(sidecar_fields.get("mean", (0, 0, 0))),
        std=_three_numbers(sidecar_fields.get("std", (1, 1, 1))),
        finds=_parse_choice(sidecar_fields, "finds", (OBJECTS, BODY)),
        network=_parse_choice(sidecar_fields, "network", (YOLOX, SSD)),
        is_fused=sidecar_fields.get("fused") is True,
    )


def _three_numbers(values: Any) -> tuple[float, float, float]:
    red, green, blue = (float(one) for one in values)
    return red, green, blue


def _parse_choice(
    sidecar_fields: Mapping[str, Any], key: str, choices: tuple[str, str]
) -> str:
    """Return the value of a key, the first choice by default."""
    choice = str(sidecar_fields.get(key, choices[0]))
    if choice not in choices:
        message = f'"{key}" is {" or ".join(choices)}, not {choice}'
        raise ValueError(message)
    return choice
