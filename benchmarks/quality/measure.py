"""Which figures of quality are there, and in which order are they measured?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.quality import (
    basket_completion,
    bots,
    bought_together,
    bundles,
    carts,
    click_judgements,
    complements,
    constants,
    demand,
    demand_calendar,
    demand_groups,
    holdout,
    libraries,
    mixed_lists,
    next_basket,
    next_item,
    order_replay,
    outfits,
    pictures,
    poisoning,
    search,
    search_languages,
    served_photos,
    shared_networks,
    shop_kinds,
    sold_out,
    variants,
)
from benchmarks.quality.datasets import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.report import Report

PARTS: dict[str, Callable[[Report], None]] = {
    "bought-together": bought_together.measure,
    "shop-kinds": shop_kinds.measure,
    "copurchase-refinements": shop_kinds.measure_refinements,
    "basket-completion": basket_completion.measure,
    "bundles": bundles.measure,
    "carts": carts.measure,
    "what-completes": complements.measure,
    "mixed-lists": mixed_lists.measure,
    "variants": variants.measure,
    "next-basket": next_basket.measure,
    "next-item-retailrocket": next_item.measure_retailrocket,
    "next-item-serenade-bol": next_item.measure_serenade_bol,
    "next-item-rees46": next_item.measure_rees46,
    "next-item-further": next_item.measure_further,
    "libraries-orders": libraries.measure_orders,
    "libraries-retailrocket": libraries.measure_retailrocket,
    "libraries-bol": libraries.measure_bol,
    "search": search.measure,
    "click-judgements": click_judgements.measure,
    "search-languages": search_languages.measure,
    "pictures": pictures.measure,
    "served-photos": served_photos.measure,
    "rooms": served_photos.measure_rooms,
    "packages": served_photos.measure_packages,
    "outfits": outfits.measure,
    "street-photos": outfits.measure_street_photos,
    "holdout": holdout.measure,
    "sold-out": sold_out.measure,
    "bots": bots.measure,
    "poisoning": poisoning.measure,
    "shared-networks": shared_networks.measure,
    "demand": demand.measure,
    "demand-earlier": demand.measure_earlier,
    "demand-calendar": demand_calendar.measure,
    "demand-orders": order_replay.measure,
    "demand-groups": demand_groups.measure,
    "demand-groups-earlier": demand_groups.measure_earlier,
    "constants": constants.measure,
}
ON_REQUEST = {
    "constants",
    "demand-earlier",
    "demand-groups-earlier",
    "libraries-orders",
    "libraries-retailrocket",
    "libraries-bol",
    "mixed-lists",
}


def measure(report: Report, names: Sequence[str] = ()) -> None:
    """Add the named parts' figures to `report`; without names, all but the constants'.

    Raises:
        ValueError: when a name is unknown; the message lists the known ones.
    """
    unknown = set(names) - set(PARTS)
    if unknown:
        raise ValueError(
            f"no figure {', '.join(sorted(unknown))}; there are {tuple(PARTS)}"
        )
    for name in names or [name for name in PARTS if name not in ON_REQUEST]:
        try:
            PARTS[name](report)
        except MissingDataError as error:
            report.skip(name, str(error))
