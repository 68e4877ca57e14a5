"""Which words are one edit away? Compiled, over words in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import types

from productrecs.engines.compiling import compiled, fixed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int32]
    Letters = npt.NDArray[np.uint32]

_YES, _NO = True, False
_I4, _U4, _B1 = types.int32, types.uint32, types.boolean


@compiled(_I4(fixed(_U4), fixed(_I4), fixed(_I4), fixed(_U4), _I4, _I4, _B1))
def _end_bound(  # noqa: PLR0913, PLR0917 - one compiled loop
    letters: Letters,
    starts: Ints,
    order: Ints,
    typed: Letters,
    length: int,
    end_of_typed: int,
    is_upper: bool,  # noqa: FBT001 - compiled
) -> int:
    """Return where the words begin, or with `is_upper` end, whose last letters are typed.

    In `order`, by the letters from behind; of `typed` so many before its end count.
    """
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) >> 1
        begin, at = starts[order[middle]], starts[order[middle] + 1]
        told = 0
        for n in range(1, length + 1):
            if at - n < begin:
                told = -1
                break
            if letters[at - n] != typed[end_of_typed - n]:
                told = -1 if letters[at - n] < typed[end_of_typed - n] else 1
                break
        if told < 0 or (told == 0 and is_upper):
            low = middle + 1
        else:
            high = middle
    return low


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


@compiled(_I4(fixed(_U4), fixed(_I4), fixed(_I4), fixed(_U4), _I4, _I4, _I4[::1]))
def near(  # noqa: C901, PLR0913, PLR0917 - one compiled loop
    letters: Letters,
    starts: Ints,
    backward: Ints,
    typed: Letters,
    begin: int,
    end: int,
    found: Ints,
) -> int:
    """Note which words are one edit from `typed`; return how many, at most as many as fit.

    An edit leaves the first or the last part of a word as it was, so that only such are
    looked at: those from `begin` to `end` begin with the first letters of `typed`, all but
    half of them.
    """
    half = (len(typed) - 1) // 2
    count = 0
    for word in range(begin, end):
        if count < len(found) and _is_one_edit(
            typed, letters, starts[word], starts[word + 1]
        ):
            found[count] = word
            count += 1
    if half == 0:
        return count
    begin = _end_bound(letters, starts, backward, typed, half, len(typed), _NO)
    end = _end_bound(letters, starts, backward, typed, half, len(typed), _YES)
    for place in range(begin, end):
        word = backward[place]
        first, past = starts[word], starts[word + 1]
        if abs(past - first - len(typed)) > 1:
            continue
        is_seen = past - first >= half
        for n in range(half):
            if is_seen and letters[first + n] != typed[n]:
                is_seen = False
        if is_seen:
            continue  # found from the front
        if count < len(found) and _is_one_edit(typed, letters, first, past):
            found[count] = word
            count += 1
    return count
