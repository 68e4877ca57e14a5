"""When may a process search by compiled loops? Once they are loaded."""

from productrecs.engines.text import lexicon, scoring


def warm_up() -> None:
    """Let this process search by its compiled kernels from now on, alike but faster.

    Until then the library is asked for what they tell.
    """
    scoring.warm_up()
    lexicon.warm_up()
