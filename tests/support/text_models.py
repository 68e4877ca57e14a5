"""Tiny text model: stands for an operator's, and knows a few words."""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

SIZE = 48
# Two words of the catalog that mean alike, and one that only shoppers say.
ALIKE = (
    ("refrigerator", "freezer", "fridge"), ("sofa", "davenport", "chesterfield"),
    ("trousers", "pants", "slacks"), ("sneakers", "trainers", "kicks"),
    ("lamp", "light", "luminaire"), ("kettle", "boiler", "samovar"),
    ("rug", "carpet", "kilim"), ("bicycle", "bike", "velocipede"),
    ("purse", "handbag", "clutch"), ("blanket", "throw", "afghan"),
    ("wardrobe", "closet", "armoire"), ("headphones", "earphones", "cans"),
)  # fmt: skip
OTHERS = ("grand", "small", "plain")


def model(
    folder: Path, *, knows: bool = True, takes: str = "input_ids", name: str = "words"
) -> Path:
    """Write a model of words by groups; one that does not know has its rows mixed up.

    One that takes something else than the numbers of tokens cannot be run. Another name
    gives the file another SHA-256.
    """
    words = ["[UNK]", *(word for group in ALIKE for word in group), *OTHERS]
    rng = np.random.default_rng(3)
    rows = 0.1 * rng.standard_normal((len(words), SIZE))
    for n in range(len(ALIKE)):
        rows[1 + 3 * n : 4 + 3 * n, n] += 1.0
    for n in range(len(OTHERS)):
        rows[-1 - n, -1 - n] += 1.0
    if not knows:
        rows[1:] = rng.permutation(rows[1:])
    table = numpy_helper.from_array(rows.astype(np.float32), "table")
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", takes], ["tokens"])],
        name,
        [helper.make_tensor_value_info(takes, TensorProto.INT64, ["n", "t"])],
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["n", "t", SIZE])],
        [table],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    made.ir_version = 8
    onnx.checker.check_model(made)
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    ids = {word: n for n, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    sidecar = {
        "kind": "text-embedder",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "tokenizer": "tokenizer.json",
        "tokenizer_sha256": hashlib.sha256(
            (folder / "tokenizer.json").read_bytes()
        ).hexdigest(),
        "pooling": "mean",
    }
    path.with_suffix(".json").write_text(json.dumps(sidecar))
    return path
