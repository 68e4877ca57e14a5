"""Encoder comparison: how well picture encoders tell the kinds of a store's products apart.

Each encoder describes the same pictures in a sandboxed process. A product's kind is its
narrowest category, which the encoders are not told.
"""

import io
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.onnx_model_file import ModelFileError, OnnxModelFile
from productrecs.records.pictures.sandboxed_decoder import (
    BATCH_CPU_SECONDS,
    SandboxedDecoder,
)
from productrecs.training.visual.picture_embedding import (
    EmbeddingExamples,
    choose_embedding,
)

NEIGHBOURS: Final = 5
PER_KIND: Final = 10
"""Products of a kind in the sample."""


@dataclass(frozen=True, slots=True)
class EncoderMeasurement:
    """What an encoder reaches on a sample, and what it costs."""

    precision: float  # share of the five most similar products of the same kind
    milliseconds: float  # elapsed, median of a picture, decoding included
    memory_mb: float | None  # peak of the decoder process; None where it is not known
    pictures: int


def choose_sample_rows(kinds: Sequence[str], sample_size: int) -> list[int]:
    """Return rows of the largest kinds, evenly from each; "" is no kind.

    Kinds with fewer products than are compared with each are left out.
    """
    rows_by_kind: dict[str, list[int]] = {}
    for row, kind in enumerate(kinds):
        if kind:
            rows_by_kind.setdefault(kind, []).append(row)
    chosen: list[int] = []
    for rows in sorted(rows_by_kind.values(), key=len, reverse=True):
        if len(rows) <= NEIGHBOURS or len(chosen) + NEIGHBOURS >= sample_size:
            break
        count = min(len(rows), PER_KIND, sample_size - len(chosen))
        even_index = np.linspace(0, len(rows) - 1, count).astype(int)
        chosen += [rows[index] for index in even_index.tolist()]
    return chosen


def check_encoder_runs(model: OnnxModelFile) -> None:
    """Describe a grey picture with an encoder.

    Raises:
        ModelFileError: when it cannot be run.
    """
    picture = io.BytesIO()
    Image.new("RGB", (64, 64), "grey").save(picture, "PNG")
    with SandboxedDecoder(BATCH_CPU_SECONDS, embedder=model.path) as decoder:
        try:
            decoder.describe(picture.getvalue())
        except UnreadablePictureError as error:
            message = f"{model.path} does not describe a picture: it ends or takes too long"
            raise ModelFileError(message) from error


def measure_encoder(
    model: OnnxModelFile | None, pictures: Sequence[bytes], kinds: Sequence[str]
) -> EncoderMeasurement:
    """Return the figures of an encoder, or without one of our own descriptors.

    Pictures that cannot be read are left out.
    """
    descriptors, seen, times = [], list[str](), list[float]()
    path = None if model is None else model.path
    with SandboxedDecoder(BATCH_CPU_SECONDS, embedder=path) as decoder:
        decoder.start()
        for picture, kind in zip(pictures, kinds, strict=True):
            start = time.perf_counter()
            try:
                descriptors.append(decoder.describe(picture))
            except (UnreadablePictureError, PictureTooLargeError):
                continue
            times.append(time.perf_counter() - start)
            seen.append(kind)
        memory = _peak_memory_mb(decoder.pid)
    if not seen:
        return EncoderMeasurement(0.0, 0.0, memory, 0)
    embedding = choose_embedding(model)
    rows = np.stack(descriptors)
    no_pairs = np.zeros((0, 2), np.intp)
    space, _ = embedding.fit(EmbeddingExamples(rows, [], no_pairs))
    vectors = embedding.vectors_of(rows, space)
    similarity = embedding.weight_queries(vectors, space).kind @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :NEIGHBOURS]
    codes = np.unique(seen, return_inverse=True)[1]
    precision = float((codes[nearest] == codes[:, None]).mean())
    return EncoderMeasurement(precision, statistics.median(times) * 1e3, memory, len(seen))


def _peak_memory_mb(pid: int | None) -> float | None:
    """Return a process's peak resident memory in megabytes, on Linux."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return None
