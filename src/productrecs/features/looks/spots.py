"""Which of the store's products are in a picture? From a file's bytes to places in it."""

from productrecs.engines.contract import Bools
from productrecs.features.looks.analyze import Seen, Spot, analyze
from productrecs.records.catalog.view import CatalogView
from productrecs.training.visual.eye import Eye
from productrecs.training.visual.served import ServedPictures


def spots_in(
    data: bytes, eye: Eye, pictures: ServedPictures, catalog: CatalogView, visible: Bools
) -> list[Spot]:
    """Return up to eight places in a picture with products alike, the surest first.

    None while the store has no pictures that are indexed, or where nothing is known.

    Raises:
        NotAPictureError: when it is no picture, or takes too long or too much to read.
        PictureTooLargeError: when it has too many pixels.
    """
    seen = [
        Seen(one.box, vector, one.label, one.confidence) for one, vector in eye.places(data)
    ]
    return analyze(pictures.model, pictures.sureness, catalog, visible, seen)
