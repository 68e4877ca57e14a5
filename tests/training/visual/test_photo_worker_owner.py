"""Photo search client: the worker process gives the same results, and is restarted."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from productrecs.core.ids import StoreId
from productrecs.engines.array_types_and_sorting import RankedItems
from productrecs.engines.visual import VisualModel, describe, fit_descriptor_projection
from productrecs.engines.visual.visual_similarity import NeighbourTable, PicturedItems
from productrecs.processes.child_process import WorkerProcess
from productrecs.records.pictures.decode_picture import (
    PictureTooLargeError,
    UnreadablePictureError,
)
from productrecs.records.pictures.sandboxed_decoder import (
    PhotoDescriptors,
    PhotoRegion,
    SandboxedDecoder,
)
from productrecs.storage.files.model_files import publish_arrays
from productrecs.training.visual import photo_worker_owner as module
from productrecs.training.visual.photo_matcher import PhotoMatcher
from productrecs.training.visual.photo_worker_owner import (
    PhotoWorkerError,
    PhotoWorkerOwner,
)
from productrecs.training.visual.picture_embedding import (
    BuiltInEmbedding,
    PhotoQueryVectors,
)
from productrecs.training.visual.served_visual_model import (
    ServedVisualModel,
    pictures_folder,
)
from tests.records.pictures.test_decode_picture import header_of_png
from tests.support.lite_models import red_chair, red_person, write_archived_model
from tests.support.pictures import COLOURS, SHAPES, drawn, encoded, pixels
from tests.support.service import eventually

KINDS = [(colour, shape) for colour in COLOURS for shape in SHAPES]
VISIBLE = np.arange(len(KINDS)) % 3 != 0
PHOTO = encoded(drawn("blue", "box", seed=5))
STORE = StoreId("lookout")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> ServedVisualModel:
    """Give the pictures of a store that serve."""
    root = tmp_path_factory.mktemp("pictures")
    found = ServedVisualModel(root, STORE)
    assert found.open_published_model(_published(root))
    return found


@pytest.fixture(scope="module")
def lookout() -> Iterator[PhotoWorkerOwner]:
    found = PhotoWorkerOwner()
    yield found
    found.close()


def _published(root: Path) -> str:
    seen = np.stack([describe(pixels(drawn(*kind))) for kind in KINDS])
    space, count = fit_descriptor_projection(seen, []), len(KINDS)
    near = np.full((count, 1), -1, np.int32)
    model = VisualModel(
        PicturedItems(
            space.vectors(seen).astype(np.float32),
            np.arange(count, dtype=np.int32),
            np.arange(count, dtype=np.int32) % len(SHAPES),
            np.full(count, np.nan, np.float32),
        ),
        NeighbourTable(near, np.zeros((count, 1), np.float32)),
        0.05,
    )
    arrays = {**model.to_arrays(), **space.to_arrays()}
    return publish_arrays(
        pictures_folder(root, STORE), arrays, {"embedder": BuiltInEmbedding.name}
    )


def _is_same(one: RankedItems, other: RankedItems) -> bool:
    return np.array_equal(one.items, other.items) and np.allclose(one.scores, other.scores)


def test_a_photo_worker_returns_what_a_matcher_in_this_process_returns(
    lookout: PhotoWorkerOwner, pictures: ServedVisualModel
) -> None:
    there = lookout.search_in(pictures)
    with SandboxedDecoder() as viewer:
        here = PhotoMatcher(viewer, pictures, BuiltInEmbedding())
        alike, around = (
            here.similar_items(PHOTO, 5, VISIBLE).ranked,
            here.similar_items_by_region(PHOTO, 3, VISIBLE),
        )

    assert _is_same(there.similar_items(PHOTO, 5, VISIBLE).ranked, alike)
    assert len(alike.items) == 5
    assert VISIBLE[alike.items].all()
    theirs = there.similar_items_by_region(PHOTO, 3, VISIBLE)
    assert len(theirs.regions) == len(around.regions) > 1
    for one, other in zip(theirs.regions, around.regions, strict=True):
        assert one[:3] == other[:3]
        assert _is_same(one.similar, other.similar)
    for one_value, other_value in zip(
        (theirs.calibration.evidence_of(0.4, 0.6), theirs.calibration.chance_of(0.5)),
        (around.calibration.evidence_of(0.4, 0.6), around.calibration.chance_of(0.5)),
        strict=True,
    ):
        assert one_value == pytest.approx(other_value)


def test_detectors_reach_the_process_that_reads_photos(
    tmp_path: Path, pictures: ServedVisualModel
) -> None:
    objects = write_archived_model("objects", red_chair(), tmp_path / "objects.onnx")
    body = write_archived_model("body", red_person(), tmp_path / "body.onnx")
    photo = drawn("grey", "box", side=200)
    photo.paste((255, 0, 0), (110, 10, 190, 90))
    found = []

    for detectors in ([objects], [objects, body]):
        with contextlib.closing(PhotoWorkerOwner(detectors)) as client:
            there = client.search_in(pictures)
            places = there.similar_items_by_region(encoded(photo), 1, VISIBLE).regions
            found.append(({place.label for place in places}, places[0].is_garment))

    assert found == [({"", "Chair"}, False), ({""}, True)]


def test_what_is_no_picture_is_refused_and_the_process_lives_on(
    lookout: PhotoWorkerOwner, pictures: ServedVisualModel
) -> None:
    there = lookout.search_in(pictures)
    there.similar_items(PHOTO, 1, VISIBLE)
    process = lookout.pid

    with pytest.raises(UnreadablePictureError, match="not a JPEG"):
        there.similar_items(b"nothing", 1, VISIBLE)
    with pytest.raises(PictureTooLargeError, match="megapixels are the maximum"):
        there.similar_items_by_region(header_of_png(20_000, 20_000), 1, VISIBLE)

    assert lookout.pid == process
    assert len(there.similar_items(PHOTO, 1, VISIBLE).ranked.items) == 1


def test_a_store_without_pictures_has_nothing_alike(
    lookout: PhotoWorkerOwner, tmp_path: Path
) -> None:
    there = lookout.search_in(ServedVisualModel(tmp_path, StoreId("bare")))

    assert len(there.similar_items(PHOTO, 3, VISIBLE).ranked.items) == 0
    assert there.similar_items_by_region(PHOTO, 3, VISIBLE).regions == []


def test_another_starts_where_one_was_killed(pictures: ServedVisualModel) -> None:
    lookout = PhotoWorkerOwner()
    there = lookout.search_in(pictures)
    there.similar_items(PHOTO, 1, VISIBLE)
    assert lookout.pid is not None
    child = _child_of(lookout.pid)
    # A stop of the whole group is not for it: photos in hand are answered first.
    os.kill(lookout.pid, signal.SIGTERM)
    assert len(there.similar_items(PHOTO, 1, VISIBLE).ranked.items) == 1

    stopped = lookout.pid
    os.kill(stopped, signal.SIGSTOP)
    killing = threading.Timer(0.2, os.kill, (stopped, signal.SIGKILL))
    killing.start()

    assert len(there.similar_items(PHOTO, 1, VISIBLE).ranked.items) == 1
    assert lookout.pid != stopped
    eventually(lambda: not _lives(child))
    lookout.close()


def test_a_photo_that_finds_no_time_left_over_is_looked_at_all_the_same(
    pictures: ServedVisualModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    starved = PhotoWorkerOwner(idle_seconds=0.001)
    policies = []

    def sees(process: WorkerProcess, *question: Any) -> object:
        process.start()
        assert process.pid is not None
        both = process.pid, _child_of(process.pid)
        policies.append([os.sched_getscheduler(pid) for pid in both])
        return ask(process, *question)

    ask = WorkerProcess.request
    monkeypatch.setattr(WorkerProcess, "request", sees)
    hits = starved.search_in(pictures).similar_items(PHOTO, 1, VISIBLE).ranked

    assert len(hits.items) == 1
    assert policies == [[os.SCHED_IDLE] * 2, [os.SCHED_OTHER] * 2]
    starved.close()


def test_where_no_process_starts_the_photo_is_sent_again(
    pictures: ServedVisualModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PHOTO_WORKER_MODULE", "productrecs.nobody")

    with pytest.raises(PhotoWorkerError, match="retry in a moment"):
        PhotoWorkerOwner().search_in(pictures).similar_items(PHOTO, 1, VISIBLE)


def test_it_knows_nothing_of_the_services_environment_and_goes_with_its_child(
    pictures: ServedVisualModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    lookout = PhotoWorkerOwner()
    lookout.search_in(pictures).similar_items(PHOTO, 1, VISIBLE)
    assert lookout.pid is not None
    processes = [lookout.pid, _child_of(lookout.pid)]
    environments = [Path(f"/proc/{pid}/environ").read_bytes() for pid in processes]

    lookout.close()

    assert not any(b"secret" in one for one in environments)
    eventually(lambda: not any(map(_lives, processes)))


class Behind(ServedVisualModel):
    """What a process shows that hears of the model that serves a moment later."""

    def __init__(self, pictures: ServedVisualModel) -> None:
        self.folder = pictures.folder
        self._told = ["00000001-gone0000", pictures.visual_id]

    @property
    def visual_id(self) -> str:  # type: ignore[override]  # of one that catches up
        """Say what serves, late."""
        return self._told.pop(0) if len(self._told) > 1 else self._told[0]


def test_a_model_that_is_gone_is_waited_for(
    lookout: PhotoWorkerOwner, pictures: ServedVisualModel
) -> None:
    there = lookout.search_in(Behind(pictures))

    assert _is_same(
        there.similar_items(PHOTO, 4, VISIBLE).ranked,
        lookout.search_in(pictures).similar_items(PHOTO, 4, VISIBLE).ranked,
    )


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()[0])


def _lives(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text("ascii")
    except OSError:
        return False


def test_a_picture_that_was_saved_anew_finds_its_own_product_first(
    pictures: ServedVisualModel,
) -> None:
    everything = np.ones(len(KINDS), np.bool_)
    with SandboxedDecoder() as viewer:
        eye = PhotoMatcher(viewer, pictures, BuiltInEmbedding())
        found = []
        for kind in KINDS:
            picture = drawn(*kind)
            anew = encoded(picture.resize((picture.width * 2, picture.height * 2)))
            found.append(eye.similar_items(anew, 1, everything).ranked.items.tolist()[0])

    assert found == list(range(len(KINDS)))


class _Seen(SandboxedDecoder):
    """A decoder that sees what the test says."""

    def __init__(self, seen: PhotoDescriptors, regions: Sequence[PhotoRegion] = ()) -> None:
        super().__init__()
        self._seen, self._regions = seen, regions

    def describe_photo(
        self, data: bytes, *, ignores_model: bool = False
    ) -> PhotoDescriptors:
        """Return what the test says."""
        del data, ignores_model
        return self._seen

    def find_regions(
        self, data: bytes, *, ignores_model: bool = False
    ) -> list[PhotoRegion]:
        """Return what the test says."""
        del data, ignores_model
        return [*self._regions]


def test_a_place_in_a_photo_weighs_less_than_the_photo_as_a_whole(
    pictures: ServedVisualModel,
) -> None:
    in_a_place, as_a_whole = (describe(pixels(drawn(*kind)))[None] for kind in KINDS[:2])
    grey = describe(np.full((64, 64, 3), 128, np.uint8))[None]
    with _Seen(PhotoDescriptors(grey, as_a_whole, in_a_place)) as viewer:
        eye = PhotoMatcher(viewer, pictures, BuiltInEmbedding())
        found = eye.similar_items(b"photo", 5, np.ones(len(KINDS), np.bool_)).ranked
    scores = dict(zip(found.items.tolist(), found.scores.tolist(), strict=True))

    assert found.items[0] == 1
    assert scores[1] == pytest.approx(1, abs=0.01)
    assert scores[0] >= 0.79


def test_two_results_are_found_by_looks_and_the_others_by_kind(
    pictures: ServedVisualModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, kind = (describe(pixels(drawn(*one)))[None] for one in KINDS[:2])
    grey = describe(np.full((64, 64, 3), 128, np.uint8))[None]
    embedding = BuiltInEmbedding()
    by_look = pictures.vectors_of(look, embedding)
    by_kind = pictures.vectors_of(kind, embedding)
    assert by_look is not None
    assert by_kind is not None
    model, everything = pictures.model, np.ones(len(KINDS), np.bool_)

    def matches(whole: int, *, may_be_scene: bool) -> list[int]:
        """Return the items; `whole` is -1 if only a region is like a product."""

        def queries(vectors: npt.NDArray[np.floating[Any]], _: object) -> PhotoQueryVectors:
            looks = np.repeat(by_look, len(vectors), axis=0)
            kinds = np.repeat(by_kind, len(vectors), axis=0)
            looks[:2] *= whole
            kinds[:2] *= whole
            return PhotoQueryVectors(looks, kinds, looks)

        monkeypatch.setattr(pictures, "weight_queries", queries)
        seen = PhotoDescriptors(grey, grey, grey, may_be_scene, is_upright=True)
        with _Seen(seen) as viewer:
            alike = (
                PhotoMatcher(viewer, pictures, embedding)
                .similar_items(b"photo", 5, everything)
                .ranked
            )
        assert (np.diff(alike.scores) <= 0).all()
        items: list[int] = alike.items.tolist()
        return items

    looks, kinds = (
        model.similar_to_vectors(one, 5, everything)[0].items.tolist()
        for one in (by_look, by_kind)
    )
    first = looks[:2]
    both = (first + [one for one in kinds if one not in first])[:5]
    assert matches(1, may_be_scene=False) == both
    assert matches(1, may_be_scene=True) == both  # the whole photo is as close as a region
    assert matches(-1, may_be_scene=True) == looks


@pytest.mark.parametrize(
    ("is_upright", "kind_of_whole", "by_turns"),
    [(False, 0.0, True), (False, 1.0, False), (True, 0.0, False)],
)
def test_the_places_of_a_wide_scene_give_their_items_by_turns(
    pictures: ServedVisualModel,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_upright: bool,
    kind_of_whole: float,
    by_turns: bool,
) -> None:
    clear, faint = (describe(pixels(drawn(*one)))[None] for one in (KINDS[0], KINDS[-1]))
    embedding, everything = BuiltInEmbedding(), np.ones(len(KINDS), np.bool_)

    def queries(vectors: npt.NDArray[np.floating[Any]], _: object) -> PhotoQueryVectors:
        shares = np.array([0.0, 0.0, 1.0, 0.01])[:, None]
        kinds = vectors * [[kind_of_whole], [kind_of_whole], [1.0], [1.0]]
        return PhotoQueryVectors(vectors * shares, kinds, vectors * shares)

    monkeypatch.setattr(pictures, "weight_queries", queries)
    places = np.concatenate([clear, faint])
    seen = PhotoDescriptors(clear, clear, places, is_scene=True, is_upright=is_upright)
    with _Seen(seen) as viewer:
        found = (
            PhotoMatcher(viewer, pictures, embedding)
            .similar_items(b"photo", 5, everything)
            .ranked
        )
    # The copy comes first in any case, as the first of the clear place.
    assert (found.items[:2].tolist() == [0, len(KINDS) - 1]) == by_turns
    assert (np.diff(found.scores) <= 0).all()


def test_a_detected_thing_is_compared_as_in_a_scene(
    pictures: ServedVisualModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, as_scene = (describe(pixels(drawn(*one))) for one in (KINDS[0], KINDS[-1]))
    embedding, everything = BuiltInEmbedding(), np.ones(len(KINDS), np.bool_)
    scene = pictures.vectors_of(as_scene[None], embedding)
    assert scene is not None

    def queries(vectors: npt.NDArray[np.floating[Any]], _: object) -> PhotoQueryVectors:
        return PhotoQueryVectors(vectors, vectors, np.repeat(scene, len(vectors), axis=0))

    monkeypatch.setattr(pictures, "weight_queries", queries)
    box = (0.0, 0.0, 0.5, 0.5)
    regions = [
        PhotoRegion(box, seen, "Chair", None),
        PhotoRegion(box, seen, "", None),
        PhotoRegion(box, seen, "bag", 0.9),  # of the operator's detector
    ]
    with _Seen(PhotoDescriptors(seen, seen, seen), regions) as viewer:
        matcher = PhotoMatcher(viewer, pictures, embedding)
        places = matcher.similar_items_by_region(b"photo", 3, everything).regions

    assert [place.similar.items[0] for place in places] == [len(KINDS) - 1, 0, 0]
    assert [place.similarity for place in places] == pytest.approx([1, 1, 1], abs=0.01)
