"""Engine specs: the registry of every engine, in the order of lists and reports.

Lists, cache, explanations, evaluation, training, the command line and the API description
read it.
"""

from typing import Final

from productrecs.engines.engine_spec import EngineSpec

RECOMMENDATIONS: Final = "recommendations"  # the guide of most engines

ENGINES: Final = (
    EngineSpec(
        name="buy",
        summary="bought together",
        guide=RECOMMENDATIONS,
        weights={"product": 0.8, "cart": 1.0, "shopper": 0.4},
    ),
    EngineSpec(
        name="browse",
        summary="what similar visits continued with",
        guide=RECOMMENDATIONS,
        weights={"product": 1.0, "cart": 0.4, "shopper": 1.0},
    ),
    EngineSpec(
        name="complementary",
        summary="bought together, from another category",
        guide=RECOMMENDATIONS,
    ),
    EngineSpec(
        name="similar",
        summary="looks alike",
        guide="pictures",
        is_filler=True,
        is_trained=False,
        is_evaluated=False,
    ),
    EngineSpec(
        name="category",
        summary="best sellers of the category",
        guide=RECOMMENDATIONS,
        is_filler=True,
        is_trained=False,
        is_evaluated=False,
    ),
    EngineSpec(
        name="trending",
        summary="what sells right now",
        guide=RECOMMENDATIONS,
        is_filler=True,
        is_evaluated=False,
    ),
    *(
        EngineSpec(
            name=name,
            summary=summary,
            guide="placements",
            is_trained=False,
            is_evaluated=False,
        )
        for name, summary in (
            ("recently_viewed", "viewed by this shopper before"),
            ("buy_again", "bought by this shopper before, and due again"),
            ("new", "newest in the catalog"),
        )
    ),
    EngineSpec(
        name="bundle",
        summary="in an accepted bundle with the product",
        guide="bundles",
        is_trained=False,
        is_evaluated=False,
    ),
)


def checked(engines: tuple[EngineSpec, ...]) -> dict[str, EngineSpec]:
    """Return engines by name.

    Raises:
        ValueError: when two have the same name.
    """
    by_name = {engine.name: engine for engine in engines}
    if len(by_name) < len(engines):
        message = "two engines have the same name"
        raise ValueError(message)
    return by_name


BY_NAME: Final = checked(ENGINES)
NAMES: Final = tuple(BY_NAME)
FILLERS: Final = frozenset(one.name for one in ENGINES if one.is_filler)
TRAINED: Final = tuple(one.name for one in ENGINES if one.is_trained)
TRAINING_CHOICES: Final = (
    "buy",
    "browse",
    "both",
    *(name for name in TRAINED if name not in ("buy", "browse", "trending")),
)  # `both` means all; its name dates from the time of two engines
EVALUATED: Final = tuple(sorted(one.name for one in ENGINES if one.is_evaluated))
