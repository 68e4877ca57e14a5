"""Exposure: a shopper who was shown a list in one arm of a test."""

from dataclasses import dataclass

from productrecs.core.ids import StoreId
from productrecs.records.experiments.assignment import Arm


@dataclass(frozen=True, slots=True)
class Exposure:
    """A shopper, known by one of their ids, was shown a list in one arm of a test."""

    store_id: StoreId
    identity: str
    test: str
    arm: Arm
    unit: str
    first_at: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one row of: the first exposure counts."""
        return (self.store_id, self.identity, self.test, self.arm.value)
