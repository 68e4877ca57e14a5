"""Semantic fusion: adds products of similar meaning to the hits of a text search."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from productrecs.engines.text.search_run import IndexHits, Relaxed

FUSED_BELOW: Final = 20
"""Number of products with every word from which no similar ones are added."""

MAX_SIMILAR: Final = 100
_RANK_OFFSET: Final = 20
_BELOW_COMPLETE: Final = 0.9  # relative to the last score above, as for partial matches


def fuse_by_meaning(
    found: IndexHits, similar: Sequence[int], limit: int, *, is_meant: bool = False
) -> IndexHits:
    """Return the hits fused with `similar` products, most similar first.

    Hits by id and hits with every word stay first. Below them, partial matches and similar
    products are merged by reciprocal rank fusion; with `is_meant`, a word was read as
    another although it was meant as typed, and similar products come first. Hits without
    any match by word are marked as such.
    """
    complete = found.items[: found.complete]
    first = set(complete)
    similar = [item for item in similar if item not in first]
    if not similar:
        return found
    ranks: dict[int, float] = {}
    begin = len(similar) if is_meant else 0
    for first_rank, one in ((begin, found.items[found.complete :]), (0, similar)):
        for rank, item in enumerate(one, first_rank):
            ranks[item] = ranks.get(item, 0.0) + 1.0 / (_RANK_OFFSET + rank)
    order = sorted(ranks, key=lambda item: (-ranks[item], item))[: limit - len(complete)]
    if not order:
        return found
    ceiling = _BELOW_COMPLETE * found.scores[found.complete - 1] if complete else 1.0
    scale = ceiling / ranks[order[0]]
    return replace(
        found,
        items=[*complete, *order],
        scores=[*found.scores[: found.complete], *(scale * ranks[item] for item in order)],
        with_every_word=found.complete,
        relaxed=Relaxed.WORDS if found.items else Relaxed.MEANING,
    )
