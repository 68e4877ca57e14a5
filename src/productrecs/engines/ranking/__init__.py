"""Which of these products will somebody click? Trees learned from lists that were shown.

What learns is loaded by who learns only; what answers is plain arrays.
"""

from productrecs.engines.ranking.trees import Trees, warm_up

__all__ = ["Trees", "warm_up"]
