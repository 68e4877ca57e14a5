"""When may a process search by compiled loops? Once they are loaded."""

from collections.abc import Callable
from typing import Final, NamedTuple


class Loops(NamedTuple):
    """The compiled loops; each lets go of Python's lock while it runs."""

    near: Callable[..., int]  # see `lexicon_kernel`
    locate: Callable[..., None]  # see `lists_kernel`, and so the next two
    held: Callable[..., None]
    stand_together: Callable[..., bool]
    rank: Callable[..., tuple[int, int]]  # see `postings_kernel`


_loaded: Final[list[Loops]] = []


def warm_up() -> None:
    """Let this process search by its compiled loops from now on, alike but faster.

    Until then the library is asked for what they tell.
    """
    from productrecs.engines.text import (  # noqa: PLC0415 - they compile
        lexicon_kernel,
        lists_kernel,
        postings_kernel,
    )

    _loaded[:] = [
        Loops(
            near=lexicon_kernel.near,
            locate=lists_kernel.locate,
            held=lists_kernel.held,
            stand_together=lists_kernel.stand_together,
            rank=postings_kernel.rank,
        )
    ]


def loops() -> Loops | None:
    """Return the loops; None until they are loaded."""
    return _loaded[0] if _loaded else None
