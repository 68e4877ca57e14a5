"""Which words are one edit away? Compiled, over words and their traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import types

from productrecs.engines.compiling import compiled, fixed
from productrecs.engines.text.lists_kernel import first_at
from productrecs.engines.text.traces import BASE, MASK

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int32]
    Letters = npt.NDArray[np.uint32]
    Traces = npt.NDArray[np.uint32]

_I4, _U4, _I8, _B1 = types.int32, types.uint32, types.int64, types.boolean


@compiled(_B1(fixed(_U4), fixed(_U4), _I4, _I4))
def _is_one_edit(  # noqa: C901 - one compiled loop
    typed: Letters, letters: Letters, begin: int, end: int
) -> bool:
    """Return whether a word is one edit from what was typed; a swap is one."""
    one, other = len(typed), end - begin
    if other - one > 1 or one - other > 1:
        return False
    least = min(one, other)
    at = 0
    while at < least and typed[at] == letters[begin + at]:
        at += 1
    if at == one and at == other:
        return False
    skip_one = 0 if other > one else 1
    skip_other = 0 if one > other else 1
    i, j = at + skip_one, at + skip_other
    while i < one and j < other and typed[i] == letters[begin + j]:
        i += 1
        j += 1
    if i >= one and j >= other:
        return True
    if one != other or at + 1 >= one:
        return False
    if typed[at] != letters[begin + at + 1] or typed[at + 1] != letters[begin + at]:
        return False
    i = at + 2
    while i < one and typed[i] == letters[begin + i]:
        i += 1
    return i >= one


@compiled(_I4(fixed(_U4), fixed(_I4), fixed(_U4), fixed(_I4), fixed(_U4), _I4[::1]))
def near(
    letters: Letters,
    starts: Ints,
    traces: Traces,
    whose: Ints,
    typed: Letters,
    found: Ints,
) -> int:
    """Note which words are one edit from `typed`, as many as fit; return how many."""
    length = len(typed)
    ahead = np.zeros(length + 1, dtype=np.int64)  # of the letters before each
    for at in range(length):
        ahead[at + 1] = (ahead[at] * BASE + np.int64(typed[at])) & MASK
    count, behind, power = 0, 0, 1
    for at in range(length, -1, -1):
        trace = ahead[length]
        if at < length:
            trace = (ahead[at] * power + behind) & MASK
            behind = int((np.int64(typed[at]) * power + behind) & MASK)
            power = (power * BASE) & MASK
        place = first_at(traces, 0, len(traces), trace)
        while place < len(traces) and traces[place] == trace:
            word = whose[place]
            place += 1
            is_new = count < len(found)
            for n in range(count):
                if found[n] == word:
                    is_new = False
                    break
            if is_new and _is_one_edit(typed, letters, starts[word], starts[word + 1]):
                found[count] = word
                count += 1
    return count
