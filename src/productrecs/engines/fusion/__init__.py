"""How do several ranked lists become one? By weighted reciprocal ranks."""

from productrecs.engines.fusion.reciprocal_rank_fusion import (
    RANK_OFFSET,
    Fused,
    fuse,
    warm_up,
)

__all__ = ["RANK_OFFSET", "Fused", "fuse", "warm_up"]
