"""Photo sets: photographs of furnished rooms and of people in the street, with the truth.

`rooms` is the public repository IvonaTau/ikea (for non-commercial research): scenes, and
which of its products stand in them. `street_photos` is bearpaw/clothing-co-parsing: people,
with the garment of each pixel. Neither is part of this project. Photos with even numbers
are for choosing, those with odd numbers only judge.
"""

from __future__ import annotations

import pickle  # noqa: TID251 - only plain values are read from these
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.quality.datasets import MissingDataError, folder

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from benchmarks.quality.photo_shop import Box

HALVES: Final = ("even", "odd")
_NO_GARMENTS: Final = {"null", "skin", "hair"}
_LEAST_AREA: Final = 0.01  # of the photo: smaller ones are rings, glasses and belts
_LEAST_PART: Final = 0.1  # of a garment's largest part: less is a speck of the annotation


@dataclass(frozen=True, slots=True)
class Rooms:
    """Products' pictures with their types, and scenes with the products in them."""

    products: list[Path]
    types: list[tuple[str, ...]]
    scenes: list[tuple[Path, set[int]]]


def rooms() -> Rooms:
    """Return the scenes of `rooms` that name products, and all products of scenes.

    Raises:
        MissingDataError: when the data set is not there.
    """
    place = _present("rooms", "IvonaTau/ikea")
    files = {path.name: path for path in sorted(place.glob("images/*/*"))}
    named: dict[str, list[str]] = _unpickled(place / "text_data" / "item_to_room.p")
    types: dict[str, str] = _unpickled(place / "text_data" / "categories_images_dict.p")
    shown_in: dict[str, set[str]] = {}
    for item, scenes in named.items():
        known = {scene.rpartition("/")[2] for scene in scenes} & files.keys()
        shown_in.setdefault(item.rpartition("/")[2], set()).update(known)
    products = sorted(shown_in.keys() & files.keys())
    found: dict[str, set[int]] = {}
    for number, product in enumerate(products):
        for scene in shown_in[product]:
            found.setdefault(scene, set()).add(number)
    said = [types.get(product.removesuffix(".jpg"), "") for product in products]
    return Rooms(
        [files[product] for product in products],
        [(one,) if one else () for one in said],
        [(files[scene], found[scene]) for scene in sorted(found)],
    )


def street_photos() -> list[tuple[Path, list[Box]]]:
    """Return the annotated photos of `street_photos`, with their garments' boxes.

    A garment is a label that covers at least a hundredth of the photo; its box holds all
    its connected parts but specks.

    Raises:
        MissingDataError: when the data set is not there.
    """
    from scipy import io  # noqa: PLC0415 - only this needs it

    place = _present("street_photos", "bearpaw/clothing-co-parsing")
    labels = [str(one[0]) for one in io.loadmat(place / "label_list.mat")["label_list"][0]]
    wanted = [n for n, label in enumerate(labels) if label not in _NO_GARMENTS]
    found = []
    for file in sorted((place / "annotations" / "pixel-level").glob("*.mat")):
        truth = io.loadmat(file)["groundtruth"]
        masks = [truth == label for label in np.intersect1d(truth, wanted).tolist()]
        boxes = [_box_of(mask) for mask in masks if mask.mean() >= _LEAST_AREA]
        if boxes:
            found.append((place / "photos" / f"{file.stem}.jpg", boxes))
    return found


def _box_of(mask: npt.NDArray[np.bool_]) -> Box:
    from scipy import ndimage  # noqa: PLC0415 - only this needs it

    parts, count = ndimage.label(mask, np.ones((3, 3)))
    sizes = ndimage.sum(mask, parts, np.arange(1, count + 1))
    is_part = np.isin(parts, 1 + np.flatnonzero(sizes >= _LEAST_PART * sizes.max()))
    rows, columns = np.flatnonzero(is_part.any(axis=1)), np.flatnonzero(is_part.any(axis=0))
    height, width = mask.shape
    return (
        float(columns[0] / width),
        float(rows[0] / height),
        float((columns[-1] + 1 - columns[0]) / width),
        float((rows[-1] + 1 - rows[0]) / height),
    )


def _present(name: str, repository: str) -> Path:
    place = folder() / name
    if not place.exists():
        message = f"{place} is not there: a copy of the public repository {repository}"
        raise MissingDataError(message)
    return place


class _PlainUnpickler(pickle.Unpickler):
    """Reads strings, numbers, lists and dictionaries, and no object of any class."""

    def find_class(self, module: str, name: str) -> Any:
        message = f"{module}.{name} has no place in this data set"
        raise pickle.UnpicklingError(message)


def _unpickled(path: Path) -> Any:
    with path.open("rb") as file:
        return _PlainUnpickler(file, encoding="latin1").load()
