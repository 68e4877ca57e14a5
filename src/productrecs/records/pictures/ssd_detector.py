"""SSD detector: finds furniture, shoes and devices in a photo, run by onnxruntime."""

from typing import Final

import numpy as np
import numpy.typing as npt
import onnxruntime

from productrecs.engines.visual.image_transforms import Pixels, resize
from productrecs.engines.visual.region_proposals import intersection_over_union
from productrecs.records.pictures.onnx_model_file import OnnxModelFile
from productrecs.records.pictures.ssd_model_conversion import ANCHORS, BOX_NUMBERS

Floats = npt.NDArray[np.float64]

_CELLS: Final = (19, 10, 5, 3, 2, 1)  # cells a side of the network's six maps
_LEAST_SCALE, _MOST_SCALE, _FIRST_SCALE = 0.2, 0.95, 0.1
_FIRST_ASPECTS: Final = (1.0, 2.0, 0.5)
_ASPECTS: Final = (1.0, 2.0, 0.5, 3.0, 1 / 3)
_CENTRE_SCALE, _SIZE_SCALE = 10.0, 5.0
_MAX_LOG_SIZE: Final = 4.0  # of a box, relative to its anchor
_LEAST_SIDE: Final = 0.02  # of the photo: smaller boxes show nothing to compare
_MAX_THINGS: Final = 12
_PERSON: Final = "Person"
_PERSON_SCORE, _PERSON_HEIGHT = 0.3, 0.4  # from which somebody is what a photo is about
_NO_PRODUCTS: Final = frozenset({"", _PERSON, "Cattle", "Cat", "Dog", "Vehicle", "Car"})


class SsdDetector:
    """The detector's network, loaded; for one thread."""

    def __init__(self, model: OnnxModelFile) -> None:
        """Load the model's file."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._model = model
        self._session = onnxruntime.InferenceSession(
            str(model.path), options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name
        self._anchors = compute_anchors()
        self._is_product = np.array([one not in _NO_PRODUCTS for one in model.labels])
        self._is_person = np.array([one == _PERSON for one in model.labels])

    def find_things(self, pixels: Pixels) -> list[tuple[tuple[float, ...], str]]:
        """Return boxes as fractions of the picture with their labels, the surest first.

        Of boxes that overlap, whatever they are called, the surest remains. People,
        animals and vehicles are left out. In a photo of a person there are none, because
        many would lie on garments.
        """
        side = self._model.side
        small = resize(pixels.astype(np.float32), side, side) / 127.5 - 1
        tensor = np.ascontiguousarray(small.transpose(2, 0, 1)[None], np.float32)
        numbers = np.asarray(self._session.run(None, {self._input: tensor})[0])
        rows = numbers.reshape(ANCHORS, -1).astype(np.float64)
        boxes = decode_boxes(rows[:, :BOX_NUMBERS], self._anchors)
        people = (rows[:, BOX_NUMBERS:] * self._is_person).max(axis=1)
        if ((people >= _PERSON_SCORE) & (boxes[:, 3] >= _PERSON_HEIGHT)).any():
            return []
        scores = rows[:, BOX_NUMBERS:] * self._is_product
        best = scores.max(axis=1)
        is_found = (best >= self._model.least) & (boxes[:, 2:].min(axis=1) >= _LEAST_SIDE)
        found = np.flatnonzero(is_found)
        things = list[tuple[tuple[float, ...], str]]()
        for index in found[np.argsort(-best[found], kind="stable")].tolist():
            box = tuple(boxes[index].tolist())
            if len(things) < _MAX_THINGS and all(
                intersection_over_union(box, other) <= self._model.overlap
                for other, _ in things
            ):
                things.append((box, self._model.labels[int(scores[index].argmax())]))
        return things


def compute_anchors() -> Floats:
    """Return the boxes that the network's rows refer to, [n, 4]: centre, width, height.

    Source: Liu et al., SSD: Single Shot MultiBox Detector, 2016; TensorFlow's settings.
    """
    scales = [*np.linspace(_LEAST_SCALE, _MOST_SCALE, len(_CELLS)).tolist(), 1.0]
    anchors = []
    for number, cells in enumerate(_CELLS):
        scale, between = scales[number], (scales[number] * scales[number + 1]) ** 0.5
        shapes = [(scale, aspect) for aspect in _ASPECTS] + [(between, 1.0)]
        if number == 0:
            shapes = [(_FIRST_SCALE, 1.0), *((scale, one) for one in _FIRST_ASPECTS[1:])]
        sizes = [(one * aspect**0.5, one / aspect**0.5) for one, aspect in shapes]
        centres = (np.arange(cells) + 0.5) / cells
        anchors += [(x, y, *size) for y in centres for x in centres for size in sizes]
    return np.array(anchors, np.float64)


def decode_boxes(rows: Floats, anchors: Floats) -> Floats:
    """Return boxes, [n, 4]: x, y, width and height, cut at the photo's edges."""
    middles = anchors[:, :2] + rows[:, 1::-1] / _CENTRE_SCALE * anchors[:, 2:]
    sizes = anchors[:, 2:] * np.exp(np.minimum(rows[:, :1:-1] / _SIZE_SCALE, _MAX_LOG_SIZE))
    corners = (middles - sizes / 2).clip(0, 1), (middles + sizes / 2).clip(0, 1)
    return np.concatenate([corners[0], corners[1] - corners[0]], axis=1)
