"""Network archives: only the verified network of a package is converted."""

import tarfile
from pathlib import Path
from typing import Any

import pytest

from productrecs.records.pictures.network_archives import (
    ARCHIVED_NETWORKS,
    find_archived_network,
    write_detector_from_archive,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError
from tests.support.lite_models import find_network, network_archive, package_archive

OBJECTS = next(one for one in ARCHIVED_NETWORKS if one.name == "objects")


def write_member(path: Path, **fields: Any) -> Path:
    """Write an archive with the header of a member, and nothing in it."""
    with tarfile.open(path, "w:gz") as package:
        entry = tarfile.TarInfo(OBJECTS.file)
        for name, value in fields.items():
            setattr(entry, name, value)
        package.addfile(entry)
    return path


@pytest.mark.parametrize("network", ARCHIVED_NETWORKS, ids=lambda one: one.name)
def test_an_archive_is_known_by_its_file(tmp_path: Path, network: Any) -> None:
    archive = network_archive(tmp_path / "package.tgz", network.name, b"a network")

    assert find_archived_network(archive) is network


@pytest.mark.parametrize("network", ARCHIVED_NETWORKS, ids=lambda one: one.name)
def test_only_the_verified_network_is_converted(tmp_path: Path, network: Any) -> None:
    archive = network_archive(tmp_path / "package.tgz", network.name, b"a network")

    with pytest.raises(ModelFileError, match=f"{network.sha256} expected"):
        write_detector_from_archive(network, archive, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize("content", [b"", b"\x1c\0\0\0TFL3", b"\xff" * 64], ids=range(3))
@pytest.mark.parametrize("network", ARCHIVED_NETWORKS, ids=lambda one: one.name)
def test_what_is_no_network_is_refused(
    tmp_path: Path, network: Any, content: bytes
) -> None:
    archive = network_archive(tmp_path / "package.tgz", network.name, content)
    verified = find_network(network.name, content)

    with pytest.raises(ModelFileError, match="cannot be converted"):
        write_detector_from_archive(verified, archive, tmp_path / "model.onnx")


def test_a_hostile_archive_is_refused(tmp_path: Path) -> None:
    whole = package_archive(tmp_path / "whole.tgz", "package/other", b"x" * 10_000)
    (tmp_path / "text.tgz").write_bytes(b"no archive")
    (tmp_path / "cut.tgz").write_bytes(whole.read_bytes()[:-20])
    cases = [
        (whole, "has no package/"),
        (tmp_path / "missing.tgz", "cannot be read as a package"),
        (tmp_path / "text.tgz", "cannot be read as a package"),
        (tmp_path / "cut.tgz", "cannot be read as a package"),
        (write_member(tmp_path / "huge.tgz", size=1 << 30), "more than 64 MiB"),
        (
            write_member(
                tmp_path / "link.tgz", type=tarfile.SYMTYPE, linkname="/etc/hosts"
            ),
            "has no package/",
        ),
    ]
    for archive, message in cases:
        with pytest.raises(ModelFileError, match=message):
            find_archived_network(archive)


def test_a_package_without_the_rest_of_its_file_is_refused(tmp_path: Path) -> None:
    archive = package_archive(tmp_path / "short.tgz", OBJECTS.file, b"short")

    with pytest.raises(ModelFileError, match="expected"):
        write_detector_from_archive(OBJECTS, archive, tmp_path / "model.onnx")
