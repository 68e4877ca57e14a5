"""Engine registry: every engine, in the order of training, lists and reports.

Training, lists, caches, explanations, evaluation, the command line and the API description
iterate over it. An engine comes after those whose arrays or models it reads.
"""

from typing import Any, Final

from productrecs.engines.bought_together import BuyEngine
from productrecs.engines.browse.engine import BrowseEngine
from productrecs.engines.buy_again import BuyAgainEngine
from productrecs.engines.complementary import ComplementaryEngine
from productrecs.engines.engine_protocol import Engine
from productrecs.engines.recently_viewed_new_and_bundle import (
    BundleEngine,
    NewEngine,
    RecentlyViewedEngine,
)
from productrecs.engines.trending_and_category import (
    CategoryBestSellerEngine,
    TrendingEngine,
)
from productrecs.engines.visually_similar import VisuallySimilarEngine

BUY: Final = BuyEngine()
BROWSE: Final = BrowseEngine()
COMPLEMENTARY: Final = ComplementaryEngine()
SIMILAR: Final = VisuallySimilarEngine()
TRENDING: Final = TrendingEngine()
BUY_AGAIN: Final = BuyAgainEngine()
BUNDLE: Final = BundleEngine()

ENGINES: Final[tuple[Engine[Any], ...]] = (
    BUY,
    BROWSE,
    COMPLEMENTARY,
    SIMILAR,
    CategoryBestSellerEngine(),
    TRENDING,
    RecentlyViewedEngine(),
    BUY_AGAIN,
    NewEngine(),
    BUNDLE,
)


def checked_engines_by_name(engines: tuple[Engine[Any], ...]) -> dict[str, Engine[Any]]:
    """Return engines by name.

    Raises:
        ValueError: when a part is missing, or two have the same name.
    """
    for engine in engines:
        for part in ("name", "label", "summary", "guide"):
            if not getattr(engine, part, ""):
                message = f"engine {type(engine).__name__}: `{part}` is missing"
                raise ValueError(message)
    named = {engine.name: engine for engine in engines}
    if len(named) < len(engines):
        message = "two engines have the same name"
        raise ValueError(message)
    return named


BY_NAME: Final = checked_engines_by_name(ENGINES)
NAMES: Final = tuple(BY_NAME)
FILLERS: Final = frozenset(engine.name for engine in ENGINES if engine.is_filler)
TRAINED: Final = tuple(engine.name for engine in ENGINES if engine.is_trained)
TRAINING_CHOICES: Final = (
    "buy",
    "browse",
    "both",
    *(name for name in TRAINED if name not in ("buy", "browse", "trending")),
)  # `both` means all; its name dates from the time of two engines
EVALUATED: Final = tuple(sorted(engine.name for engine in ENGINES if engine.is_evaluated))
