"""Personal search: what a profile matches, and how far a match may lift."""

from __future__ import annotations

import numpy as np
import pytest

from productrecs.engines.personal_search import (
    TRAITS,
    ItemTraits,
    PersonalSearchOptions,
    ShopperProfile,
    lift_scores,
)

NAN = float("nan")
ITEMS = [
    ItemTraits("tents", (1,), (10,), 0.9),
    ItemTraits("tents", (1,), (11,), 0.8),
    ItemTraits("stoves", (2,), (), 1.0),
    ItemTraits("stoves", (), (), NAN),
    ItemTraits("", (), (), 0.1),
]
NOBODYS = ItemTraits("", (), (), NAN)


def traits_of(item: int) -> ItemTraits:
    return ITEMS[item] if item < len(ITEMS) else NOBODYS


def profile(*chosen: tuple[int, float]) -> ShopperProfile:
    found = ShopperProfile.of(chosen, traits_of)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("item", "matches"),
    [
        (0, {"seen": 1, "category": 1, "brand": 1, "size": 1, "price": 1.0}),
        (1, {"seen": 1, "category": 1, "brand": 1, "size": 0.25, "price": 0.9}),
        (2, {"seen": 1, "category": 0.2, "brand": 0.2, "price": 0.9}),
        (3, {"category": 0.2}),  # without a brand or price, and not seen
        (4, {"price": 0.2}),
        (9, {}),  # not in the catalog
    ],
)
def test_each_trait_is_compared_with_what_was_chosen(
    item: int, matches: dict[str, float]
) -> None:
    chosen = profile((0, 4.0), (1, 1.0), (2, 1.0))

    found = dict(zip(TRAITS, chosen.matches([item], traits_of)[0].tolist(), strict=True))

    assert chosen.level == pytest.approx(0.9)  # 0.9 four times, 0.8 and 1.0
    assert found == pytest.approx({name: matches.get(name, 0.0) for name in TRAITS})


def test_two_products_say_nothing_of_a_price_level() -> None:
    assert np.isnan(profile((0, 1.0), (1, 1.0)).level)
    assert ShopperProfile.of([], traits_of) is None


def test_no_match_passes_a_product_that_is_more_relevant_than_the_weight() -> None:
    options = PersonalSearchOptions(weight=0.2)
    scores, everything, nothing = np.array([1.21, 1.0]), np.ones(5), np.zeros(5)

    ranked = lift_scores(scores, np.array([nothing, everything]), options)

    assert ranked.tolist() == pytest.approx([1.21, 1.2])
    assert lift_scores(
        scores, np.array([nothing, everything]), PersonalSearchOptions()
    ) == (pytest.approx(scores))
