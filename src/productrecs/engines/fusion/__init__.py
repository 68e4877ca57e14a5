"""Rank fusion: merges several ranked lists by weighted reciprocal ranks."""

from productrecs.engines.fusion.reciprocal_rank_fusion import (
    RANK_OFFSET,
    Fused,
    fuse,
    warm_up,
)

__all__ = ["RANK_OFFSET", "Fused", "fuse", "warm_up"]
