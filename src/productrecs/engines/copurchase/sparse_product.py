"""Sparse matrix products: which columns the rows of two matrices meet in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from productrecs.engines.array_types_and_sorting import csr_offsets, stable_argsort
from productrecs.engines.compiled_kernels import address, addresses, declare

if TYPE_CHECKING:
    from productrecs.engines.array_types_and_sorting import Floats, Ints, Items

_sparse_product = declare("sparse_product", "aaiiaaaaa")


class SparseRows(NamedTuple):
    """A sparse matrix: row r has `values` in `columns` of offsets[r]:offsets[r + 1]."""

    offsets: Ints  # [n_rows + 1]
    columns: Items  # [n_values]
    values: Floats  # [n_values]

    def rows(self, begin: int, end: int) -> SparseRows:
        """Return consecutive rows as a matrix of their own."""
        offsets = self.offsets[begin : end + 1]
        run = slice(int(offsets[0]), int(offsets[-1]))
        return SparseRows(offsets - offsets[0], self.columns[run], self.values[run])

    def transposed(self, n_columns: int) -> SparseRows:
        """Return the transposed matrix, each of its rows ascending."""
        order = stable_argsort(self.columns)
        rows = np.repeat(
            np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets)
        )
        return SparseRows(
            csr_offsets(self.columns, n_columns), rows[order], self.values[order]
        )


class SparseProductEntries(NamedTuple):
    """A product of two sparse matrices: its entries by row, then column, both ascending."""

    rows: Ints
    columns: Items
    sums: Floats
    counts: Items  # how many products each sum consists of


def multiply(left: SparseRows, right: SparseRows, n_columns: int) -> SparseProductEntries:
    """Return the product of two matrices; the right one has `n_columns`."""
    n_rows, lengths = len(left.offsets) - 1, np.diff(right.offsets)
    most = int(min(lengths[left.columns].sum(), n_rows * n_columns))
    columns, counts = np.empty(most, np.int32), np.empty(most, np.int32)
    sums, ends = np.empty(most), np.empty(n_rows, np.int64)
    scratch = (
        np.zeros(n_columns),
        np.zeros(n_columns, np.int32),
        np.empty(n_columns, np.int32),
    )
    size = _sparse_product(
        addresses(*left),
        addresses(*right),
        n_rows,
        n_columns,
        addresses(*scratch),
        address(ends),
        address(columns),
        address(sums),
        address(counts),
    )
    rows = np.repeat(np.arange(n_rows), np.diff(ends, prepend=0))
    return SparseProductEntries(rows, columns[:size], sums[:size], counts[:size])
