"""Demo placements: the named places of the demo shop's pages."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from productrecs.records.placements.placement import PlacementContent, Strategy
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store

PLACEMENTS: Final[Mapping[str, PlacementContent]] = MappingProxyType(
    {
        "home-hero": PlacementContent(
            Strategy.BECAUSE_VIEWED,
            title="Because you viewed {product}",
            num=5,
            minimum=4,
        ),
        "home-sale": PlacementContent(
            Strategy.ON_SALE, title="Reduced", num=5, minimum=4, most_per_category=2
        ),
        "home-new": PlacementContent(
            Strategy.NEW, title="Just in", num=5, most_per_category=1
        ),
        "buy-again": PlacementContent(
            Strategy.BUY_AGAIN, title="Time for more?", num=5, minimum=2
        ),
        "product-brand": PlacementContent(
            Strategy.TOP_OF_BRAND, title="By the same maker", num=5, minimum=3
        ),
    }
)


def create_placements(services: Services, store: Store) -> None:
    """Store the demo's placements."""
    editor = PlacementEditor(services.database, store, services.clock)
    for name, content in PLACEMENTS.items():
        editor.put(name, content)
