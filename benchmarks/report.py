"""What was measured? Each figure as a JSON line at once, all in one table at the end."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS = ("name", "value", "unit", "floor", "ratio", "target", "ok", "note")
_BESIDE_NUMBERS = {"value", "floor", "ratio", "target"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    `floor` is what a bare prototype or a peer reached in the same run, in the same unit;
    `ratio` is value / floor; `target` says in words or as a number what was to be reached;
    `ok` is None where there is nothing to reach.
    """

    name: str
    value: float
    unit: str
    floor: float | None = None
    ratio: float | None = None
    target: float | str | None = None
    ok: bool | None = None
    note: str = ""


def beside(name: str, value: float, unit: str, floor: float, note: str = "") -> Figure:
    """Return a figure that should be at least its floor; its ratio is value / floor."""
    ratio = value / floor if floor else math.inf
    return Figure(name, value, unit, floor, ratio, ">= floor", value >= floor, note)


@dataclass(slots=True)
class Report:
    """Collects figures and says aloud what was skipped and why."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    figures: list[Figure] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """Keep `figure` and print its JSON line."""
        self.figures.append(figure)
        self._say(json.dumps(_finite(asdict(figure)), allow_nan=False))

    def skip(self, what: str, why: str) -> None:
        """Say that `what` was not measured, and why; the table repeats it."""
        self.skipped.append(f"{what}: {why}")
        self._say(json.dumps({"skipped": what, "why": why}))

    def table(self) -> str:
        """Return all figures as one table of aligned columns, then what was skipped."""
        rows = [_COLUMNS, *(_cells(figure) for figure in self.figures)]
        widths = [max(len(row[n]) for row in rows) for n in range(len(_COLUMNS))]
        lines = [_line(row, widths) for row in rows]
        lines.insert(1, "-" * max(len(line) for line in lines))
        return "\n".join([*lines, *(f"SKIPPED {text}" for text in self.skipped)])

    def finish(self) -> bool:
        """Print the table; return whether every figure with a target reached it."""
        self._say("\n" + self.table())
        return all(figure.ok is not False for figure in self.figures)

    def _say(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()


def _finite(fields: dict[str, object]) -> dict[str, object]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
    }


def _cells(figure: Figure) -> tuple[str, ...]:
    return tuple(_cell(getattr(figure, name)) for name in _COLUMNS)


def _cell(value: float | str | bool | None) -> str:  # noqa: FBT001 - a cell of any kind
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:,.4f}" if abs(value) < 10 else f"{value:,.1f}"
    return str(value)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        text.rjust(width) if name in _BESIDE_NUMBERS else text.ljust(width)
        for name, text, width in zip(_COLUMNS, row, widths, strict=True)
    ]
    return "  ".join(cells).rstrip()
