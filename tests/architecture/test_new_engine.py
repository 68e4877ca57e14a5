"""New engine: a throw-away one needs a package, one registration and a guide.

The source is copied, the three places are changed in the copy, and a process of its own
looks for the engine wherever engines are listed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = '''"""Throw-away engine: the product with the next number."""

import numpy as np

from productrecs.engines.arrays import Ranked
from productrecs.engines.engine_spec import CandidateRequest, Facts, OwnModel


def fit(facts: Facts):
    return {"bought": np.bincount(facts.bought, minlength=facts.n_items)}


def candidates(model, request: CandidateRequest):
    items = [one + 1 for one in request.anchors if one + 1 < len(model["bought"])]
    return Ranked(np.array(items, np.int32), np.ones(len(items), np.float32))


MODEL = OwnModel(
    fit=fit,
    load=dict,
    candidates=candidates,
    fingerprint=lambda arrays, n_items: arrays["bought"].astype(np.int64),
)
'''
LINE = """    EngineSpec(
        name="next-number",
        summary="the product with the next number",
        guide=RECOMMENDATIONS,
        weights={"product": 3.0, "cart": 3.0},
        model=next_number.MODEL,
    ),
"""
GUIDE = "\n## The next number\n\n`next-number` proposes the product with the next number.\n"
TRIAL = """
import json

import numpy as np

from productrecs.entrypoints.cli.commands.train import train
from productrecs.entrypoints.http.application import _check_engines, declared_routes
from productrecs.entrypoints.http.caches import recommendation_cache
from productrecs.entrypoints.http.openapi_document import openapi_document
from productrecs.features.recommendations.backtest import backtest
from productrecs.features.recommendations.explain import explain_recommendations
from productrecs.features.recommendations.recommend import recommend
from productrecs.features.recommendations.recommendation_request import (
    RecommendationRequest,
    Source,
)
from productrecs.tenancy.accounts.store_settings import StoreSettings
from productrecs.training.engine_specs import ENGINES, TRAINED
from productrecs.training.training_run import fit
from productrecs.training.trained_models import TrainedModels
from tests.features.recommendations.small_shop import NOW, Rows, small_shop
from tests.features.recommendations.test_backtest import store_with

_check_engines()
rows = Rows()
for number in range(30):
    rows.add(f"item {number}")
store = small_shop(rows, [], [], [])
inputs = store_with([[basket % 30, (basket + 1) % 30] for basket in range(600)])
settings = StoreSettings()
arrays = fit(inputs, 30, settings, NOW)
store.models = TrainedModels.of("new", arrays)
asked = RecommendationRequest(Source.MIX, 3, item_id="item 7")
explained = explain_recommendations(store, asked, [], NOW)
document = declared_routes()
told = {
    "listed": [(pick.item, pick.engine) for pick in recommend(store, asked, [], NOW)],
    "voices": [voice.engine for voice in explained.products[0].voices],
    "evaluated": sorted(
        {
            score.method
            for one in backtest(inputs, 30, settings, 100)
            for score in one.scores
        }
    ),
    "cached": "next-number" in recommendation_cache._CODES
    and "next-number" not in recommendation_cache._BACKFILL_ENGINES,
    "trained": "next-number" in TRAINED,
    "command": train.params[1].type.choices,
    "openapi": json.dumps(openapi_document(document, "")),
}
print(json.dumps(told))
"""


def copy_with(folder: Path, *, line: str = LINE, guide: str = GUIDE) -> Path:
    """Return a copy of the source with a new engine in its three places."""
    source = folder / "src"
    leave = shutil.ignore_patterns("__pycache__", "*.webp", "*.png")
    shutil.copytree(ROOT / "src", source, ignore=leave)
    package = source / "productrecs/engines/next_number"
    package.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    registry = source / "productrecs/training/engine_specs.py"
    text = registry.read_text().replace(
        "from productrecs.engines.engine_spec",
        "from productrecs.engines import next_number\nfrom productrecs.engines.engine_spec",
    )
    begin, end = text.split("ENGINES: Final = (\n")
    first, rest = end.split("\n)\n", 1)
    registry.write_text(f"{begin}ENGINES: Final = (\n{first}\n{line})\n{rest}")
    page = source / "productrecs/features/guides/pages/recommendations.md"
    page.write_text(page.read_text() + guide)
    return source


def run(source: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Return what a program says that runs with that source."""
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        cwd=source,
        check=False,
    )


def test_an_engine_in_three_places_is_everywhere(tmp_path: Path) -> None:
    ran = run(copy_with(tmp_path), TRIAL)

    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["listed"][0] == [8, "next-number"]
    assert "next-number" in told["voices"]
    assert told["evaluated"] == [
        *("browse", "buy", "complementary", "mix", "next-number", "popularity"),
    ]
    assert told["cached"]
    assert told["trained"]
    assert "next-number" in told["command"]
    assert told["openapi"].count("next-number") >= 3  # source, train, last_trained


@pytest.mark.parametrize(
    ("line", "guide", "said"),
    [
        (
            LINE.replace("        model=next_number.MODEL,\n", ""),
            GUIDE,
            "no candidate function",
        ),
        (LINE.replace('{"product": 3.0, "cart": 3.0}', "{}"), GUIDE, "in no list"),
        (LINE.replace("next-number", "buy"), GUIDE, "the same name"),
        (LINE, "\n", "do not mention them: next-number"),
    ],
    ids=["no model", "no weights", "name taken", "no guide"],
)
def test_a_part_that_is_forgotten_stops_the_start(
    tmp_path: Path, line: str, guide: str, said: str
) -> None:
    start = (
        "from productrecs.entrypoints.http.application import _check_engines\n"
        "from productrecs.features.recommendations import recommend\n_check_engines()"
    )

    ran = run(copy_with(tmp_path, line=line, guide=guide), start)

    assert ran.returncode != 0
    assert said in ran.stderr
