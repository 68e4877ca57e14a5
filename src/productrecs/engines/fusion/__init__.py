"""How do several ranked lists become one? By weighted reciprocal ranks."""

from productrecs.engines.fusion.fuse import Fused, fuse, warm_up

__all__ = ["Fused", "fuse", "warm_up"]
