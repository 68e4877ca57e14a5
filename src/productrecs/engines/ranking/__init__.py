"""Which of these products will somebody click? Trees learned from lists that were shown.

What learns is loaded by who learns only; what answers is plain arrays.
"""

from productrecs.engines.ranking.tree_ensemble import TreeEnsemble, warm_up

__all__ = ["TreeEnsemble", "warm_up"]
