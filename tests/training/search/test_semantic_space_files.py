"""Semantic space files: the vectors of a large catalog are mapped and can be changed."""

import mmap
from pathlib import Path

import numpy as np

from productrecs.engines.text.semantic_space import unit_rows
from productrecs.training.search.semantic_space_files import ProductVectors

COUNT, SIZE = 3_000, 384  # more than a megabyte


def test_mapped_vectors_can_change_and_their_file_only_when_written(tmp_path: Path) -> None:
    made = ProductVectors(tmp_path, "model")
    rows = unit_rows(np.random.default_rng(7).standard_normal((COUNT, SIZE)))
    made.put(list(range(COUNT)), list(range(1, COUNT + 1)), rows)
    made.write_and_keep_previous_model()

    changed = ProductVectors(tmp_path, "model")
    base: object = changed.codes
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap), "its memory is the file's"
    changed.put([5], [99], rows[6:7])
    assert changed.remove(7)

    unwritten = ProductVectors(tmp_path, "model")
    assert (unwritten.codes == made.codes).all()
    changed.write_and_keep_previous_model()
    written = ProductVectors(tmp_path, "model")
    assert (written.codes[5] == made.codes[6]).all()
    assert not written.codes[7].any()
    assert written.has(5, 99)
    assert (written.codes[8:COUNT] == made.codes[8:COUNT]).all()
