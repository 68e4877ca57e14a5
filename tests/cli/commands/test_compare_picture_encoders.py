"""`productrecs models compare`: a model that tells the kinds apart is shown to do so."""

import functools
import http.server
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from productrecs.training.visual.encoder_comparison import (
    PER_KIND,
    choose_sample_rows,
    measure_encoder,
)
from tests.cli.commands.test_installed_models import QuietHandler
from tests.cli.conftest import CommandLine
from tests.records.pictures.test_onnx_embedder_and_detector import mean_colour
from tests.support.pictures import COLOURS, drawn, encoded

SHAPES = ("ball", "box", "cross")
KINDS = ("red", "green", "blue")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """Give the address of a server of pictures, six of each colour, and of models."""
    place = tmp_path / "host"
    (place / "colours").mkdir(parents=True)
    mean_colour(place / "colours" / "model.onnx")
    offer = {"name": "colours", "licence": "MIT", "about": "colours"}
    (place / "models.json").write_text(json.dumps({"models": [offer]}), "utf-8")
    for kind in KINDS:
        for number in range(6):
            picture = drawn(kind, SHAPES[number % 3], number)
            (place / f"{kind}-{number}.jpg").write_bytes(encoded(picture))
    handler = functools.partial(QuietHandler, directory=str(place))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def colours(
    shell: CommandLine, shop: str, host: str, write: Callable[[str, str | bytes], str]
) -> str:
    """Return a store with products of three colours, and install a model of colours."""
    items = [
        {
            "id": f"{kind}-{number}",
            "title": "A thing",
            "price": 5,
            "categories": [kind],
            "image_url": f"http://{host}/{kind}-{number}.jpg",
        }
        for kind in KINDS
        for number in range(6)
    ]
    lines = "".join(json.dumps(item) + "\n" for item in items)
    shell("import-items", shop, write("items.jsonl", lines))
    shell("models", "install", "colours", "--from", f"http://{host}", "--yes")
    return shop


def test_a_model_is_compared_on_the_stores_own_pictures(
    shell: CommandLine, colours: str, host: str
) -> None:
    environment = {
        "PRODUCTRECS_IMAGE_HOSTS": host,
        "PRODUCTRECS_IMAGE_MODEL": "none",
    }
    command = ("models", "compare", "colours", "--store", colours)

    found = shell.json(*command, **environment)
    said = shell(*command, **environment)

    assert found["colours"]["precision"] > 0.9
    assert 0.5 < found["current"]["precision"] <= 1
    assert found["colours"]["pictures"] == found["current"]["pictures"] == 18
    assert found["colours"]["milliseconds"] > 0
    assert "current: " in said
    assert "of the five most similar are of the same category (18 pictures)" in said
    assert "used" not in shell("models", "list")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("models", "compare", "nothing", "--store", "shop.example"), "is not installed"),
        (("models", "compare", "colours", "--store", "other.example"), "other.example"),
    ],
)
def test_what_is_not_there_is_said(
    shell: CommandLine, colours: str, words: tuple[str, ...], said: str
) -> None:
    assert colours
    assert said in shell.refused(*words)


def test_pictures_that_cannot_be_fetched_are_no_comparison(
    shell: CommandLine, colours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "productrecs.cli.commands.compare_picture_encoders._PAUSE_SECONDS", 0.0
    )

    said = shell.refused("models", "compare", "colours", "--store", colours)

    assert "no category has six products whose pictures can be fetched" in said


def test_a_sample_has_products_of_the_largest_kinds() -> None:
    kinds = [*["big"] * 40, *["small"] * 6, *["tiny"] * 5, *[""] * 100]

    chosen = Counter(kinds[row] for row in choose_sample_rows(kinds, 200))

    assert chosen == {"big": PER_KIND, "small": 6}
    assert len(choose_sample_rows([f"k{n % 30}" for n in range(600)], 100)) <= 100


def test_unreadable_pictures_are_left_out() -> None:
    pictures = [encoded(drawn(colour, "ball", n)) for colour in COLOURS for n in range(3)]
    kinds = [colour for colour in COLOURS for _ in range(3)]

    figures = measure_encoder(None, [b"no picture", *pictures], ["red", *kinds])
    none = measure_encoder(None, [b"no picture"], ["red"])

    assert figures.pictures == len(pictures)
    assert 0 < figures.precision <= 1
    assert none.pictures == 0
