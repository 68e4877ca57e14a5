"""Compiled kernels: the same results as scipy, which only tests and benchmarks need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage, sparse, special, stats

from productrecs.engines import compiled_kernels, probability_distributions
from productrecs.engines.array_types_and_sorting import Floats, csr_offsets
from productrecs.engines.copurchase.sparse_product import SparseRows, multiply
from productrecs.engines.visual.connected_components import (
    close_mask,
    label_parts,
    part_edges,
)

SHARES = (0.1, 0.5, 0.9)


def scattered(seed: int, n_rows: int, n_columns: int, count: int) -> SparseRows:
    """Return a matrix with at most `count` values, some columns twice in a row."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, n_rows, count))
    columns = rng.integers(0, n_columns, count).astype(np.int32)
    return SparseRows(csr_offsets(rows, n_rows), columns, rng.random(count))


@pytest.mark.parametrize("n_columns", [7, 5_000])  # many and few columns of a row
def test_a_product_is_that_of_scipy(n_columns: int) -> None:
    left, right = scattered(1, 40, 60, 500), scattered(2, 60, n_columns, 900)
    shapes = (40, 60), (60, n_columns)
    expected, counts = (
        sparse.csr_array((first, left.columns, left.offsets), shape=shapes[0])
        @ sparse.csr_array((second, right.columns, right.offsets), shape=shapes[1])
        for first, second in ((left.values, right.values), (np.ones(500), np.ones(900)))
    )
    for matrix in (expected, counts):
        matrix.sort_indices()

    product = multiply(left, right, n_columns)

    np.testing.assert_array_equal(product.columns, expected.indices)
    np.testing.assert_array_equal(
        product.rows, np.repeat(np.arange(40), np.diff(expected.indptr))
    )
    np.testing.assert_array_equal(product.sums, expected.data)
    np.testing.assert_array_equal(product.counts, counts.data)


def test_a_product_with_empty_rows_is_empty() -> None:
    nothing = SparseRows(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0))

    product = multiply(nothing, scattered(1, 5, 5, 9), 5)

    assert [len(column) for column in product] == [0, 0, 0, 0]


def test_transposing_keeps_rows_ascending() -> None:
    matrix = scattered(3, 50, 20, 300)

    turned = matrix.transposed(20)

    dense = np.zeros((50, 20))
    np.add.at(dense, (np.repeat(np.arange(50), np.diff(matrix.offsets)), matrix.columns), 1)
    ends = turned.offsets[1:-1]
    runs = np.split(turned.columns, ends)
    assert all((np.diff(run) >= 0).all() for run in runs)
    assert [len(run) for run in runs] == dense.sum(axis=0).tolist()


def test_the_incomplete_gamma_function_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    whole = rng.integers(1, 300, 5_000).astype(np.float64)
    shapes: Floats = np.concatenate((whole, rng.random(5_000) * 4 + 0.5))
    values: Floats = shapes * rng.random(10_000) * 3
    expected: Floats = special.gammainc(shapes, values)

    ours = probability_distributions.gamma_p(shapes, values)

    np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-300)
    assert probability_distributions.gamma_p(2.0, 0.0).tolist() == [0.0]
    of_one_shape = probability_distributions.gamma_p(2.0, values[:3])
    np.testing.assert_allclose(of_one_shape, special.gammainc(2.0, values[:3]), rtol=1e-11)


def test_negative_binomial_quantiles_are_those_of_scipy() -> None:
    rng = np.random.default_rng(5)
    means = np.concatenate(([0.0], np.round(10 ** rng.uniform(-2, 4, 4_000), 2)))
    sizes = 1 / rng.uniform(0.001, 5, 4_001)

    ours = probability_distributions.negative_binomial_quantiles(means, sizes, SHARES)

    chances = sizes / (sizes + means)
    expected = np.array([stats.nbinom.ppf(share, sizes, chances) for share in SHARES])
    np.testing.assert_array_equal(ours, np.maximum(expected, 0))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.8, 1.0])
def test_parts_of_a_mask_are_those_of_scipy(share: float) -> None:
    mask = np.random.default_rng(6).random((48, 31)) < share

    labels, count = label_parts(mask)
    boxes = part_edges(labels, count)

    expected, expected_count = ndimage.label(mask)
    assert count == expected_count
    np.testing.assert_array_equal(labels, expected)
    assert boxes.tolist() == [
        [rows.start, rows.stop, columns.start, columns.stop]
        for rows, columns in ndimage.find_objects(expected)
    ]
    np.testing.assert_array_equal(close_mask(mask), ndimage.binary_closing(mask))


def test_without_the_library_the_message_says_what_to_run(tmp_path: Path) -> None:
    shutil.copy(compiled_kernels.__file__, tmp_path / "alone.py")

    done = subprocess.run(
        [sys.executable, "-c", "import alone"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "ImportError: the engines' compiled kernels cannot be loaded" in done.stderr
    assert "`python -m tools.kernels`" in done.stderr
