"""Printed text: is it found and read at any angle, and nothing where there is none?"""

import hashlib
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import productrecs
from productrecs.engines.visual.image_transforms import Pixels
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.records.pictures.packaged_ocr_models import (
    TEXT_DETECTOR,
    TEXT_RECOGNIZER,
    find_text_reader_folder,
)
from productrecs.records.pictures.printed_text import PrintedTextReader, decode_ctc
from productrecs.records.pictures.sandboxed_decoder import SandboxedDecoder
from productrecs.records.pictures.text_boxes import find_text_boxes
from tests.support.pictures import drawn, encoded, pixels

FONT: Final = Path(productrecs.__file__).parent / "assets" / "fonts" / "DejaVuSans.ttf"
PACKAGE: Final = find_text_reader_folder()
needs_package = pytest.mark.skipif(
    PACKAGE is None, reason="the text reader is missing: pip install productrecs[text]"
)


def package(angle: float) -> Image.Image:
    """Return a picture of two printed lines, turned."""
    picture = Image.new("RGB", (640, 640), (200, 60, 40))
    draw = ImageDraw.Draw(picture)
    for text, y, size in (("Nordmark", 200, 80), ("Oat Drink", 330, 50)):
        draw.text((130, y), text, "white", ImageFont.truetype(str(FONT), size))
    return picture.rotate(angle, Image.Resampling.BICUBIC, fillcolor=(200, 60, 40))


def lines_of(reader: PrintedTextReader, picture: Pixels) -> list[str]:
    """Return what a reader reads in one size."""
    return reader.read_lines(picture, reader.find_boxes(picture))


@pytest.fixture(scope="module")
def reader() -> PrintedTextReader:
    """Return the packaged reader."""
    assert PACKAGE is not None
    return PrintedTextReader(PACKAGE / TEXT_DETECTOR, PACKAGE / TEXT_RECOGNIZER)


@pytest.mark.parametrize("angle", [0, 20, -20, 70])
def test_a_box_follows_its_line(angle: float) -> None:
    line = Image.new("L", (200, 200))
    ImageDraw.Draw(line).rectangle((40, 92, 159, 107), fill=255)
    probabilities = np.asarray(line.rotate(angle)) / 255.0

    (box,) = find_text_boxes(probabilities)

    assert np.allclose(box.centre, (100, 100), atol=2)
    long, short = sorted((box.width, box.height), reverse=True)
    assert 135 < long < 150
    assert 32 < short < 46
    rise = np.degrees(np.arctan2(-box.along[1], box.along[0]))
    expected = angle if abs(angle) < 45 else angle - 90
    assert rise == pytest.approx(expected, abs=3)


def test_specks_and_faint_areas_are_no_text() -> None:
    probabilities = np.zeros((64, 64))
    probabilities[10:12, 10:12] = 1.0
    probabilities[30:40, 5:60] = 0.35

    assert find_text_boxes(probabilities) == []


def test_repeated_letters_need_a_blank_between_them() -> None:
    steps = [1, 1, 0, 2, 0, 2, 2, 0, 3]
    output = np.full((len(steps), 4), 0.05)
    output[np.arange(len(steps)), steps] = 0.85

    text, confidence = decode_ctc(output, ["", "a", "b", " "])

    assert text == "abb "
    assert confidence == pytest.approx(0.85)
    assert decode_ctc(np.eye(4)[[0, 0]], ["", "a", "b", " "]) == ("", 0.0)


@needs_package
@pytest.mark.parametrize("angle", [0, 12, -15, 90, -90, 180])
def test_lines_are_read_at_any_angle(reader: PrintedTextReader, angle: float) -> None:
    read = lines_of(reader, np.asarray(package(angle)))

    assert "".join(read).replace(" ", "") == "NordmarkOatDrink"


@needs_package
@pytest.mark.parametrize("shape", ["ball", "box"])
def test_nothing_is_read_where_nothing_is_printed(
    reader: PrintedTextReader, shape: str
) -> None:
    assert lines_of(reader, pixels(drawn("red", shape))) == []


@needs_package
def test_the_sandboxed_process_reads_the_lines_of_a_photo() -> None:
    photo = encoded(package(0))

    with SandboxedDecoder(text_reader=PACKAGE) as decoder:
        described = decoder.describe_photo(photo)
    with SandboxedDecoder() as decoder:
        without = decoder.describe_photo(photo)

    assert described.lines == ("Nordmark", "Oat Drink")
    assert without.lines == ()
    assert np.array_equal(described.views, without.views)


def installed(folder: Path, name: str) -> None:
    """Write a package whose code must not run."""
    (folder / name / "models").mkdir(parents=True)
    (folder / name / "__init__.py").write_text("raise AssertionError('never imported')")
    (folder / name / "models" / TEXT_DETECTOR).write_bytes(b"a model")


def test_only_the_checked_files_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "tiny_text_reader")
    monkeypatch.syspath_prepend(tmp_path)
    right = {TEXT_DETECTOR: hashlib.sha256(b"a model").hexdigest()}

    folder = find_text_reader_folder("tiny_text_reader", right)

    assert folder == tmp_path / "tiny_text_reader" / "models"
    with pytest.raises(ModelFileError, match="is not the file that was checked"):
        find_text_reader_folder("tiny_text_reader", {TEXT_DETECTOR: "0" * 64})
    with pytest.raises(ModelFileError, match="cannot be read"):
        find_text_reader_folder("tiny_text_reader", {TEXT_RECOGNIZER: "0" * 64})
    assert find_text_reader_folder("no_such_text_reader") is None
