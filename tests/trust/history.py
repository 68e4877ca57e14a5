"""History checker: compares what was acknowledged with what is stored.

The words are those of Jepsen's checkers. An operation that nobody answered is `INFO`: that
it is there is as right as that it is not.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """What the client knows of an operation."""

    OK = "ok"  # acknowledged: it must be there
    FAILED = "failed"  # refused: it must not be there
    INFO = "info"  # no answer came: either is right


@dataclass(frozen=True)
class Operation:
    """One thing to be stored: `key` is its own, it makes `rows` rows, all or none."""

    key: str
    outcome: Outcome
    rows: int = 1


@dataclass(frozen=True)
class Verdict:
    """The keys that are not as they must be; `recovered` is right, and good to know."""

    lost: frozenset[str]  # acknowledged, not there
    duplicated: frozenset[str]  # more rows than it makes
    torn: frozenset[str]  # some of its rows, not all
    unexpected: frozenset[str]  # there, though refused or never sent
    recovered: frozenset[str]  # there, though nothing was acknowledged

    @property
    def is_clean(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.duplicated or self.torn or self.unexpected)

    def __str__(self) -> str:
        """Return the counts and some keys of each, for a failed test's message."""
        kinds = {
            "lost": self.lost,
            "duplicated": self.duplicated,
            "torn": self.torn,
            "unexpected": self.unexpected,
            "recovered": self.recovered,
        }
        return "; ".join(
            f"{word} {len(keys)} {sorted(keys)[:3]}" for word, keys in kinds.items()
        )


@dataclass
class History:
    """Everything that clients sent, by key; the last outcome of a key counts."""

    operations: dict[str, Operation] = field(default_factory=dict)

    def note(self, operations: Iterable[Operation]) -> None:
        """Add operations; one that was acknowledged once stays acknowledged."""
        for operation in operations:
            known = self.operations.get(operation.key)
            if known is None or known.outcome is not Outcome.OK:
                self.operations[operation.key] = operation

    def having(self, outcome: Outcome) -> list[str]:
        """Return the keys that ended so, in the order sent."""
        return [key for key, sent in self.operations.items() if sent.outcome is outcome]

    def judge(self, stored: Mapping[str, int]) -> Verdict:
        """Return how `stored`, rows by key, compares with what was sent."""
        rows = Counter(stored)
        sent = self.operations
        return Verdict(
            lost=frozenset(key for key in self.having(Outcome.OK) if not rows[key]),
            duplicated=frozenset(key for key in sent if rows[key] > sent[key].rows),
            torn=frozenset(key for key in sent if 0 < rows[key] < sent[key].rows),
            unexpected=frozenset(
                key
                for key in rows
                if rows[key] and (key not in sent or sent[key].outcome is Outcome.FAILED)
            ),
            recovered=frozenset(key for key in self.having(Outcome.INFO) if rows[key]),
        )
