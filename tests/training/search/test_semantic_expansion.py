"""Semantic expansion: an operator's model finds what words miss, where it helps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.text.index_schema import FORMAT, ProductText
from productrecs.engines.text.search_index import IndexQuery, IndexWriter, Relaxed
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.storage.index_files import IndexFolder, IndexManifest
from productrecs.training.search.semantic_expansion import ExpansionBuilder, ServedExpansion
from productrecs.training.search.served_index import ServedIndex
from productrecs.training.search.text_embedder import TextEmbedder, TextModel
from tests.support.text_models import ALIKE, model

if TYPE_CHECKING:
    from pathlib import Path

STORE = StoreId("st_kin")
VISIBLE = np.ones(200, dtype=np.bool_)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> IndexFolder:
    """Give the folder of a store whose products say the first two words of each group."""
    folder = IndexFolder(tmp_path_factory.mktemp("indexes"))
    generation = folder.new_generation()
    with IndexWriter(folder.path(generation), "en") as writer:
        for n, (one, other, _) in enumerate(ALIKE):
            writer.put(
                [
                    ProductText(3 * n, f"Grand {one}", description=f"or {other}"),
                    ProductText(3 * n + 1, f"Small {other}"),
                    ProductText(3 * n + 2, f"Plain {one}"),
                ]
            )
        writer.commit()
    folder.publish(IndexManifest(generation, FORMAT, "en", "en", applied_seq=1))
    return folder


def related(folder: IndexFolder, path: Path) -> ServedIndex:
    """Return the served index once a model was tried on its words."""
    embedder = TextEmbedder(TextModel.read(path))
    kinship = ExpansionBuilder(embedder)
    steps = 0
    while kinship.turn(STORE, folder):
        steps += 1
        assert steps < 50
    assert steps > 1
    again = ExpansionBuilder(embedder)
    assert not again.turn(STORE, folder)  # another process finds it done
    served = ServedIndex(folder, ServedExpansion(folder, embedder))
    served.refresh()
    return served


def test_words_that_the_catalog_lacks_find_what_they_mean(
    folder: IndexFolder, tmp_path: Path
) -> None:
    served = related(folder, model(tmp_path))

    found = served.find(IndexQuery(served.analyse("fridge"), 10, VISIBLE))
    assert (set(found.items), found.relaxed) == ({0, 1, 2}, Relaxed.SPELLING)
    assert set(
        served.find(IndexQuery(served.analyse("small settee"), 2, VISIBLE)).items
    ) <= {
        3,
        4,
        5,
    }
    assert served.find(IndexQuery(served.analyse("gramophone"), 10, VISIBLE)).items == []
    assert served.find(IndexQuery(served.analyse("sofa"), 10, VISIBLE)).items[0] in {
        3,
        5,
    }  # words come as before


def test_control_a_model_that_knows_nothing_of_this_catalog_is_not_asked(
    folder: IndexFolder, tmp_path: Path
) -> None:
    served = related(folder, model(tmp_path, knows=False))

    for _, _, typed in ALIKE:
        assert served.find(IndexQuery(served.analyse(typed), 10, VISIBLE)).items == []


def test_a_model_comes_into_force_while_the_index_is_open(
    folder: IndexFolder, tmp_path: Path
) -> None:
    path = model(tmp_path)
    (folder.folder / "kin.npz").unlink(missing_ok=True)
    embedder = TextEmbedder(TextModel.read(path))
    served = ServedIndex(folder, ServedExpansion(folder, embedder))
    served.refresh()
    assert served.find(IndexQuery(served.analyse("fridge"), 10, VISIBLE)).items == []
    before = served.version

    related(folder, path)
    served.refresh()

    assert served.find(IndexQuery(served.analyse("fridge"), 10, VISIBLE)).items
    assert served.version is not before
    (folder.folder / "kin.npz").write_bytes(b"not what was written")
    served.refresh()
    assert served.find(IndexQuery(served.analyse("fridge"), 10, VISIBLE)).items == []


def test_a_model_that_cannot_be_run_keeps_nobody_from_searching(
    folder: IndexFolder, tmp_path: Path
) -> None:
    path = model(tmp_path)
    related(folder, path)
    lost = TextEmbedder(TextModel.read(path))
    path.unlink()
    kin = ServedExpansion(folder, lost)
    assert kin.refresh()
    assert kin.of("fridge") == []

    broken = TextEmbedder(TextModel.read(model(tmp_path, takes="pixels")))
    kinship = ExpansionBuilder(broken)
    assert kinship.turn(STORE, folder)  # another model: begun anew
    assert not kinship.turn(STORE, folder)  # and given up
    assert not kinship.turn(STORE, folder)


def test_files_that_are_not_the_ones_described_are_refused(tmp_path: Path) -> None:
    path = model(tmp_path)
    assert TextModel.read(path).name.startswith("onnx-")
    tokenizer = tmp_path / "tokenizer.json"
    whole = tokenizer.read_bytes()
    tokenizer.write_bytes(whole + b" ")
    with pytest.raises(ModelFileError, match="tokenizer"):
        TextModel.read(path)
    tokenizer.write_bytes(whole)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelFileError, match="SHA-256"):
        TextModel.read(path)
    sidecar = path.with_suffix(".json")
    sidecar.unlink()
    with pytest.raises(ModelFileError, match="beside it"):
        TextModel.read(path)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_vectors_are_of_length_one_whatever_stands_beside(
    tmp_path: Path, pooling: str
) -> None:
    path = model(tmp_path)
    sidecar = path.with_suffix(".json")
    told = json.loads(sidecar.read_text()) | {"pooling": pooling}
    sidecar.write_text(json.dumps(told))
    embedder = TextEmbedder(TextModel.read(path))

    alone = embedder.embed(["sofa"])
    beside = embedder.embed(["sofa", "sofa couch settee rug"])

    assert np.allclose(np.linalg.norm(beside, axis=1), 1.0)
    assert np.allclose(alone[0], beside[0])  # what fills a batch up counts nothing
    assert np.allclose(beside[0], beside[1]) == (pooling == "first")
