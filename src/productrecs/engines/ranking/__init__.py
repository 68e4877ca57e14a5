"""Learning to rank: trees trained on impressions and clicks that reorder a list.

Only training loads the training library; serving reads plain arrays.
"""

from productrecs.engines.ranking.tree_ensemble import TreeEnsemble, warm_up

__all__ = ["TreeEnsemble", "warm_up"]
