"""Served photos: what search by photo returns, by the code behind its HTTP route.

`PhotoMatcher` decodes each photo in the sandboxed process, compares it as a whole and in
its places, and puts copies first. The route adds the upload and the rules of what is
visible, which change no order here: all products are visible. Categories unknown come
first.

`images_clothing`: precision@10 by class of the test photos. `catalog_luma`: other photos of
a product. Both without and with the packaged encoder, where that is installed.
"""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.quality.pictures import clothing, luma
from benchmarks.report import Figure
from productrecs.core.ids import StoreId
from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.nearest_neighbours import (
    ImageVectors,
    NeighbourTable,
    similarity_floor,
)
from productrecs.records.pictures.onnx_model_file import EMBEDDER, read_model_file
from productrecs.records.pictures.packaged_encoder import packaged_encoder
from productrecs.records.pictures.sandboxed_decoder import (
    PhotoDescriptors,
    SandboxedDecoder,
)
from productrecs.storage.model_files import publish_arrays
from productrecs.training.visual.photo_matcher import PhotoMatcher
from productrecs.training.visual.picture_embedding import (
    EmbeddingExamples,
    choose_embedding,
)
from productrecs.training.visual.served_pictures import ServedPictures, pictures_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from benchmarks.quality.pictures import Photos
    from benchmarks.report import Report
    from productrecs.records.pictures.onnx_model_file import ModelFile

    Descriptors = npt.NDArray[np.uint8]

_STORE: Final = StoreId("photos")
_TEN: Final = 10
SECONDS: Final = 30.0


def measure(report: Report) -> None:
    """Add the figures without the encoder, then with it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _measure(report, folder, None)
        encoder = packaged_encoder(folder)
        if encoder is None:
            report.skip("served photos with the encoder", "productrecs[vision] is missing")
        else:
            _measure(report, folder, encoder)


def _measure(report: Report, folder: Path, encoder: Path | None) -> None:
    way = "without the encoder" if encoder is None else "with the encoder"
    with _Seen(SECONDS, embedder=encoder, wait_seconds=SECONDS) as decoder:
        for name, data in (("clothing", clothing()), ("luma", luma())):
            rows = np.flatnonzero(data.is_catalog).tolist()
            seen = described(decoder, [data.paths[row].read_bytes() for row in rows])
            named = [tuple[str, ...]() for _ in rows]
            for number, group in enumerate(data.groups):
                for row in group.tolist():
                    named[row] += (str(number),)
            for known, categories in (("unknown", [() for _ in rows]), ("known", named)):
                served = serve(folder, seen, categories, encoder)
                right = _right(data, decoder, served, encoder)
                title = f"served photos, {name}, {way}, categories {known}"
                if name == "clothing":
                    report.add(Figure(f"{title}, precision@10", right.mean(), "share"))
                else:
                    note = f"hit@10 {right.any(axis=1).mean():.3f}"
                    first = float(right[:, 0].mean())
                    report.add(Figure(f"{title}, hit@1", first, "share", note=note))


class _Seen(SandboxedDecoder):
    """A decoder that looks at each photo once, however many stores it is asked for."""

    def look(self, data: bytes, *, own: bool = False) -> PhotoDescriptors:
        """Return what is seen of a photo."""
        if data not in self._looked_at:
            self._looked_at[data] = super().look(data, own=own)
        return self._looked_at[data]

    @cached_property
    def _looked_at(self) -> dict[bytes, PhotoDescriptors]:
        return {}


def described(decoder: SandboxedDecoder, pictures: Iterable[bytes]) -> Descriptors:
    """Return the descriptors of products' pictures, row by row."""
    return np.stack([decoder.describe(picture) for picture in pictures])


def serve(
    folder: Path,
    seen: Descriptors,
    categories: Sequence[tuple[str, ...]],
    encoder: Path | None,
) -> ServedPictures:
    """Return the published model of a store with these pictures and categories."""
    embedding = choose_embedding(_model(encoder))
    members: dict[str, list[int]] = {}
    for row, named in enumerate(categories):
        for name in named:
            members.setdefault(name, []).append(row)
    groups = [np.array(rows) for rows in members.values()]
    pairs = np.zeros((0, 2), np.intp)
    space, _ = embedding.learn(EmbeddingExamples(seen, groups, pairs))
    codes = {name: code for code, name in enumerate(members)}
    kinds = [
        codes[min(named, key=lambda name: (len(members[name]), name))] if named else -1
        for named in categories
    ]
    vectors, count = embedding.place(seen, space).astype(np.float32), len(seen)
    pictured = ImageVectors(
        vectors,
        np.arange(count, dtype=np.int32),
        np.array(kinds, np.int32),
        np.full(count, np.nan, np.float32),
    )
    none = NeighbourTable(
        np.full((count, 1), -1, np.int32), np.zeros((count, 1), np.float32)
    )
    model = VisualModel(pictured, none, similarity_floor(vectors))
    facts = {"embedder": embedding.name}
    served = ServedPictures(folder, _STORE)
    published = publish_arrays(
        pictures_folder(folder, _STORE), {**model.to_arrays(), **space}, facts
    )
    served.follow(published)
    return served


def matcher_of(
    decoder: SandboxedDecoder, served: ServedPictures, encoder: Path | None
) -> PhotoMatcher:
    """Return what answers photos of an installation with or without an encoder."""
    return PhotoMatcher(decoder, served, choose_embedding(_model(encoder)))


def _right(
    data: Photos,
    decoder: SandboxedDecoder,
    served: ServedPictures,
    encoder: Path | None,
) -> npt.NDArray[np.bool_]:
    """Return for each asked photo which of its ten results show what it shows."""
    matcher = matcher_of(decoder, served, encoder)
    catalog = data.shows[data.is_catalog]
    visible = np.ones(len(catalog), np.bool_)
    rows = [
        catalog[matcher.alike(data.paths[row].read_bytes(), _TEN, visible).items]
        == data.shows[row]
        for row in np.flatnonzero(~data.is_catalog).tolist()
    ]
    return np.stack(rows)


def _model(encoder: Path | None) -> ModelFile | None:
    return None if encoder is None else read_model_file(encoder, EMBEDDER)
