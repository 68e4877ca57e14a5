"""Warm-up: loads the engines' compiled kernels while the process already serves."""

from productrecs.engines import browse, copurchase, fusion, ranking
from productrecs.engines.text import semantic_space


def warm_up() -> None:
    """Load the engines' compiled kernels.

    The first time on a machine this compiles for about 10 s; meanwhile numpy gives the
    same answers. `tools/setup` does it beforehand.
    """
    browse.warm_up()
    copurchase.warm_up()
    fusion.warm_up()
    ranking.warm_up()
    semantic_space.warm_up()
