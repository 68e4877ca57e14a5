"""Refinement: the question whose answer narrows the results of a search most.

A question asks for one attribute; its answers are filters. The one with the highest
information gain is asked, if it halves the results. Results count by rank, and more where
shoppers chose them for the query: what they wanted decides which answers matter. A question
that the store's shoppers answer more often than others counts more.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from productrecs.records.catalog.attribute_index import ValueCount
from productrecs.records.catalog.catalog_view import CatalogView
from productrecs.records.catalog.item import ATTRIBUTE_FIELDS
from productrecs.records.catalog.item_filters import FilterKind
from productrecs.records.catalog.title_words import fold_text, size_code_in_title
from productrecs.records.catalog.variant_groups import Items
from productrecs.records.search_counts.repository import QuestionCount

MIN_RESULTS: Final = 8
"""Fewer results fit on a screen."""

MAX_ANSWERS: Final = 6

_DEPTH: Final = 80  # results that a question is chosen by
_MIN_GAIN: Final = 0.85  # bits: 72 to 28 %; 1 bit halves the results
_MOST: Final = 0.9  # an answer with more than this share excludes nearly nothing
_MIN_COVERED: Final = 0.7  # share of the results that have one of the answers
_MIN_PRODUCTS: Final = 2  # with an answer, among those that a question is chosen by
_CHOSEN: Final = 3.0  # additional weight of a product that shoppers chose most
_PRIOR_OFFERS: Final = 500.0  # of each question, at the store's own share of answers
_PRIOR_SHARE: Final = 0.1  # of answers, of a store without counts
_SWITCHES: Final = frozenset({"true", "false", "yes", "no"})  # say nothing as an answer

_NO_WEIGHTS: Final[Mapping[str, float]] = MappingProxyType({})

_Key = int | str  # the id of an attribute's value, or the name of a category


@dataclass(frozen=True, slots=True)
class RefinementQuestion:
    """The attribute to ask for, as filters name it, and the answers with their counts."""

    attribute: str
    name: str  # as first written
    answers: list[ValueCount]

    def filter_of(self, answer: ValueCount) -> str:
        """Return the filter that an answer stands for."""
        return f"{self.attribute}:{answer.value}"


class _CandidateQuestion(NamedTuple):
    kind: str
    gain: float
    keys: list[_Key]


def choose_refinement_question(
    catalog: CatalogView,
    items: Items,
    chosen: Mapping[int, float],
    known: Collection[str],
    weights: Mapping[str, float] = _NO_WEIGHTS,
) -> RefinementQuestion | None:
    """Return the best question about the results `items`, best first; None without one.

    `chosen` is how much shoppers chose a product for the query, from 0 to 1. What filters
    of the kinds `known` fix is not asked. `weights` are those of `question_weights`.
    """
    if len(items) < MIN_RESULTS:
        return None
    weighted = [
        (_keys(catalog, item), (1.0 + _CHOSEN * chosen.get(item, 0.0)) / math.log2(rank))
        for rank, item in enumerate(items[:_DEPTH].tolist(), 2)
    ]
    answers = _answers_by_question(catalog, weighted, known)
    questions = _informative_questions(weighted, answers)
    if not questions:
        return None
    best = min(
        questions,
        key=lambda question: (
            -round(question.gain * weights.get(question.kind, 1.0), 6),
            question.kind,
        ),
    )
    return _to_refinement_question(catalog, best, items)


def question_weights(counts: Sequence[QuestionCount]) -> dict[str, float]:
    """Return each kind's share of answers, as a multiple of that of all kinds together.

    Each kind has many offers in advance at the common share, so few counts change nearly
    nothing, and a kind that was never asked for has the weight 1.
    """
    offered = sum(count.offered for count in counts)
    answered = sum(count.answered for count in counts)
    share = (answered + _PRIOR_SHARE * _PRIOR_OFFERS) / (offered + _PRIOR_OFFERS)
    return {
        count.attribute: (count.answered / share + _PRIOR_OFFERS)
        / (count.offered + _PRIOR_OFFERS)
        for count in counts
    }


def _keys(catalog: CatalogView, item: int) -> tuple[_Key, ...]:
    return (*catalog.attributes.ids_of(item), *catalog.categories[item])


def _answers_by_question(
    catalog: CatalogView,
    weighted: Iterable[tuple[tuple[_Key, ...], float]],
    known: Collection[str],
) -> dict[str, dict[_Key, float]]:
    """Return the answers of each question with their weights, the heaviest first."""
    sums: dict[_Key, float] = defaultdict(float)
    counts: dict[_Key, int] = defaultdict(int)
    total = 0.0
    for keys, weight in weighted:
        total += weight
        for key in keys:
            sums[key] += weight
            counts[key] += 1
    by_kind: dict[str, list[_Key]] = defaultdict(list)
    for key, weight in sums.items():
        if counts[key] >= _MIN_PRODUCTS and weight <= _MOST * total:
            by_kind[_question_kind_of_key(catalog, key)].append(key)
    answers: dict[str, dict[_Key, float]] = {}
    for kind, kind_keys in by_kind.items():
        labels = {key: _label(catalog, key) for key in kind_keys}
        if kind in known or _SWITCHES.issuperset(map(fold_text, labels.values())):
            continue
        ranked = sorted(labels, key=lambda key: (-round(sums[key], 6), labels[key]))
        answers[kind] = {key: sums[key] / total for key in ranked[:MAX_ANSWERS]}
    return answers


def _informative_questions(
    weighted: Iterable[tuple[tuple[_Key, ...], float]],
    answers: Mapping[str, Mapping[_Key, float]],
) -> list[_CandidateQuestion]:
    """Return the questions that halve the results.

    A product with several answers is wanted for each of them equally often.
    """
    bits = {
        key: (kind, -math.log2(share))
        for kind, shares in answers.items()
        for key, share in shares.items()
    }
    gains: dict[str, float] = dict.fromkeys(answers, 0.0)
    covered: dict[str, float] = dict.fromkeys(answers, 0.0)
    total = 0.0
    for keys, weight in weighted:
        total += weight
        own: dict[str, list[float]] = {}
        for key in keys:
            if key in bits:
                kind, gain = bits[key]
                own.setdefault(kind, []).append(gain)
        for kind, gained in own.items():
            covered[kind] += weight
            gains[kind] += weight * math.fsum(gained) / len(gained)
    return [
        _CandidateQuestion(kind, gains[kind] / total, list(shares))
        for kind, shares in answers.items()
        if len(shares) > 1
        and covered[kind] >= _MIN_COVERED * total
        and gains[kind] >= _MIN_GAIN * total
    ]


def _to_refinement_question(
    catalog: CatalogView, question: _CandidateQuestion, items: Items
) -> RefinementQuestion:
    answers = [
        ValueCount(_label(catalog, key), _count_items_with_answer(catalog, key, items))
        for key in question.keys
    ]
    if question.kind == "size":
        answers.sort(key=lambda answer: _size_sort_key(answer.value))
    key = question.keys[0]
    name = key if isinstance(key, str) else catalog.attributes.title_of(key)
    if question.kind in ATTRIBUTE_FIELDS or question.kind == FilterKind.CATEGORIES:
        return RefinementQuestion(question.kind, question.kind, answers)
    return RefinementQuestion(f"{FilterKind.ATTRIBUTES}.{name}", name, answers)


def _question_kind_of_key(catalog: CatalogView, key: _Key) -> str:
    if isinstance(key, str):
        return FilterKind.CATEGORIES.value
    name = catalog.attributes.name_of(key)
    return name if name in ATTRIBUTE_FIELDS else f"{FilterKind.ATTRIBUTES}.{name}"


def _label(catalog: CatalogView, key: _Key) -> str:
    return key if isinstance(key, str) else catalog.attributes.value(key)[1].value


def _count_items_with_answer(catalog: CatalogView, key: _Key, items: Items) -> int:
    if isinstance(key, str):
        members = np.array(catalog.members.get(key, ()), np.int64)
        mask = np.zeros(len(catalog), np.bool_)
        mask[members[members < len(mask)]] = True
    else:
        mask = catalog.attributes.mask_of_value_ids([key], len(catalog))
    known = items[items < len(mask)]
    return int(mask[known].sum())


def _size_sort_key(size: str) -> tuple[int, float, str]:
    """Return the place of a size: words such as S and XL, then numbers, then others."""
    word = size_code_in_title(size)
    if word:
        return (0, word, size)
    try:
        return (1, float(size.replace(",", ".")), size)
    except ValueError:
        return (2, 0.0, size)
