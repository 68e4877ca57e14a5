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
    CODES_AT,
    DESCRIPTION_AT,
    FIELDS,
    FOUND,
    HEAD_AT,
    IN_LIST,
    NEXT,
    NORMS,
    TITLE_AT,
)
from productrecs.engines.text.lists_kernel import (
    MOST_PLACES,
    PART,
    SEEK,
    is_marked,
    mark_it,
    put_among,
    rarity,
    seek,
    side_by_side,
    with_every_word,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Bools = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float32]
    Ints = npt.NDArray[np.int32]

_K1: Final = 1.2
_PAIR: Final = 2
_YES, _NO = True, False

# Columns of the scratch rows of products: whole numbers, and then others.
_IN_READING, _IN_WORD, _IN_SEARCH, _WORDS, _IN_TITLE = range(5)
_SUM, _SUM_TITLE, _BEST, _BEST_TITLE, _TOTAL, _TOTAL_TITLE = range(8, 14)

_I4, _F4, _B1 = types.int32, types.float32, types.boolean


_TWO: Any = types.UniTuple(_I4, 2)  # type: ignore[no-untyped-call]  # numba
_THREE: Any = types.UniTuple(_I4, 3)  # type: ignore[no-untyped-call]  # numba
_QUERY: Any = types.Tuple(  # type: ignore[no-untyped-call]  # numba
    (_I4[::1], _I4[::1], _F4[::1], _F4[::1], _F4[::1], _F4[::1])
)


@compiled(
    _THREE(
        PART, _QUERY, _I4[::1], _I4[::1], _I4, _I4, fixed(_I4), _I4, fixed(_F4),
        fixed(_B1), _I4[:, ::1], _F4[:, ::1], _I4[:, ::1], _F4[::1], _I4[::1], _I4, _I4,
        _I4, _B1,
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
    given: int,
    reads_descriptions: bool,  # noqa: FBT001 - compiled
) -> tuple[int, int, int]:
    """Put a part's best products among the `found` best; return how many, and the epoch.

    Only the first `given` of the list of products are looked at, unless that is negative.
    Without `reads_descriptions`, what these tell counts nothing. The third number is how
    many products were looked at; they are on the list.
    """
    numbers, lengths, starts, docs, counts, sizes_of, title_starts, titles = part
    slot_of, first_of, weights, shares, head_shares, options = query
    needs_all, pair_share, title_share = options[0] > 0, options[1], options[2]
    readings, n, fields = len(slot_of), len(numbers), FIELDS
    width = len(starts) // fields
    # The rarest word first: only what holds it is looked at further.
    sizes = np.zeros(words, dtype=np.int32)
    for r in range(readings):
        for f in range(fields - 1):
            place = places[readings + r] if f == CODES_AT else places[r]
            if place >= 0 and shares[f] > 0:
                at = f * width + place
                sizes[slot_of[r]] += starts[at + 1] - starts[at]
    order = np.empty(words, dtype=np.int32)
    for slot in range(words):
        at = slot
        while at > 0 and sizes[order[at - 1]] > sizes[slot]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = slot
    search_mark = epoch + 1
    mark = epoch + 1
    left = 0
    follows = given >= 0 or (needs_all and words > 1)
    bits = np.zeros((n >> 6) + 1 if follows else 0, dtype=np.uint64)
    if follows:
        if given < 0:
            given = with_every_word(part, places, first_of, shares, order, lists)
        for step in range(given):
            doc = lists[FOUND, step]
            number = numbers[doc]
            if number < len(visible) and visible[number] and owners[number] == own:
                lists[FOUND, left] = doc
                left += 1
                mark_it(bits, doc)
                ints[doc, _IN_SEARCH] = search_mark
                ints[doc, _WORDS] = 0
                ints[doc, _IN_TITLE] = 0
                floats[doc, _TOTAL] = np.float32(0.0)
                floats[doc, _TOTAL_TITLE] = np.float32(0.0)
        if left == 0:
            return found, mark, 0
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
                if f == DESCRIPTION_AT and not reads_descriptions:
                    continue
                begin, end = starts[f * width + place], starts[f * width + place + 1]
                share = np.float32(
                    weights[r] * shares[f] * (_K1 + 1.0)
                    * rarity(products, held[r * fields + f])
                )  # fmt: skip
                seeks = follows and left * SEEK < end - begin
                for step in range(left if seeks else end - begin):
                    if seeks:
                        doc = lists[FOUND, step]
                        at = seek(docs, begin, end, doc)
                        if at < 0:
                            continue
                    else:
                        at = begin + step
                        doc = docs[at]
                        if follows and not is_marked(bits, doc):
                            continue
                    times = np.float32(counts[at])
                    norm = norms[f * NORMS + int(sizes_of[at])]
                    value = share * (times / (times + norm))
                    if ints[doc, _IN_READING] != mark:
                        ints[doc, _IN_READING] = mark
                        floats[doc, _SUM] = np.float32(0.0)
                        floats[doc, _SUM_TITLE] = np.float32(0.0)
                        lists[IN_LIST, in_reading] = doc
                        in_reading += 1
                    floats[doc, _SUM] += value
                    if f == TITLE_AT:
                        floats[doc, _SUM_TITLE] = value
            for step in range(in_reading):
                doc = lists[IN_LIST, step]
                if is_single:
                    break
                if ints[doc, _IN_WORD] != word_mark:
                    ints[doc, _IN_WORD] = word_mark
                    floats[doc, _BEST] = floats[doc, _SUM]
                    floats[doc, _BEST_TITLE] = floats[doc, _SUM_TITLE]
                    lists[NEXT, in_word] = doc
                    in_word += 1
                else:
                    floats[doc, _BEST] = max(floats[doc, _BEST], floats[doc, _SUM])
                    floats[doc, _BEST_TITLE] = max(
                        floats[doc, _BEST_TITLE], floats[doc, _SUM_TITLE]
                    )
        best, best_title, at_best = _BEST, _BEST_TITLE, NEXT
        if is_single:
            best, best_title, at_best, in_word = _SUM, _SUM_TITLE, IN_LIST, in_reading
        for step in range(in_word):
            doc = lists[at_best, step]
            if ints[doc, _IN_SEARCH] != search_mark:
                ints[doc, _IN_SEARCH] = search_mark
                ints[doc, _WORDS] = 0
                ints[doc, _IN_TITLE] = 0
                floats[doc, _TOTAL] = np.float32(0.0)
                floats[doc, _TOTAL_TITLE] = np.float32(0.0)
                lists[FOUND, left] = doc
                left += 1
            floats[doc, _TOTAL] += floats[doc, best]
            if floats[doc, best_title] > 0:
                ints[doc, _IN_TITLE] += 1
                floats[doc, _TOTAL_TITLE] += floats[doc, best_title]
    # Only what may be shown is looked at further.
    kept = 0
    for step in range(left):
        doc = lists[FOUND, step]
        number = numbers[doc]
        if number < len(visible) and visible[number] and owners[number] == own:
            lists[FOUND, kept] = doc
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
            seeks = left * SEEK < end - begin
            for step in range(left if seeks else end - begin):
                if seeks:
                    doc = lists[FOUND, step]
                    if seek(docs, begin, end, doc) < 0:
                        continue
                else:
                    doc = docs[begin + step]
                    is_known = ints[doc, _IN_SEARCH] == search_mark
                    if not is_known or ints[doc, _WORDS] != -1:
                        continue
                norm = norms[HEAD_AT * NORMS + int(lengths[HEAD_AT * n + doc])]
                value = share * (np.float32(1.0) / (np.float32(1.0) + norm))
                if ints[doc, _IN_WORD] != mark:
                    ints[doc, _IN_WORD] = mark
                    floats[doc, _BEST] = value
                    lists[NEXT, in_word] = doc
                    in_word += 1
                else:
                    floats[doc, _BEST] = max(floats[doc, _BEST], value)
        for step in range(in_word):
            doc = lists[NEXT, step]
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
                doc = lists[FOUND, step]
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
        doc = lists[FOUND, step]
        found = put_among(
            best_scores, best_numbers, found, floats[doc, _TOTAL], numbers[doc]
        )
    return found, mark, left


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
    _, first_of, weights, shares, _, options = query
    needs_all = options[0] > 0 and words > 1
    given, limit = -1, len(best_scores)
    if found == 0 and not needs_all and shares[DESCRIPTION_AT] > 0:
        # Descriptions are most of what there is and next to nothing in a score: first what
        # the rest tells of, and then only what they may still bring among the best.
        found, epoch, left = _rank(
            part, query, places, held, products, words, owners, own, norms, visible,
            ints, floats, lists, best_scores, best_numbers, 0, epoch, -1, _NO,
        )  # fmt: skip
        most = np.float32(0.0)
        for slot in range(words):
            of_word = np.float32(0.0)
            for r in range(first_of[slot], first_of[slot + 1]):
                rare = rarity(products, held[r * FIELDS + DESCRIPTION_AT])
                of_word = max(of_word, np.float32(weights[r] * rare))
            most += of_word * shares[DESCRIPTION_AT] * np.float32(_K1 + 1.0)
        if found == limit and best_scores[limit - 1] > most:
            given = 0
            for step in range(left):
                doc = lists[FOUND, step]
                if floats[doc, _TOTAL] + most >= best_scores[limit - 1]:
                    lists[FOUND, given] = doc
                    given += 1
        found = 0
    found, epoch, _ = _rank(
        part, query, places, held, products, words, owners, own, norms, visible,
        ints, floats, lists, best_scores, best_numbers, found, epoch, given, _YES,
    )  # fmt: skip
    return found, epoch
