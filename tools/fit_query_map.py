"""Fit the map by which queries of several words are composed of their word pieces.

Usage: python -m tools.fit_query_map

The packaged text model takes over a millisecond for a query. Instead, each word piece is
embedded once, and a linear map turns the mean of a query's pieces into the vector that the
model would give. The map is fitted by ridge regression on phrases of everyday product
names, colours and materials; no shop's texts or queries are in it. It belongs to one
version of the model, so it ships with the package.
"""

from __future__ import annotations

import random
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from productrecs.engines.text.colour_and_material_words import attribute_meanings_by_word
from productrecs.engines.text.product_word_translations import product_words
from productrecs.training.search.packaged_text_model import (
    QUERY_MAP,
    load_packaged_text_model,
)
from productrecs.training.search.text_embedder import TextEmbedder

_PHRASES: Final = 4_000
_RIDGE: Final = 1.0
_BATCH: Final = 4
_SIZE: Final = 384  # of the model's vectors


def main() -> None:
    """Write the map beside the code that reads it."""
    phrases = _phrases()
    with tempfile.TemporaryDirectory() as folder:
        model = load_packaged_text_model(Path(folder))
        if model is None:
            raise SystemExit("productrecs[meaning] is not installed")
        embedder = TextEmbedder(replace(model, query_map=_identity(Path(folder))))
        embedder.precompute_piece_vectors(threading.Event())
        wanted = np.concatenate(
            [embedder.embed(phrases[at : at + _BATCH]) for at in range(0, _PHRASES, _BATCH)]
        )
        means = embedder.embed_queries(phrases)
    identity = np.eye(means.shape[1])
    squares = means.T @ means + _RIDGE * identity
    difference = np.linalg.solve(squares, means.T @ (wanted - means))
    np.save(QUERY_MAP, (identity + difference).astype(np.float16))


def _identity(folder: Path) -> Path:
    """Return the file of a map that changes nothing."""
    path = folder / "identity.npy"
    np.save(path, np.eye(_SIZE, dtype=np.float16))
    return path


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
