"""Personal search: lifts products that suit the shopper among equally relevant results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from productrecs.engines.click_boosts import PURCHASE
from productrecs.engines.personal_search import (
    PersonalSearchOptions,
    ShopperProfile,
    TraitsOf,
    lifted,
)
from productrecs.records.orders.shopper_history import ShopperHistory
from productrecs.training.tuning.personal_search import LEAST_CHOSEN, choice_weight


@dataclass(frozen=True, slots=True)
class PersonalLift:
    """One shopper's profile, and how far it may lift a result."""

    profile: ShopperProfile
    traits_of: TraitsOf
    options: PersonalSearchOptions

    @classmethod
    def of(
        cls, history: ShopperHistory, traits_of: TraitsOf, options: PersonalSearchOptions
    ) -> Self | None:
        """Return the lift of a shopper; None for one who did too little yet."""
        recent = zip(history.recent, map(choice_weight, history.recent_kinds), strict=True)
        chosen = [*recent, *((item, PURCHASE) for item in history.recent_purchases)]
        profile = ShopperProfile.of(chosen, traits_of)
        if profile is None or len(chosen) < LEAST_CHOSEN:
            return None
        return cls(profile, traits_of, options)

    def lift(self, items: Sequence[int], scores: Sequence[float]) -> list[float]:
        """Return the scores of `items`, each raised by its match."""
        matches = self.profile.matches(items, self.traits_of)
        raised = lifted(np.array(scores, dtype=np.float64), matches, self.options)
        return [float(score) for score in raised]
