"""Photo search: visible products that look like a photo, the most similar first."""

from productrecs.features.search.request import Hit
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.merchandising.rule_book import ListRules
from productrecs.training.visual.photo_matcher import PhotoSearch


def find_by_photo(
    photo: bytes,
    looking: PhotoSearch,
    catalog: CatalogView,
    rules: ListRules | None,
    now_ms: int,
    *,
    num: int,
    in_stock: bool,
) -> list[Hit]:
    """Return up to `num` products, most similar first; scores are similarities, 0 to 1.

    All are visible at `now_ms` and none is excluded by a rule; with `in_stock` all can
    be bought. None while the store has no indexed pictures.

    Raises:
        NotAPictureError: when it is not a picture, or too costly to read.
        PictureTooLargeError: when it has too many pixels.
    """
    visible = catalog.visible(now_ms, hide_sold_out=in_stock)
    if rules is not None:
        visible = rules.shown(visible)
    found = looking.alike(photo, num, visible)
    return [
        Hit(*one) for one in zip(found.items.tolist(), found.scores.tolist(), strict=True)
    ]
