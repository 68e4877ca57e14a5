"""Picture spots: decodes an image file and finds the store's products in it."""

from productrecs.engines.arrays import Bools
from productrecs.features.looks.photo_analysis import MOST_PRODUCTS, PhotoSpot, find_spots
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.training.visual.photo_matcher import PhotoSearch


def spots_in_picture(
    data: bytes, looking: PhotoSearch, catalog: CatalogView, visible: Bools
) -> list[PhotoSpot]:
    """Return up to eight regions of a picture with similar products, most certain first.

    None while the store has no indexed pictures, or where nothing is known.

    Raises:
        NotAPictureError: when it is not a picture, or too costly to read.
        PictureTooLargeError: when it has too many pixels.
    """
    seen = looking.around(data, MOST_PRODUCTS, visible)
    return find_spots(seen.sureness, catalog, seen.places)
