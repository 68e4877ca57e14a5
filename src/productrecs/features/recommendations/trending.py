"""What sells right now? The same for everybody, by the store's own measure."""

import numpy as np

from productrecs.features.recommendations.fill import trending as trending_items
from productrecs.features.recommendations.request import Engine, Pick
from productrecs.features.recommendations.shop import Shop
from productrecs.records.catalog.view import Mask


def trend(shop: Shop, num: int, now_ms: int) -> list[Pick]:
    """Return up to `num` products, the most trending first; never personalised.

    Ranked by the store's metric in its look-back window, then by carts, views, and the
    newest; what costs less than the store's least price is passed over, and so is what
    has no price while a least price is set.
    """
    return trend_of(shop, shop.visible(now_ms), num)


def trend_of(shop: Shop, visible: Mask, num: int) -> list[Pick]:
    """Return the same of the `visible` items, whoever chose those."""
    least = shop.settings.trending_min_price
    if least > 0:
        prices = shop.catalog.prices[: len(visible)]
        visible = visible & (np.nan_to_num(prices, nan=-1.0) >= least)
    picks: list[Pick] = []
    seen: set[int] = set()
    for item in trending_items(shop, visible):
        if len(picks) == num:
            break
        if item not in seen:
            seen.add(item)
            picks.append(Pick(item, Engine.TRENDING, 1.0 / (1.0 + len(picks))))
    return picks
