"""Is a package's encoder converted to what its weights say, and is another refused?"""

import hashlib
import importlib.util
import io
from pathlib import Path

import numpy as np
import onnx
import pytest

from productrecs.records.pictures.onnx_embedder_and_detector import (
    OnnxEmbedder,
    middle_square,
    to_normalized_tensor,
)
from productrecs.records.pictures.onnx_model_file import (
    EMBEDDER,
    ModelFileError,
    read_model_file,
)
from productrecs.records.pictures.packaged_encoder import (
    LITE0,
    build_encoder_model,
    find_or_convert_encoder,
    read_weights,
)
from productrecs.records.pictures.packaged_file import PackagedFile
from tests.support.pictures import drawn, pixels
from tests.support.torch_file import features, tiny_weights, torch_file


def installed(folder: Path, content: bytes, name: str) -> PackagedFile:
    """Write a package that carries a file of weights."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("raise AssertionError('never imported')")
    (folder / name / "weights.pth").write_bytes(content)
    return PackagedFile(name, "weights.pth", hashlib.sha256(content).hexdigest())


def test_the_converted_model_says_what_the_weights_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tiny_weights()
    package = installed(tmp_path / "packages", torch_file(weights), "tiny_encoder")
    monkeypatch.syspath_prepend(tmp_path / "packages")

    path = find_or_convert_encoder(tmp_path / "data" / "encoder", package)

    assert path is not None
    onnx.checker.check_model(onnx.load(str(path)), full_check=True)
    model = read_model_file(path, EMBEDDER)
    assert model.is_fused
    picture = np.hstack([pixels(drawn(one, "ball")) for one in ("red", "green")])
    whole, middle = (
        features(weights, to_normalized_tensor(one, model)[0])
        for one in (picture, middle_square(picture))
    )
    assert min(whole.std(), middle.std()) > 0.01
    whole, middle = (one / np.linalg.norm(one) for one in (whole, middle))
    encoder = OnnxEmbedder(model)
    assert np.allclose(encoder.embed(picture), whole + middle, atol=1e-3)
    assert np.allclose(encoder.embed(picture, is_part=True), whole, atol=1e-3)


def test_it_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = installed(tmp_path / "packages", torch_file(tiny_weights()), "once_encoder")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    first = find_or_convert_encoder(tmp_path, package)
    assert first is not None
    written = first.stat().st_mtime_ns

    assert find_or_convert_encoder(tmp_path, package) == first
    assert first.stat().st_mtime_ns == written
    assert not list(tmp_path.glob("tmp*"))
    first.with_suffix(".json").unlink()  # as after a crash between the two files
    assert find_or_convert_encoder(tmp_path, package) == first
    assert read_model_file(first, EMBEDDER).is_fused


def test_without_the_package_there_is_none(tmp_path: Path) -> None:
    assert (
        find_or_convert_encoder(tmp_path, PackagedFile("no_such_encoder", "a", "b")) is None
    )


def test_weights_other_than_the_checked_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = installed(tmp_path / "packages", torch_file(tiny_weights()), "other_encoder")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    other = PackagedFile(package.module, package.file, LITE0.sha256)

    with pytest.raises(ModelFileError, match="reinstall the package other_encoder"):
        find_or_convert_encoder(tmp_path / "data", other)
    assert not (tmp_path / "data").exists()


_WHOLE = torch_file(tiny_weights())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (torch_file(tiny_weights(), "os\nsystem"), "os.system has no place"),
        (torch_file(tiny_weights(), "builtins\neval"), "builtins.eval has no place"),
        (_WHOLE[: len(_WHOLE) // 2], "cannot be read"),
        (_WHOLE[:20], "cannot be read"),
        (b"I7\n." + _WHOLE, "not a file of PyTorch"),
        (b"", "cannot be read"),
    ],
    ids=["names code", "names a builtin", "cut in half", "cut early", "no magic", "empty"],
)
def test_a_file_of_another_form_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(ModelFileError, match=words):
        read_weights(io.BytesIO(content))


def test_weights_are_read_as_they_were_written() -> None:
    weights = tiny_weights()

    found = read_weights(io.BytesIO(_WHOLE))

    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], values) for name, values in weights.items())


def test_weights_of_another_network_are_refused() -> None:
    weights = tiny_weights()
    del weights["_blocks.7._project_conv.weight"]

    with pytest.raises(ModelFileError, match="another network"):
        build_encoder_model(weights)


@pytest.mark.skipif(
    importlib.util.find_spec(LITE0.module) is None,
    reason=f"needs the package {LITE0.module}",
)
def test_the_real_package_separates_different_pictures(tmp_path: Path) -> None:
    path = find_or_convert_encoder(tmp_path)
    assert path is not None
    encoder = OnnxEmbedder(read_model_file(path, EMBEDDER))

    one, again, other = (
        encoder.embed(pixels(drawn(*kind)))
        for kind in (("red", "ball"), ("red", "ball"), ("red", "stripes"))
    )

    assert one.shape == (1280,)
    assert np.array_equal(one, again)
    assert one @ other < 0.95 * np.linalg.norm(one) * np.linalg.norm(other)
