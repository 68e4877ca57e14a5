"""Which products look like this photo? The model proposes, the catalog strikes out."""

from productrecs.engines.visual import VisualModel
from productrecs.engines.visual.types import Floats
from productrecs.features.search.request import Hit
from productrecs.records.catalog.view import CatalogView
from productrecs.records.merchandising.book import ListRules


def find_alike(  # noqa: PLR0913 - what there is, what may be shown, how many
    model: VisualModel,
    catalog: CatalogView,
    rules: ListRules | None,
    vector: Floats | None,
    now_ms: int,
    *,
    num: int,
    in_stock: bool,
) -> list[Hit]:
    """Return up to `num` products, the most alike first; scores are likenesses, 0 to 1.

    All are visible at `now_ms` and none is excluded by a rule; with `in_stock` they can be
    bought too. Without a vector there is nothing to compare with.
    """
    if vector is None:
        return []
    visible = catalog.visible(now_ms, hide_sold_out=in_stock)
    if rules is not None:
        visible = rules.shown(visible)
    found = model.like(vector, num, visible)
    return [
        Hit(*one) for one in zip(found.items.tolist(), found.scores.tolist(), strict=True)
    ]
