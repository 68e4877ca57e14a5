"""Reference implementations: the engines' formulas in plain Python."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations

from productrecs.engines.browse import SessionKnnOptions
from productrecs.engines.copurchase import CopurchaseOptions

Scored = list[tuple[int, float]]
DAY_MS = 86_400_000


def best_first(scores: dict[int, float]) -> Scored:
    """Return items by falling score, equals by number."""
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def companions(
    lines: Sequence[tuple[int, int, float]], options: CopurchaseOptions
) -> dict[int, Scored]:
    """Return each item's companions from lines (basket, item, age in days)."""
    baskets: dict[int, set[int]] = defaultdict(set)
    ages: dict[int, float] = {}
    for basket, item, age in lines:
        baskets[basket].add(item)
        ages[basket] = min(age, ages.get(basket, math.inf))
    weights: dict[int, float] = {}
    holding: dict[int, float] = defaultdict(float)
    together: dict[tuple[int, int], float] = defaultdict(float)
    for basket, items in baskets.items():
        weight = min(1.0, options.large_basket / len(items))
        weight *= 0.5 ** (ages[basket] / options.half_life_days)
        weights[basket] = weight
        for item in items:
            holding[item] += weight
        for pair in permutations(items, 2):
            together[pair] += weight
    total = sum(weights.values())
    scores: dict[int, dict[int, float]] = defaultdict(dict)
    for (one, other), weight in together.items():
        usual = options.prior * holding[other] / total
        chance = (weight + usual) / (holding[one] + options.prior)
        scores[one][other] = chance / holding[other] ** options.exponent
    return {item: best_first(found)[: options.neighbours] for item, found in scores.items()}


def cosines(lines: Sequence[tuple[int, int, float]]) -> dict[tuple[int, int], float]:
    """Return the cosine of each pair of items in baskets that all weigh 1."""
    baskets: dict[int, set[int]] = defaultdict(set)
    for basket, item, _ in lines:
        baskets[basket].add(item)
    held: dict[int, int] = defaultdict(int)
    together: dict[tuple[int, int], int] = defaultdict(int)
    for items in baskets.values():
        for item in items:
            held[item] += 1
        for pair in permutations(items, 2):
            together[pair] += 1
    return {
        (one, other): count / math.sqrt(held[one] * held[other])
        for (one, other), count in together.items()
    }


def _kept_sessions(
    events: Sequence[tuple[int, int, int]], longest: int
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the items of each session worth keeping, newest first, and when each ended."""
    views: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, int] = {}
    for session, item, moment in sorted(events, key=lambda event: (event[0], event[2])):
        ends[session] = moment
        if item not in views[session]:
            views[session].append(item)
    newest_first = sorted(views, key=lambda one: (ends[one], one), reverse=True)
    return {one: views[one][-longest:] for one in newest_first if views[one][1:]}, ends


def _votes(
    kept: dict[int, list[int]],
    recent_items: Sequence[int],
    voters: dict[int, tuple[int, float]],
    options: SessionKnnOptions,
) -> dict[int, float]:
    """Return each item's votes; `voters` have the newest place they share, and a weight."""
    scores: dict[int, float] = defaultdict(float)
    for session, (place, similar) in voters.items():
        star = kept[session].index(recent_items[place])
        vote = similar * math.exp(-place / options.vote_scale)
        for at, item in enumerate(kept[session]):
            near = 1 / (1 + abs(at - star) / options.distance_scale)
            scores[item] += vote * near * (options.backward if at < star else 1.0)
    return scores


def next_items(
    events: Sequence[tuple[int, int, int]], visit: Sequence[int], options: SessionKnnOptions
) -> Scored:
    """Return all items after `visit`, from events (session, item, time)."""
    kept, ends = _kept_sessions(events, options.longest)
    holders: dict[int, list[int]] = defaultdict(list)
    for session, items in kept.items():
        for item in items:
            holders[item].append(session)
    recent_items = list(dict.fromkeys(reversed(visit)))[: options.prefix]
    places: dict[int, list[int]] = {}
    for session in kept:
        recent = (holders[item][: options.sessions_per_item] for item in recent_items)
        shared = [place for place, found in enumerate(recent) if session in found]
        if shared and len(places) < options.recent_sessions:
            places[session] = shared
    similar = {
        session: math.exp(
            -(max(ends[one] for one in kept) - ends[session]) / DAY_MS / options.days_scale
        )
        * sum(math.exp(-place / options.match_scale) for place in shared)
        for session, shared in places.items()
    }
    nearest = sorted(similar, key=lambda one: -similar[one])[: options.neighbours]
    voters = {session: (places[session][0], similar[session]) for session in nearest}
    scores = _votes(kept, recent_items, voters, options)
    total = sum(scores.values()) or 1.0
    for share, item in list(zip(return_shares(events), recent_items, strict=False))[1:]:
        if share or item in scores:
            scores[item] *= options.seen
            scores[item] += options.returns * share * total
    for item in scores:
        df = max(len(holders[item]), 1)
        scores[item] *= 1 + options.rarity * math.log(max(len(kept), 1) / df)
    scores.pop(visit[-1], None)
    return best_first(scores)


def return_shares(events: Sequence[tuple[int, int, int]]) -> list[float]:
    """Return which share of steps went back 0, 1, 2, ... places before the current item."""
    visits: dict[int, list[int]] = defaultdict(list)
    for session, item, _ in sorted(events, key=lambda event: (event[0], event[2])):
        if visits[session][-1:] != [item]:
            visits[session].append(item)
    shares = []
    for back in range(1, 17):
        found = sum(
            visit[at] == visit[at - back] and visit[at] not in visit[at - back + 1 : at]
            for visit in visits.values()
            for at in range(back, len(visit))
        )
        chances = sum(max(len(visit) - back, 0) for visit in visits.values())
        shares.append(found / (chances + 500))
    return shares
