"""Hits and variant collapse: results of a search, and one for all variants of a product."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from productrecs.records.catalog.catalog_view import Mask
from productrecs.records.catalog.variant_groups import CatalogVariantGroups, Items


class Hit(NamedTuple):
    """One result: its item number, its score, and how many variants it stands for."""

    item: int
    score: float
    variants: int = 1


def items_passing_masks(items: Items, masks: Iterable[Mask]) -> Items:
    """Return the `items` that pass every mask, in their order."""
    for mask in masks:
        items = items[items < len(mask)]
        items = items[mask[items]]
    return items


def collapse_variants(groups: CatalogVariantGroups, hits: Sequence[Hit]) -> list[Hit]:
    """Return the best hit of each group, at the place of the group's first one."""
    if groups.is_empty:
        return list(hits)
    index_by_group: dict[int, int] = {}
    kept: list[Hit] = []
    labels = groups.groups_of(np.array([hit.item for hit in hits], np.int64)).tolist()
    for hit, group in zip(hits, labels, strict=True):
        index = index_by_group.setdefault(group, len(kept)) if group else len(kept)
        if index == len(kept):
            kept.append(hit)
        elif hit.score > kept[index].score:
            kept[index] = hit
    return kept


def with_variant_counts(
    groups: CatalogVariantGroups, hits: Sequence[Hit], masks: Iterable[Mask]
) -> list[Hit]:
    """Return the hits with the number of variants that pass all masks."""
    if groups.is_empty:
        return list(hits)
    masks = list(masks)
    labels = groups.groups_of(np.array([hit.item for hit in hits], np.int64)).tolist()
    return [
        hit._replace(
            variants=max(1, len(items_passing_masks(groups.members(group), masks)))
        )
        if group
        else hit
        for hit, group in zip(hits, labels, strict=True)
    ]
