"""Which words are one edit apart? Those of which the same is left without a letter.

A word's traces are the numbers of what is left of it with one letter taken out, and of
itself. Two words one edit apart share a trace: who looks up the few traces of what was
typed finds them all, and some others, which comparing tells apart.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

BASE: Final = 16_777_619
MASK: Final = 0xFFFFFFFF
"""A text's number is a polynomial of its letters at `BASE`, its last 32 bits."""

LEAST: Final = 3
"""Letters of a word that has traces; shorter ones, and codes, are never mistyped."""

Ints = npt.NDArray[np.int32]
Traces = npt.NDArray[np.uint32]


def traces_of(
    letters: npt.NDArray[np.uint32], starts: Ints, places: Sequence[int]
) -> tuple[Traces, Ints]:
    """Return the traces of the words at `places`, rising, and for each whose it is.

    The word at place n are the `letters` from `starts[n]` to `starts[n + 1]`.
    """
    asked = np.array(places, dtype=np.int32)
    lengths = starts[asked + 1] - starts[asked]
    found, whose = [np.empty(0, np.uint32)], [np.empty(0, np.int32)]
    for length in np.unique(lengths).tolist():
        those = asked[lengths == length]
        found.append(_of_length(letters, starts[those], length).ravel())
        whose.append(np.repeat(those, length + 1))
    all_traces = np.concatenate(found)
    order = np.argsort(all_traces, kind="stable")
    return all_traces[order], np.concatenate(whose)[order].astype(np.int32)


def _of_length(letters: npt.NDArray[np.uint32], begins: Ints, length: int) -> Traces:
    """Return by word its traces: without each letter, and whole."""
    powers = np.array([pow(BASE, n, MASK + 1) for n in range(length + 1)], dtype=np.uint32)
    before = np.zeros((len(begins), length + 1), dtype=np.uint32)
    after = np.zeros((len(begins), length + 1), dtype=np.uint32)
    for at in range(length):
        before[:, at + 1] = before[:, at] * powers[1] + letters[begins + at]
    for at in reversed(range(length)):
        own = letters[begins + at] * powers[length - 1 - at]
        after[:, at] = own + after[:, at + 1]
    without = before[:, :-1] * powers[:-1][::-1] + after[:, 1:]
    return np.concatenate([without, before[:, -1:]], axis=1)
