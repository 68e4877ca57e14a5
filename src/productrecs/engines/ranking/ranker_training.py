"""Ranker training: LambdaMART trees from shown lists, with a model of position bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from productrecs.core.errors import ProductRecsError
from productrecs.engines.ranking import TreeEnsemble

if TYPE_CHECKING:
    from productrecs.engines.arrays import Floats, Ints


GAINS: Final = (0.0, 1.0, 4.0, 8.0)  # of no action, a click, the cart, a purchase
LAST_POSITION: Final = 30  # last place with its own position feature
_TREES: Final = 64
_PARAMETERS: Final[dict[str, Any]] = {
    "objective": "lambdarank",
    "label_gain": list(GAINS),
    "lambdarank_truncation_level": 10,
    # Regularisation: with little data, position bias should not hide product differences.
    "lambdarank_position_bias_regularization": 1.0,
    "num_leaves": 15,
    "learning_rate": 0.08,
    "min_data_in_leaf": 50,
    "lambda_l2": 5.0,
    "feature_fraction": 0.8,
    "deterministic": True,
    "force_row_wise": True,
    "seed": 17,
    "verbosity": -1,
}


class RankingLibraryMissingError(ProductRecsError):
    """The library of boosted trees cannot be loaded; lists keep the order of the blend."""


@dataclass(frozen=True, slots=True)
class RankingData:
    """Impressions of lists and their outcomes, in time order.

    The products of list l are offsets[l]:offsets[l + 1] of `rows` [n, traits], `places` [n]
    (from 1) and `outcomes` [n] (0 nothing, 1 click, 2 cart, 3 purchase). `persons` [lists]
    are any codes.
    """

    rows: Floats
    offsets: Ints
    places: Ints
    outcomes: Ints
    persons: Ints

    def __len__(self) -> int:
        """Return the number of lists."""
        return len(self.persons)

    def slice(self, begin: int, end: int) -> RankingData:
        """Return the lists from `begin` up to `end`."""
        run = slice(int(self.offsets[begin]), int(self.offsets[end]))
        offsets = self.offsets[begin : end + 1] - self.offsets[begin]
        return RankingData(
            self.rows[run],
            offsets,
            self.places[run],
            self.outcomes[run],
            self.persons[begin:end],
        )


def fit_ranker(lists: RankingData, threads: int) -> TreeEnsemble:
    """Return trees that rank likely clicks first; position bias is modelled separately.

    Raises:
        RankingLibraryMissingError: when the library cannot be loaded.
    """
    try:
        import lightgbm  # noqa: PLC0415 - 0.5 s and 60 MB, for training only
    except (ImportError, OSError) as error:
        message = "lightgbm cannot be loaded: is libgomp1 installed?"
        raise RankingLibraryMissingError(message) from error
    parameters = _PARAMETERS | {"num_threads": threads}
    data = lightgbm.Dataset(
        lists.rows,
        lists.outcomes,
        group=np.diff(lists.offsets),
        position=np.minimum(lists.places, LAST_POSITION),
        params=parameters,
    )
    return trees_from_dump(lightgbm.train(parameters, data, _TREES).dump_model())


def trees_from_dump(model: dict[str, Any]) -> TreeEnsemble:
    """Return the trees of the library's model dump."""
    columns: dict[str, list[float]] = {
        name: [] for name in TreeEnsemble.__dataclass_fields__
    }

    def append_node(node: dict[str, Any]) -> int:
        if "split_feature" not in node:
            columns["values"].append(node["leaf_value"])
            return -len(columns["values"])
        node_index = len(columns["traits"])
        columns["traits"].append(node["split_feature"])
        columns["bounds"].append(node["threshold"])
        columns["left"].append(0)
        columns["right"].append(0)
        columns["left"][node_index] = append_node(node["left_child"])
        columns["right"][node_index] = append_node(node["right_child"])
        return node_index

    columns["roots"] = [append_node(tree["tree_structure"]) for tree in model["tree_info"]]
    return TreeEnsemble.from_arrays(columns)


_STEEPNESS: Final = 0.8  # prior of the position bias exponent
_PRIOR_WEIGHT: Final = 50.0  # weight of that prior, in impressions of a place
_MAX_WEIGHT: Final = 5.0  # upper bound of an inverse propensity weight


def examination_probabilities(shown: Ints, clicked: Ints) -> Floats:
    """Return the examination probability of each place relative to the first [FARTHEST].

    `shown` and `clicked` [FARTHEST] count by place. Clicks fall by place because fewer
    shoppers look and because the items are worse; all of it is attributed to position bias,
    with a lower bound of 1 / place ** 0.8. So the inverse propensity weights of low places
    stay small, and an uninformative order does not beat the present one.
    """
    places = np.arange(1, len(shown) + 1)
    prior = 1.0 / places**_STEEPNESS
    first_rate = (clicked[0] + 1.0) / (shown[0] + _PRIOR_WEIGHT)
    rates = (clicked + _PRIOR_WEIGHT * first_rate * prior) / (shown + _PRIOR_WEIGHT)
    examination: Floats = np.clip(np.maximum(prior, rates / rates[0]), 0.0, 1.0)
    return examination


def ranking_gains(
    lists: RankingData, scores: Floats, examination: Floats
) -> tuple[Floats, Floats]:
    """Return per list the gain of an order by `scores` over the shown one, and the shown.

    Gain is the sum over outcomes of their value, the inverse propensity weight of their
    place (at most five), and 1 / log2(1 + rank), multiplied.
    """
    list_index = np.repeat(np.arange(len(lists)), np.diff(lists.offsets))
    position = np.minimum(lists.places, LAST_POSITION) - 1
    gains = np.array(GAINS)[lists.outcomes] * np.minimum(
        1.0 / examination[position], _MAX_WEIGHT
    )
    shown_order = np.lexsort((lists.places, list_index))
    new_order = np.lexsort((lists.places, -scores, list_index))
    shown_gains = _sums_by_list(
        gains * _discounts(shown_order, lists.offsets, list_index), list_index
    )
    new_gains = _sums_by_list(
        gains * _discounts(new_order, lists.offsets, list_index), list_index
    )
    return new_gains - shown_gains, shown_gains


def _sums_by_list(values: Floats, list_index: Ints) -> Floats:
    return np.bincount(list_index, weights=values).astype(np.float64)


def _discounts(order: Ints, offsets: Ints, list_index: Ints) -> Floats:
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - offsets[:-1][list_index[order]]
    discounts: Floats = 1.0 / np.log2(2.0 + ranks)
    return discounts
