"""Match confidence: the probability of a right visual match, calibrated per store.

Each sampled picture is searched like a photo. Its category is known, so the share of right
matches is counted by similarity and by agreement of neighbours.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from productrecs.engines.visual.image_transforms import Floats
from productrecs.engines.visual.model import VisualModel

VOTERS: Final = 5
"""Number of neighbours that vote on the kind."""

_SAMPLE: Final = 300
_AMONG: Final = 20_000
_FEWEST: Final = 40  # sampled pictures with a known kind; fewer are not enough
_LIKENESS, _AGREEMENT = 0.6, 0.4
_LEAST_SPAN: Final = 0.05


@dataclass(frozen=True, slots=True)
class MatchConfidence:
    """Calibration of similarity and neighbour agreement in one store."""

    floor: float  # similarity of unrelated pictures
    usual: float  # usual similarity of a picture and its nearest neighbour
    evidence: Floats  # [k] ascending; empty if kinds are unknown
    chance: Floats  # [k] ascending: observed share of right matches

    def evidence_of(self, likeness: float, agreement: float) -> float:
        """Return the evidence for a match, 0 to 1.

        `likeness` is the similarity of the nearest picture, `agreement` the share of voting
        neighbours of one kind.
        """
        told = _evidence(self, np.array([likeness]), np.array([agreement]))
        return float(told[0])

    def chance_of(self, evidence: float) -> float:
        """Return the probability that the kind is that of the neighbours, 0 to 1."""
        if not len(self.evidence):
            return evidence
        return float(np.interp(evidence, self.evidence, self.chance))


def fit_match_confidence(model: VisualModel) -> MatchConfidence:
    """Return the calibration on a store's pictures; deterministic."""
    empty = np.zeros(0)
    vectors, kinds = model.pictured.vectors, model.pictured.kinds
    if len(model) < 2:  # noqa: PLR2004 - a single picture has no neighbour
        return MatchConfidence(model.floor, 1.0, empty, empty)
    among = _spread(len(model), _AMONG)
    sample = _spread(len(among), _SAMPLE)
    likes = np.asarray(vectors[among[sample]]) @ np.asarray(vectors[among]).T
    likes[np.arange(len(sample)), sample] = -1.0
    near = np.argpartition(-likes, min(VOTERS, len(among)) - 1, axis=1)[:, :VOTERS]
    nearest = likes.max(axis=1)
    plain = MatchConfidence(model.floor, float(np.median(nearest)), empty, empty)
    own, voted = kinds[among[sample]], kinds[among[near]]
    known = own >= 0
    if known.sum() < _FEWEST:
        return plain
    kind, agreement = _majority(voted[known])
    evidence = _evidence(plain, nearest[known], agreement)
    return MatchConfidence(plain.floor, plain.usual, *_rising(evidence, kind == own[known]))


def _evidence(sureness: MatchConfidence, likeness: Floats, agreement: Floats) -> Floats:
    span = max(sureness.usual - sureness.floor, _LEAST_SPAN)
    alike = np.clip((likeness - sureness.floor) / span, 0.0, 1.0)
    told: Floats = alike * (_LIKENESS + _AGREEMENT * agreement)
    return told


def _spread(count: int, most: int) -> npt.NDArray[np.intp]:
    return np.linspace(0, count - 1, min(count, most)).astype(np.intp)


def _majority(voted: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return each row's majority kind and its share; unknown kinds do not vote."""
    votes = (voted[:, :, None] == voted[:, None, :]).sum(axis=2) * (voted >= 0)
    place = votes.argmax(axis=1)
    rows = np.arange(len(voted))
    return voted[rows, place], votes[rows, place] / voted.shape[1]


def _rising(evidence: Floats, is_right: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return ascending probabilities by evidence (isotonic regression).

    Source: Ayer et al., An Empirical Distribution Function for Sampling with Incomplete
    Information, 1955. Each pool counts one hit and one miss more than it saw.
    """
    pools: list[tuple[float, float, float]] = []  # hits, cases, summed evidence
    order = np.argsort(evidence, kind="stable")
    for seen, right in zip(evidence[order].tolist(), is_right[order].tolist(), strict=True):
        hits, tries, total = float(right), 1.0, float(seen)
        while pools and pools[-1][0] * tries >= hits * pools[-1][1]:
            before = pools.pop()
            hits, tries, total = hits + before[0], tries + before[1], total + before[2]
        pools.append((hits, tries, total))
    middles = np.array([total / tries for _, tries, total in pools])
    chances = np.array([(hits + 1.0) / (tries + 2.0) for hits, tries, _ in pools])
    return (
        np.concatenate([[0.0], middles]),
        np.maximum.accumulate(np.concatenate([[0.0], chances])),
    )
