"""Search hyperparameters: score weights, and limits on the readings of a word.

They are tuned on half the queries of one data set, those of partial matches on half the
queries of three.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchWeights:
    """Score weights of a product's fields and of the readings of a word."""

    title: float = 1.0
    codes: float = 0.8
    categories: float = 0.5
    description: float = 0.02
    all_in_title: float = 0.3  # share of the title's score, if it has every word
    side_by_side: float = 0.2  # share of a pair's score, if the words are adjacent
    head: float = 0.3  # bonus if the word is the title's head noun
    last_head: float = 0.8  # additional bonus if it is also the query's last word
    partial_heads: float = 0.5  # share of these bonuses in partial matches
    one_edit: float = 0.6
    two_edits: float = 0.35
    different_start: float = 0.7  # the first letter is seldom mistyped
    unfinished: float = 0.8
    unfinished_mistyped: float = 0.5
    split: float = 0.45  # query "bookcase", text "book case"
    compound: float = 0.7  # query "Jacke", text "Winterjacke"
    synonym: float = 0.9
    translation: float = 0.9
    joined: float = 1.6  # query "Schuhe Damen", text "Damenschuhe": at least the two words
    joined_pair: float = 1.4  # query "book case", text "bookcase": one word for two


@dataclass(frozen=True, slots=True)
class InterpretationLimits:
    """Limits on the alternative readings of a word."""

    words: int = 12  # maximum words of a query
    readings: int = 8  # maximum per word
    rare: int = 5  # a word in fewer products may be a misspelling
    correction_factor: int = (
        20  # ... and any word, if another is this many times as frequent
    )
    split_from: int = 6  # minimum word length for splitting
    unfinished_mistyped_from: int = 7  # minimum length of a corrected prefix
    likely_share: float = 0.2  # least, of the likelihood of a distant word's best reading
    misspelled_odds: float = 100.0  # of a lone word's reading, to its letters by chance
    assumed_products: int = 200  # that a shop may sell beside those it has
    common_share: float = 0.002  # of the products, that a common name has


WEIGHTS = SearchWeights()
LIMITS = InterpretationLimits()
