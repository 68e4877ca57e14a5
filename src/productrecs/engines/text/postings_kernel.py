"""Which products hold the words best? The sums of `matching.py`, compiled: one pass a part.

A part's lists are gone through reading by reading: of a word's readings the best counts for
a product, and the words are summed up. The sums are the library's (BM25, its constants and
its rounded lengths), so that both ways give the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import types

from productrecs.engines.compiling import compiled, fixed
from productrecs.engines.text.layout import (
    CATEGORIES_AT,
    CODES_AT,
    DESCRIPTION_AT,
    FIELDS,
    HEAD_AT,
    LISTS,
    NORMS,
    TITLE_AT,
)
from productrecs.engines.text.lists_kernel import (
    MOST_PLACES,
    PART,
    put_among,
    rarity,
    seek,
    side_by_side,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float32]
    Ints = npt.NDArray[np.int32]

_K1: Final = 1.2
_PAIR: Final = 2
_YES, _NO = True, False
_SEEK: Final = 12
"""A list this many times as long as what is left is looked up in, not gone through."""

# Columns of the scratch rows of products.
_IN_READING, _IN_WORD, _IN_SEARCH, _WORDS, _IN_TITLE, _LIKELY = range(6)
_IN_LIST, _FOUND, _NEXT, _LIKELY_ONES = range(LISTS)  # rows of the lists of products
_SUM, _SUM_TITLE, _BEST, _BEST_TITLE, _TOTAL, _TOTAL_TITLE = range(6)

_I4, _F4, _B1 = types.int32, types.float32, types.boolean


_TWO: Any = types.UniTuple(_I4, 2)  # type: ignore[no-untyped-call]  # numba
_QUERY: Any = types.Tuple(  # type: ignore[no-untyped-call]  # numba
    (_I4[::1], _I4[::1], _F4[::1], _F4[::1], _F4[::1], _F4[::1])
)


@compiled(
    _TWO(
        PART, _QUERY, _I4[::1], _I4[::1], _I4, _I4, fixed(_I4), _I4, fixed(_F4),
        fixed(_B1), _I4[:, ::1], _F4[:, ::1], _I4[:, ::1], _F4[::1], _I4[::1], _I4, _I4,
        _B1,
    )
)  # fmt: skip
def _rank(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - one compiled loop
    part: Any,
    query: Any,
    places: Ints,
    held: Ints,
    products: int,
    words: int,
    owners: Ints,
    own: int,
    norms: Floats,
    visible: Bools,
    ints: Ints,
    floats: Floats,
    lists: Ints,
    best_scores: Floats,
    best_numbers: Ints,
    found: int,
    epoch: int,
    shortens: bool,  # noqa: FBT001 - compiled
) -> tuple[int, int]:
    """Put a part's best products among the `found` best; return how many, and the epoch.

    With `shortens`, what only descriptions tell of is left out where titles, categories or
    codes tell of enough: -1 for how many says that it might have belonged there.
    """
    numbers, lengths, starts, docs, counts, sizes_of, title_starts, titles = part
    slot_of, first_of, weights, shares, head_shares, options = query
    needs_all, pair_share, title_share = options[0] > 0, options[1], options[2]
    readings, n, fields = len(slot_of), len(numbers), FIELDS
    width = len(starts) // fields
    limit = len(best_scores)
    # The rarest word first: only what holds it is looked at further.
    sizes = np.zeros(words, dtype=np.int32)
    for r in range(readings):
        for f in range(fields - 1):
            place = places[readings + r] if f == CODES_AT else places[r]
            if place >= 0 and shares[f] > 0:
                at = f * width + place
                sizes[slot_of[r]] += starts[at + 1] - starts[at]
    order = np.argsort(sizes)
    search_mark = epoch + 1
    mark = epoch + 1
    left = likely = 0
    is_short = False
    if shortens and (words == 1 or not needs_all) and shares[DESCRIPTION_AT] > 0:
        told = 0
        for r in range(readings):
            for f in (TITLE_AT, CATEGORIES_AT, CODES_AT):
                place = places[readings + r] if f == CODES_AT else places[r]
                if place < 0:
                    continue
                for at in range(starts[f * width + place], starts[f * width + place + 1]):
                    doc = docs[at]
                    if ints[doc, _LIKELY] != search_mark:
                        ints[doc, _LIKELY] = search_mark
                        lists[_LIKELY_ONES, likely] = doc
                        likely += 1
                        number = numbers[doc]
                        told += (
                            number < len(visible)
                            and visible[number]
                            and owners[number] == own
                        )
        is_short = told >= limit
    for turn in range(words):
        slot = order[turn] if needs_all else turn
        mark += 1
        word_mark = mark
        in_word = 0
        last = first_of[slot + 1]
        is_single = last - first_of[slot] == 1
        in_reading = 0
        for r in range(first_of[slot], last):
            mark += 1
            in_reading = 0
            for f in range(fields - 1):
                place = places[readings + r] if f == CODES_AT else places[r]
                if place < 0 or shares[f] <= 0:
                    continue
                begin, end = starts[f * width + place], starts[f * width + place + 1]
                share = np.float32(
                    weights[r] * shares[f] * (_K1 + 1.0)
                    * rarity(products, held[r * fields + f])
                )  # fmt: skip
                follows = needs_all and turn > 0
                is_rest = is_short and f == DESCRIPTION_AT
                of = _LIKELY_ONES if is_rest else _FOUND
                those = likely if is_rest else left
                seeks = (follows or is_rest) and those * _SEEK < end - begin
                steps = those if seeks else end - begin
                for step in range(steps):
                    if seeks:
                        doc = lists[of, step]
                        at = seek(docs, begin, end, doc)
                        if at < 0:
                            continue
                    else:
                        at = begin + step
                        doc = docs[at]
                        if follows and (
                            ints[doc, _IN_SEARCH] != search_mark
                            or ints[doc, _WORDS] != turn
                        ):
                            continue
                        if is_rest and ints[doc, _LIKELY] != search_mark:
                            continue
                    times = np.float32(counts[at])
                    norm = norms[f * NORMS + sizes_of[at]]
                    value = share * (times / (times + norm))
                    if ints[doc, _IN_READING] != mark:
                        ints[doc, _IN_READING] = mark
                        floats[doc, _SUM] = np.float32(0.0)
                        floats[doc, _SUM_TITLE] = np.float32(0.0)
                        lists[_IN_LIST, in_reading] = doc
                        in_reading += 1
                    floats[doc, _SUM] += value
                    if f == TITLE_AT:
                        floats[doc, _SUM_TITLE] = value
            for step in range(in_reading):
                doc = lists[_IN_LIST, step]
                if is_single:
                    break
                if ints[doc, _IN_WORD] != word_mark:
                    ints[doc, _IN_WORD] = word_mark
                    floats[doc, _BEST] = floats[doc, _SUM]
                    floats[doc, _BEST_TITLE] = floats[doc, _SUM_TITLE]
                    lists[_NEXT, in_word] = doc
                    in_word += 1
                else:
                    floats[doc, _BEST] = max(floats[doc, _BEST], floats[doc, _SUM])
                    floats[doc, _BEST_TITLE] = max(
                        floats[doc, _BEST_TITLE], floats[doc, _SUM_TITLE]
                    )
        kept = 0 if needs_all else left
        best, best_title, at_best = _BEST, _BEST_TITLE, _NEXT
        if is_single:
            best, best_title, at_best, in_word = _SUM, _SUM_TITLE, _IN_LIST, in_reading
        for step in range(in_word):
            doc = lists[at_best, step]
            if ints[doc, _IN_SEARCH] != search_mark:
                ints[doc, _IN_SEARCH] = search_mark
                ints[doc, _WORDS] = 0
                ints[doc, _IN_TITLE] = 0
                floats[doc, _TOTAL] = np.float32(0.0)
                floats[doc, _TOTAL_TITLE] = np.float32(0.0)
                lists[_FOUND, kept] = doc
                kept += 1
            elif needs_all:
                lists[_FOUND, kept] = doc
                kept += 1
            ints[doc, _WORDS] += 1
            floats[doc, _TOTAL] += floats[doc, best]
            if floats[doc, best_title] > 0:
                ints[doc, _IN_TITLE] += 1
                floats[doc, _TOTAL_TITLE] += floats[doc, best_title]
        left = kept
        if needs_all and left == 0:
            return found, mark
    # Only what may be shown is looked at further.
    kept = 0
    for step in range(left):
        doc = lists[_FOUND, step]
        number = numbers[doc]
        if number < len(visible) and visible[number] and owners[number] == own:
            lists[_FOUND, kept] = doc
            kept += 1
            if needs_all and words > 1 and ints[doc, _IN_TITLE] == words:
                floats[doc, _TOTAL] += np.float32(title_share) * floats[doc, _TOTAL_TITLE]
            ints[doc, _WORDS] = -1  # may be shown
    left = kept
    for slot in range(words):
        if head_shares[slot] <= 0:
            continue
        mark += 1
        in_word = 0
        for r in range(first_of[slot], first_of[slot + 1]):
            if places[r] < 0:
                continue
            at = HEAD_AT * width + places[r]
            begin, end = starts[at], starts[at + 1]
            share = np.float32(
                weights[r] * head_shares[slot] * options[3] * (_K1 + 1.0)
                * rarity(products, held[r * fields + HEAD_AT])
            )  # fmt: skip
            seeks = left * _SEEK < end - begin
            for step in range(left if seeks else end - begin):
                if seeks:
                    doc = lists[_FOUND, step]
                    if seek(docs, begin, end, doc) < 0:
                        continue
                else:
                    doc = docs[begin + step]
                    is_known = ints[doc, _IN_SEARCH] == search_mark
                    if not is_known or ints[doc, _WORDS] != -1:
                        continue
                norm = norms[HEAD_AT * NORMS + lengths[HEAD_AT * n + doc]]
                value = share * (np.float32(1.0) / (np.float32(1.0) + norm))
                if ints[doc, _IN_WORD] != mark:
                    ints[doc, _IN_WORD] = mark
                    floats[doc, _BEST] = value
                    lists[_NEXT, in_word] = doc
                    in_word += 1
                else:
                    floats[doc, _BEST] = max(floats[doc, _BEST], value)
        for step in range(in_word):
            doc = lists[_NEXT, step]
            floats[doc, _TOTAL] += floats[doc, _BEST]
    if pair_share > 0:
        at_left = np.empty(MOST_PLACES, dtype=np.int32)
        at_right = np.empty(MOST_PLACES, dtype=np.int32)
        for slot in range(words - 1):
            one, other = first_of[slot], first_of[slot + 1]
            if places[one] < 0 or places[other] < 0:
                continue
            share = np.float32(
                pair_share * (_K1 + 1.0)
                * (
                    rarity(products, held[one * fields])
                    + rarity(products, held[other * fields])
                )
            )  # fmt: skip
            for step in range(left):
                doc = lists[_FOUND, step]
                if ints[doc, _IN_TITLE] < _PAIR:
                    continue
                begin, end = title_starts[doc], title_starts[doc + 1]
                count = side_by_side(
                    titles, begin, end, places[one], places[other], at_left, at_right
                )
                if count:
                    norm = norms[lengths[doc]]
                    times = np.float32(count)
                    floats[doc, _TOTAL] += share * (times / (times + norm))
    for step in range(left):
        doc = lists[_FOUND, step]
        found = put_among(
            best_scores, best_numbers, found, floats[doc, _TOTAL], numbers[doc]
        )
    if is_short:
        # At most so much is a product's that only descriptions tell of.
        most = 0.0
        for slot in range(words):
            of_word = 0.0
            for r in range(first_of[slot], first_of[slot + 1]):
                rare = rarity(products, held[r * fields + DESCRIPTION_AT])
                of_word = max(of_word, weights[r] * rare)
            most += of_word * shares[DESCRIPTION_AT] * (_K1 + 1.0)
        if best_scores[limit - 1] <= most:
            return -1, mark
    return found, mark


@compiled(
    _TWO(
        PART, _QUERY, _I4[::1], _I4[::1], _I4, _I4, fixed(_I4), _I4, fixed(_F4),
        fixed(_B1), _I4[:, ::1], _F4[:, ::1], _I4[:, ::1], _F4[::1], _I4[::1], _I4, _I4,
    )
)  # fmt: skip
def rank(  # noqa: PLR0913, PLR0917 - see `_rank`
    part: Any,
    query: Any,
    places: Ints,
    held: Ints,
    products: int,
    words: int,
    owners: Ints,
    own: int,
    norms: Floats,
    visible: Bools,
    ints: Ints,
    floats: Floats,
    lists: Ints,
    best_scores: Floats,
    best_numbers: Ints,
    found: int,
    epoch: int,
) -> tuple[int, int]:
    """Put a part's best products among the `found` best; return how many, and the epoch.

    For each reading come its word's place and the first of each word; weights of the
    readings; shares of the fields; shares of heads by word; whether every word must be
    held, what counts where neighbours stand together and where titles hold all, and the
    share of heads.
    """
    if found == 0:
        told, epoch = _rank(
            part, query, places, held, products, words, owners, own, norms, visible,
            ints, floats, lists, best_scores, best_numbers, 0, epoch, _YES,
        )  # fmt: skip
        if told >= 0:
            return told, epoch
    return _rank(
        part, query, places, held, products, words, owners, own, norms, visible,
        ints, floats, lists, best_scores, best_numbers, found, epoch, _NO,
    )  # fmt: skip
