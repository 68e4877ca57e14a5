"""Warm-up: loads the engines' compiled kernels while the process already serves."""

from productrecs.engines import browse, copurchase, fusion, ranking


def warm_up() -> None:
    """Let the engines answer by their compiled kernels from now on.

    The first time on a machine this compiles for about 10 s; until it is done, the same
    answers come from numpy. `tools/setup` does it beforehand.
    """
    browse.warm_up()
    copurchase.warm_up()
    fusion.warm_up()
    ranking.warm_up()
