"""Fake clock: a time that a test sets, or that moves on whenever it is read."""

from dataclasses import dataclass
from typing import Generic, TypeVar

Time = TypeVar("Time", int, float)


@dataclass(eq=False)
class FakeClock(Generic[Time]):
    """A clock that shows `now`; each reading first moves it on by `step`."""

    now: Time
    step: Time | None = None

    def __call__(self) -> Time:
        """Return the time."""
        if self.step is not None:
            self.now += self.step
        return self.now
