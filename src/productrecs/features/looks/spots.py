"""Which of the store's products are in a picture? From a file's bytes to places in it."""

from productrecs.engines.contract import Bools
from productrecs.features.looks.analyze import MOST_PRODUCTS, Spot, analyze
from productrecs.records.catalog.view import CatalogView
from productrecs.training.visual.eye import Looking


def spots_in(
    data: bytes, looking: Looking, catalog: CatalogView, visible: Bools
) -> list[Spot]:
    """Return up to eight places in a picture with products alike, the surest first.

    None while the store has no pictures that are indexed, or where nothing is known.

    Raises:
        NotAPictureError: when it is no picture, or takes too long or too much to read.
        PictureTooLargeError: when it has too many pixels.
    """
    seen = looking.around(data, MOST_PRODUCTS, visible)
    return analyze(seen.sureness, catalog, seen.places)
