"""Search options: field weights and limits, tuned on half the queries of one data set."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchWeights:
    """Shares of a product's fields in its score, and of the readings of a word."""

    title: float = 1.0
    codes: float = 0.8
    categories: float = 0.5
    description: float = 0.02
    all_in_title: float = 0.3  # of the title's share once more, where every word is in it
    side_by_side: float = 0.2  # of a pair's share, where neighbours stand together
    head: float = 0.3  # where a title says by its last word what the product is
    last_head: float = 0.8  # more, where it is the query's last word too
    head_of_some: float = 0.1  # of both, where a product holds only some of the words
    one_edit: float = 0.6
    two_edits: float = 0.35
    other_start: float = 0.7  # people seldom mistype the first letter
    unfinished: float = 0.8
    unfinished_mistyped: float = 0.5
    apart: float = 0.45  # bookcase found as "book case"
    compound: float = 0.7  # "Jacke" found as Winterjacke
    synonym: float = 0.9
    joined: float = 1.6  # "Schuhe Damen" found as Damenschuhe: no less than both apart
    together: float = 1.4  # "book case" found as bookcase: one word for two


@dataclass(frozen=True, slots=True)
class InterpretationLimits:
    """When a word is read in other ways too, and how many of them."""

    words: int = 12  # the most words of a query
    readings: int = 8  # of one word
    rare: int = 5  # a word in fewer products than this may be a mistake
    far_commoner: int = 20  # ... and in any case where another is this many times as common
    swapped: int = 4  # letters of a word that may be offered with two of them swapped
    apart_from: int = 6  # letters of a word that may be two
    unfinished_mistyped_from: int = 7  # letters, below which too much begins alike


WEIGHTS = SearchWeights()
LIMITS = InterpretationLimits()
