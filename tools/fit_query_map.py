"""Fit the map by which queries of several words are composed of their word pieces.

Usage: python -m tools.fit_query_map [words]; with `words` the map stays as it is.

The packaged text model takes over a millisecond for a query. Instead, each word piece is
embedded once, and a linear map turns the mean of a query's pieces into the vector that the
model would give. The map is fitted by ridge regression on phrases of everyday product
names, colours and materials; no shop's texts or queries are in it.

The mean of the pieces of "faucet" is not its meaning. So the file also has the vectors of
everyday names that are one word of several pieces. It belongs to one version of the model
and ships with the package.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from productrecs.engines.text.colour_and_material_words import attribute_meanings_by_word
from productrecs.engines.text.product_word_translations import product_words
from productrecs.engines.text.semantic_space import quantize
from productrecs.training.search.packaged_text_model import (
    QUERY_MAP,
    load_or_convert_packaged_text_model,
)
from productrecs.training.search.text_embedder import TextEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from productrecs.engines.text.semantic_space import Vectors
    from productrecs.training.search.text_embedder import TextModel

_PHRASES: Final = 4_000
_RIDGE: Final = 1.0
_BATCH: Final = 4
_SIZE: Final = 384  # of the model's vectors


def main() -> None:
    """Write the map and the words' vectors beside the code that reads them."""
    with tempfile.TemporaryDirectory() as folder:
        model = load_or_convert_packaged_text_model(Path(folder))
        if model is None:
            raise SystemExit("productrecs[meaning] is not installed")
        embedder = TextEmbedder(model)
        words = [word for word in _words() if not embedder.knows_every_word(word)]
        vectors = _embed(embedder, words)
        keeps_map = sys.argv[1:] == ["words"]
        query_map = np.load(QUERY_MAP)["map"] if keeps_map else _fit_map(model)
    _write(QUERY_MAP, query_map, words, vectors)


def _fit_map(model: TextModel) -> npt.NDArray[np.floating]:
    """Return the map from the mean of a phrase's pieces to the model's vector."""
    identity = np.eye(_SIZE)
    path = model.path.with_name("identity.npz")
    _write(path, identity, [], np.zeros((0, _SIZE), np.float32))
    embedder = TextEmbedder(replace(model, query_map=path))
    embedder.precompute_piece_vectors(threading.Event())
    phrases = _phrases()
    wanted, means = _embed(embedder, phrases), embedder.embed_queries(phrases)
    squares = means.T @ means + _RIDGE * identity
    return identity + np.linalg.solve(squares, means.T @ (wanted - means))


def _embed(embedder: TextEmbedder, texts: Sequence[str]) -> Vectors:
    return np.concatenate(
        [embedder.embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
    )


def _write(
    path: Path, query_map: npt.ArrayLike, words: Sequence[str], vectors: Vectors
) -> None:
    np.savez(
        path,
        map=np.asarray(query_map, np.float16),
        words=np.array(words, np.str_),
        codes=quantize(vectors),
    )


def _words() -> list[str]:
    """Return the everyday names of one word, as one and as several."""
    names = {name[0] for row in product_words().names for name in row["en"] if not name[1:]}
    return sorted(names | {f"{name}s" for name in names if not name.endswith("s")})


def _phrases() -> list[str]:
    """Return distinct phrases of several words, the same each time."""
    rng = random.Random(5)  # noqa: S311 - no secret
    names = sorted({" ".join(name) for row in product_words().names for name in row["en"]})
    words = sorted({word for name in names for word in name.split()})
    attributes = sorted(attribute_meanings_by_word("en"))
    makers = (
        lambda: (rng.choice(attributes), rng.choice(names)),
        lambda: (rng.choice(words), rng.choice(names)),
        lambda: (rng.choice(names), rng.choice(("for", "with")), rng.choice(names)),
        lambda: rng.sample(words, k=rng.randint(2, 4)),
        lambda: (*rng.sample(attributes, k=2), rng.choice(names)),
    )
    found: dict[str, None] = {}
    while len(found) < _PHRASES:
        found[" ".join(rng.choice(makers)())] = None
    return list(found)


if __name__ == "__main__":
    main()
