"""`productrecs models`: fetched from a mirror, verified, asked for, used, and undone."""

import contextlib
import functools
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from productrecs.cli.main import productrecs
from productrecs.records.pictures import network_archives
from productrecs.services import INSTALLED_MODELS_FOLDER, build_services
from productrecs.settings import from_environment
from productrecs.training.installed_models import InstalledModels, ModelSource
from tests.records.pictures.test_onnx_embedder_and_detector import mean_colour
from tests.support.lite_models import (
    find_network,
    network_archive,
    red_chair,
    red_person,
)
from tests.support.text_models import model as text_model_file


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """Return a folder that offers a picture model and a text model."""
    place, offers = tmp_path / "mirror", []
    for name in ("colours", "other-colours", "words"):
        (place / name).mkdir(parents=True)
        offers.append({"name": name, "licence": "MIT", "about": f"a model of {name}"})
    mean_colour(place / "colours" / "model.onnx")
    mean_colour(place / "other-colours" / "model.onnx")
    made = text_model_file(tmp_path)
    fields = json.loads(made.with_suffix(".json").read_text("utf-8"))
    made.rename(place / "words" / "model.onnx")
    tokenizer = fields.get("tokenizer", "tokenizer.json")
    made.with_name(tokenizer).rename(place / "words" / tokenizer)
    (place / "words" / "model.json").write_text(json.dumps(fields), "utf-8")
    (place / "models.json").write_text(json.dumps({"models": offers}), "utf-8")
    return place


@pytest.fixture
def address(mirror: Path) -> Iterator[str]:
    """Give the address of a server of that folder."""
    handler = functools.partial(QuietHandler, directory=str(mirror))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's
        """Say nothing."""


def run(data: Path, *words: str, said: str = "", fails: bool = False) -> str:
    """Run `productrecs models` and return what it says."""
    command = ["models", *words, "--data", str(data)]
    result = CliRunner().invoke(productrecs, command, input=said)
    assert (result.exit_code != 0) is fails, result.output
    return result.output


def digest(mirror: Path, name: str) -> str:
    """Return the SHA-256 of an offered model."""
    return hashlib.sha256((mirror / name / "model.onnx").read_bytes()).hexdigest()


def test_a_model_is_shown_asked_for_and_installed(
    tmp_path: Path, mirror: Path, address: str
) -> None:
    offered = run(tmp_path, "list", "--from", address)
    declined = run(
        tmp_path, "install", "colours", "--from", address, said="n\n", fails=True
    )
    nothing = run(tmp_path, "list")
    accepted = run(tmp_path, "install", "colours", "--from", address, said="y\n")
    installed = run(tmp_path, "list")

    assert "colours: a model of colours (MIT)" in offered
    assert digest(mirror, "colours") in declined
    assert "MB, MIT" in declined
    assert "No models." in nothing
    assert "Installed." in accepted
    assert "colours: embedder, 0.0 MB, MIT\n" in installed
    assert [path.name for path in (tmp_path / INSTALLED_MODELS_FOLDER).iterdir()] == [
        "colours"
    ]


def test_another_file_than_its_hash_says_is_not_installed(
    tmp_path: Path, mirror: Path
) -> None:
    command = ("install", "colours", "--from", str(mirror), "--yes")

    other = run(tmp_path, *command, "--sha256", "0" * 64, fails=True)
    short = run(tmp_path, *command, "--sha256", "abc", fails=True)
    (mirror / "colours" / "model.onnx").write_bytes(b"damaged on its way")
    damaged = run(tmp_path, *command, fails=True)

    assert "another SHA-256" in other
    assert "64 hexadecimal digits" in short
    assert "is not the one in model.json" in damaged
    assert "No models." in run(tmp_path, "list")


def test_the_right_hash_is_accepted_without_a_question(
    tmp_path: Path, mirror: Path
) -> None:
    right = digest(mirror, "colours").upper()

    said = run(
        tmp_path, "install", "colours", "--from", str(mirror), "--yes", "--sha256", right
    )

    assert "Installed." in said


def test_a_used_model_serves_until_it_is_stopped(tmp_path: Path, mirror: Path) -> None:
    for name in ("colours", "words"):
        run(tmp_path, "install", name, "--from", str(mirror), "--yes")
        run(tmp_path, "use", name)
    settings = from_environment({}, tmp_path)
    folder = tmp_path / INSTALLED_MODELS_FOLDER

    with contextlib.closing(build_services(settings)) as services:
        picture_model, text_model = (
            services.find_or_convert_picture_model(),
            services.load_or_convert_text_model(),
        )
    kept = run(tmp_path, "remove", "colours", fails=True)
    listed = run(tmp_path, "list")
    run(tmp_path, "stop", "colours")
    with contextlib.closing(build_services(settings)) as services:
        after = services.settings
    run(tmp_path, "remove", "colours")

    assert picture_model is not None
    assert picture_model.path == folder / "colours" / "model.onnx"
    assert text_model is not None
    assert text_model.path == folder / "words" / "model.onnx"
    assert "colours is used" in kept
    assert listed.count(", used") == 2
    assert (after.image_model, after.has_packaged_encoder) == (None, True)
    assert "colours" not in run(tmp_path, "list")


def test_a_setting_comes_before_an_installed_model(tmp_path: Path, mirror: Path) -> None:
    run(tmp_path, "install", "colours", "--from", str(mirror), "--yes")
    run(tmp_path, "use", "colours")
    settings = from_environment({"PRODUCTRECS_IMAGE_MODEL": "none"}, tmp_path)

    with contextlib.closing(build_services(settings)) as services:
        assert services.find_or_convert_picture_model() is None


def test_a_model_takes_the_place_of_the_used_one_of_its_kind(
    tmp_path: Path, mirror: Path
) -> None:
    for name in ("colours", "other-colours"):
        run(tmp_path, "install", name, "--from", str(mirror), "--yes")
        run(tmp_path, "use", name)

    used = [
        m.name
        for m in InstalledModels(tmp_path / INSTALLED_MODELS_FOLDER).list()
        if m.is_used
    ]

    assert used == ["other-colours"]
    again = run(
        tmp_path, "install", "other-colours", "--from", str(mirror), "--yes", fails=True
    )
    assert "is used" in again


def test_a_changed_file_does_not_serve(tmp_path: Path, mirror: Path) -> None:
    run(tmp_path, "install", "colours", "--from", str(mirror), "--yes")
    path = tmp_path / INSTALLED_MODELS_FOLDER / "colours" / "model.onnx"
    path.write_bytes(path.read_bytes() + b"x")

    assert "is not the one in model.json" in run(tmp_path, "use", "colours", fails=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("use", "nothing"), "is not installed"),
        (("stop", "nothing"), "is not installed"),
        (("remove", "nothing"), "is not installed"),
        (("install", "nothing", "--from", "MIRROR"), "does not offer nothing"),
        (("install", "../colours", "--from", "MIRROR"), "does not offer ../colours"),
        (("list", "--from", "MIRROR/empty"), "cannot be read"),
        (("list", "--from", "http://127.0.0.1:9"), "cannot be read"),
        (("list", "--from", "http://[bad"), "cannot be read"),
    ],
)
def test_what_is_not_there_is_said(
    tmp_path: Path, mirror: Path, words: tuple[str, ...], said: str
) -> None:
    command = [word.replace("MIRROR", str(mirror)) for word in words]

    assert said in run(tmp_path, *command, fails=True)


def test_a_tokenizer_of_another_folder_is_refused(tmp_path: Path, mirror: Path) -> None:
    sidecar = mirror / "words" / "model.json"
    fields = json.loads(sidecar.read_text("utf-8"))
    sidecar.write_text(json.dumps({**fields, "tokenizer": "../../models.json"}), "utf-8")

    said = run(tmp_path, "install", "words", "--from", str(mirror), "--yes", fails=True)

    assert "names the tokenizer" in said


def test_an_install_that_was_killed_leaves_no_model(tmp_path: Path, mirror: Path) -> None:
    data = tmp_path / "data"
    models, place = (
        InstalledModels(data / INSTALLED_MODELS_FOLDER),
        ModelSource(str(mirror)),
    )
    models.stage(place, place.offer("colours"))  # and nothing after it

    assert "No models" in run(data, "list")
    assert "Installed" in run(data, "install", "colours", "--from", str(mirror), "--yes")


@pytest.mark.parametrize("is_body_of_0_1_0", [False, True])
def test_packages_of_networks_are_converted_and_serve_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_body_of_0_1_0: bool
) -> None:
    networks = {"body": red_person(), "objects": red_chair()}
    archives = {
        name: network_archive(tmp_path / f"{name}.tgz", name, content)
        for name, content in networks.items()
    }
    folder = tmp_path / INSTALLED_MODELS_FOLDER

    other = [
        run(tmp_path, "install", name, "--from", str(archive), "--yes", fails=True)
        for name, archive in archives.items()
    ]
    verified = [find_network(name, content) for name, content in networks.items()]
    monkeypatch.setattr(network_archives, "ARCHIVED_NETWORKS", verified)
    for name, archive in archives.items():
        run(tmp_path, "install", name, "--from", str(archive), "--yes")
        run(tmp_path, "use", name)
        if name == "body" and is_body_of_0_1_0:  # then both had one kind
            about = folder / name / "about.json"
            about.write_text(about.read_text().replace("body detector", "detector"))
            (folder / "used.json").write_text('{"detector": "body"}')
    wrong = run(tmp_path, "install", "body", "--from", str(archives["objects"]), fails=True)
    offered = run(tmp_path, "list", "--from", str(archives["objects"]))
    listed, served = run(tmp_path, "list"), detectors(tmp_path)
    named = detectors(tmp_path, {"PRODUCTRECS_IMAGE_DETECTOR": "/srv/yolox.onnx"})
    run(tmp_path, "stop", "objects")
    run(tmp_path, "remove", "objects")

    assert all("expected" in said for said in other)
    assert "does not offer body" in wrong
    assert "objects: a detector of furniture" in offered
    assert "body: body detector, 0.0 MB, Apache-2.0, used" in listed
    assert "objects: detector, 0.9 MB, Apache-2.0, used" in listed
    assert served == (folder / "objects" / "model.onnx", folder / "body" / "model.onnx")
    assert named == (Path("/srv/yolox.onnx"), folder / "body" / "model.onnx")
    assert detectors(tmp_path) == (folder / "body" / "model.onnx",)


def detectors(data: Path, environment: dict[str, str] | None = None) -> tuple[Path, ...]:
    """Return the detectors that the services use."""
    settings = from_environment(environment or {}, data)
    with contextlib.closing(build_services(settings)) as services:
        return services.settings.image_detectors
