"""Semantic space: one store's reduced text embeddings, and nearest-neighbour search.

An encoder embeds texts as vectors of a few hundred numbers. A principal component analysis
of the store's products reduces them to 128, stored as int8: 13 MB for 100,000 products.
Their signs in a random rotation (1.6 MB) are compared first, in a tenth of the time, and
leave most products out of a search. The
similarity threshold is calibrated with pseudo-words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from productrecs.engines.array_types_and_sorting import (
    Arrays,
    Bools,
    Ints,
    Scores,
    top_score_indexes,
)
from productrecs.engines.compiled_kernels import address, declare

Vectors = npt.NDArray[np.float32]
"""One row per text, each of length 1."""

Codes = npt.NDArray[np.int8]
"""One row per item number; rows of zeros have no text."""

_differing_signs = declare("differing_signs", "aaiia", None)
_similar_rows = declare("similar_rows", "aaafaiiaa")

DIMENSIONS: Final = 128
REDUCED_FROM: Final = 1_000
"""Minimum number of products for the reduction; smaller catalogs keep full vectors."""

PSEUDO_WORD_COUNT: Final = 200
"""Number of pseudo-words that calibrate the threshold."""

MAX_PSEUDO_WORD_SHARE: Final = 0.02
"""Maximum share of pseudo-words with similar products."""

# Minimum threshold: in a small catalog pseudo-words reach little.
_MIN_THRESHOLD: Final = 0.35
MIN_THRESHOLD_SMALL: Final = 0.4
"""Minimum threshold of catalogs that are not reduced."""

EVERYDAY_WORDS: Final = (
    "sofa", "kettle", "bracelet", "notebook", "hammer", "curtain", "blanket", "perfume",
    "charger", "sandals", "trousers", "bicycle", "freezer", "lantern", "cushion", "wallet",
    "painting", "scissors", "shampoo", "umbrella", "printer", "guitar", "candle", "helmet",
    "vitamin", "sweater", "cabinet", "speaker", "mattress", "tractor", "necklace", "puzzle",
    "saucepan", "ladder", "carpet", "biscuit", "jacket", "camera", "ribbon", "bucket",
)  # fmt: skip
"""For the pseudo-words of small catalogs: halves of their own few words are too similar."""

_KNOWN_WORD_DISCOUNT: Final = 0.05
"""Reduction of the threshold for words that the encoder knows."""

_MARGIN: Final = 0.01  # allows for quantisation errors
_SEED: Final = 11
_MAX_CODE: Final = 127
_WORD_BITS: Final = 64
_COMPARED_WHOLE: Final = 20_000  # number of products below which all are compared whole
_DEVIATIONS: Final = 1.5  # between the mean of the differing bits and the limit
_BATCH_ROWS: Final = 8_192  # rows
_FIT_BATCH: Final = 2_048


@dataclass(frozen=True, slots=True)
class EmbeddingProjection:
    """Projection of an encoder's vectors to one store's space."""

    mean: Vectors  # [size]
    basis: Vectors  # [size, dimensions]

    @classmethod
    def fit(cls, rows: Vectors | Codes) -> Self:
        """Return the projection fitted to products' vectors of any length, at least one."""
        count, size = rows.shape
        if count < REDUCED_FROM:
            return cls(np.zeros(size, np.float32), np.eye(size, dtype=np.float32))
        sums, products = np.zeros(size), np.zeros((size, size))
        for begin in range(0, count, _FIT_BATCH):  # not all as float32 at once
            part = unit_rows(rows[begin : begin + _FIT_BATCH])
            sums += part.sum(axis=0)
            products += part.T @ part
        mean = sums / count
        _, axes = np.linalg.eigh(products - count * np.outer(mean, mean))
        basis = axes[:, ::-1][:, :DIMENSIONS].astype(np.float32)
        return cls(mean.astype(np.float32), np.ascontiguousarray(basis))

    def reduce(self, vectors: Vectors) -> Vectors:
        """Return rows of length 1 in the reduced space."""
        return unit_rows((vectors - self.mean) @ self.basis)


def unit_rows(rows: npt.NDArray[Any]) -> Vectors:
    """Return rows of length 1; zeros stay zeros."""
    unit: Vectors = rows.astype(np.float32)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-9)
    return unit


def quantize(rows: Vectors) -> Codes:
    """Return rows as int8, each scaled to a maximum of 127."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    codes: Codes = np.rint(rows * (_MAX_CODE / np.maximum(largest, 1e-9))).astype(np.int8)
    return codes


class RandomRotationHasher:
    """Hashes vectors to their signs in a random rotation, one bit for each dimension.

    Two vectors differ in a share of the bits that is their angle divided by pi, with the
    deviation of as many coin tosses. Source: Charikar, Similarity Estimation Techniques
    from Rounding Algorithms, 2002.
    """

    def __init__(self, dimensions: int) -> None:
        """Draw the rotation; the same each time."""
        normal = np.random.default_rng(_SEED).standard_normal((dimensions, dimensions))
        self._rotation = np.linalg.qr(normal)[0].astype(np.float32)
        self._dimensions = dimensions
        self.words = -(-dimensions // _WORD_BITS)

    def compute_signs(self, rows: Vectors) -> npt.NDArray[np.uint64]:
        """Return the signs of rows in words of 64 bits: a column for each row."""
        bits = np.zeros((len(rows), self.words * _WORD_BITS), np.bool_)
        bits[:, : self._dimensions] = rows @ self._rotation > 0
        return np.ascontiguousarray(np.packbits(bits, axis=1).view(np.uint64).T)

    def max_distance(self, similarity: float) -> int:
        """Return the bits in which nearly all vectors differ that are this similar.

        Of those exactly this similar it leaves out one in fifteen, of others far fewer.
        """
        share = math.acos(min(max(similarity, -1.0), 1.0)) / math.pi
        deviation = math.sqrt(share * (1.0 - share) / self._dimensions)
        return math.ceil(self._dimensions * (share + _DEVIATIONS * deviation))


@dataclass(frozen=True, slots=True)
class RankedSimilarProducts:
    """Item numbers, most similar first, and their similarities from -1 to 1."""

    items: list[int]
    similarities: list[float]


class SemanticSpace:
    """Products' vectors of one store; thread-safe."""

    def __init__(
        self, projection: EmbeddingProjection, codes: Codes, threshold: float
    ) -> None:
        """Store the vectors by item number; `threshold` is the similarity threshold."""
        self.projection = projection
        self.codes = np.ascontiguousarray(codes)
        self.threshold = threshold
        is_large = len(self.codes) >= _COMPARED_WHOLE
        self._signs = RandomRotationHasher(self.codes.shape[1]) if is_large else None
        lengths = np.zeros(len(self.codes), np.float32)
        words = 0 if self._signs is None else self._signs.words
        self._row_signs = np.zeros((words, len(self.codes)), np.uint64)
        for begin in range(0, len(self.codes), _BATCH_ROWS):  # not all as float32 at once
            part = self.codes[begin : begin + _BATCH_ROWS].astype(np.float32)
            lengths[begin : begin + _BATCH_ROWS] = np.linalg.norm(part, axis=1)
            if self._signs is not None:
                self._row_signs[:, begin : begin + _BATCH_ROWS] = self._signs.compute_signs(
                    part
                )
        self._inverse = np.divide(
            1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0
        )

    def __len__(self) -> int:
        """Return the number of products with a vector."""
        return int(np.count_nonzero(self._inverse))

    def nearest(
        self, vector: Vectors, visible: Bools, limit: int, *, is_known: bool = False
    ) -> RankedSimilarProducts:
        """Return up to `limit` visible products above the threshold, most similar first.

        With `is_known`, the encoder knows every word, and a lower threshold applies.
        """
        query = quantize(self.projection.reduce(vector[None, :]))[0]
        length = np.linalg.norm(query.astype(np.float32))
        if not len(self.codes) or not length:
            return RankedSimilarProducts([], [])
        least = (
            max(self.threshold - _KNOWN_WORD_DISCOUNT, _MIN_THRESHOLD)
            if is_known
            else self.threshold
        )
        compared = visible[: len(self.codes)]
        if self._signs is not None:
            signs = self._signs.compute_signs(query[None, :].astype(np.float32))[
                :, 0
            ].copy()
            distances = _count_differing_signs(self._row_signs, signs)[: len(visible)]
            compared = compared & (distances <= self._signs.max_distance(least))
        items, products = _similar_rows_and_dot_products(
            self.codes, query, self._inverse, np.float32(least * length), compared
        )
        best = top_score_indexes(items, products, limit)
        return RankedSimilarProducts(
            items[best].tolist(), (products[best] / length).tolist()
        )

    def memory_bytes(self) -> int:
        """Return the memory of the vectors."""
        arrays = (self.codes, self._inverse, self._row_signs, self.projection.basis)
        return sum(array.nbytes for array in arrays)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        return {
            "mean": self.projection.mean,
            "basis": self.projection.basis,
            "codes": self.codes,
            "least": np.array(self.threshold),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """Return the stored space.

        Raises:
            KeyError: when an array is missing.
            ValueError: when the shapes of the arrays differ.
        """
        mean, basis, codes = arrays["mean"], arrays["basis"], arrays["codes"]
        shapes = (basis.shape[0], codes.shape[1]) if codes.ndim == basis.ndim == 2 else ()  # noqa: PLR2004
        if shapes != (*mean.shape, basis.shape[-1]) or codes.dtype != np.int8:
            message = "the arrays of the semantic space do not fit together"
            raise ValueError(message)
        return cls(EmbeddingProjection(mean, basis), codes, float(arrays["least"]))


def similarity_threshold(
    pseudo_words: Sequence[Vectors],
    projection: EmbeddingProjection,
    product_codes: Codes,
    pseudo_word_share: float = MAX_PSEUDO_WORD_SHARE,
) -> float:
    """Return the similarity that no more than a share of pseudo-words reach.

    `pseudo_words` are their vectors. Rows of zeros are pseudo-words that the encoder
    refuses.
    """
    if not pseudo_words or not len(product_codes):
        return _MIN_THRESHOLD
    rows_of_words = np.concatenate(pseudo_words)
    queries = projection.reduce(rows_of_words)
    best = np.full(len(queries), -1.0, np.float32)
    for begin in range(0, len(product_codes), _BATCH_ROWS):
        rows = unit_rows(product_codes[begin : begin + _BATCH_ROWS])
        np.maximum(best, (queries @ rows.T).max(axis=1), out=best)
    best[~rows_of_words.any(axis=1)] = -1.0
    return max(float(np.quantile(best, 1.0 - pseudo_word_share)) + _MARGIN, _MIN_THRESHOLD)


def make_pseudo_words(words: Sequence[str]) -> list[str]:
    """Return pseudo-words: the beginning of one word joined to the end of another."""
    if not words:
        return []
    rng, existing_words = np.random.default_rng(_SEED), set(words)
    pairs = rng.integers(len(words), size=(PSEUDO_WORD_COUNT, 2)).tolist()
    pseudo_words = (
        words[first][: len(words[first]) // 2] + words[second][len(words[second]) // 2 :]
        for first, second in pairs
    )
    return list(dict.fromkeys(word for word in pseudo_words if word not in existing_words))


def _count_differing_signs(
    signs: npt.NDArray[np.uint64], query_signs: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint16]:
    """Return in how many bits each column of `signs` differs from the query's."""
    n_words, n_rows = signs.shape
    distances = np.empty(n_rows, np.uint16)
    _differing_signs(
        address(signs), address(query_signs), n_words, n_rows, address(distances)
    )
    return distances


def _similar_rows_and_dot_products(
    rows: npt.NDArray[np.int8],
    query: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    min_product: np.float32,
    compared: Bools,
) -> tuple[Ints, Scores]:
    """Return the compared rows with a scaled dot product above `min_product`, and it."""
    compared = np.ascontiguousarray(compared)
    count = min(rows.shape[0], compared.shape[0])
    similar_rows, products = np.empty(count, np.int64), np.empty(count, np.float32)
    size = _similar_rows(
        address(rows),
        address(query),
        address(scales),
        min_product,
        address(compared),
        count,
        rows.shape[1],
        address(similar_rows),
        address(products),
    )
    return similar_rows[:size].copy(), products[:size].copy()
