"""Experiment editor: states, refusals with a remedy, and winners that are applied."""

import math
from typing import Any

import pytest

from productrecs.records.experiments.experiment import (
    PLACEMENT,
    SEARCH,
    ExperimentContent,
    ExperimentError,
    ExperimentState,
    Goal,
    Treatment,
    UnknownExperimentError,
)
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.experiments.repository import RunningExperiments
from productrecs.records.merchandising.rule import (
    RuleAction,
    RuleContent,
    RuleListScope,
    RuleTarget,
)
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.placements.placement import (
    PlacementContent,
    PlacementError,
    Strategy,
    UnknownPlacementError,
)
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.records.placements.repository import PlacementsAndBundles
from productrecs.storage.sql.database import Database
from productrecs.tenancy.accounts.store_management import (
    find_store,
)
from tests.support.migrated import ON_SQLITE
from tests.support.stores import new_store

CART = f"{PLACEMENT}cart"
FOUR = Treatment("four", 30, {"num": 4})
NEW = Treatment("new", 30, {"strategy": "new", "filters": ["price:..50"]})


@pytest.fixture
def editor(database: Database) -> ExperimentEditor:
    """Return the editor of a store with the placement `cart`."""
    store = new_store(database)
    PlacementEditor(database, store, lambda: 1_000).add("cart", PlacementContent(num=8))
    return ExperimentEditor(database, store, lambda: 2_000, "anna")


def placements_of(editor: ExperimentEditor) -> PlacementEditor:
    return PlacementEditor(editor.database, editor.store, editor.clock)


def served(editor: ExperimentEditor) -> RunningExperiments:
    """Return what an API process serves."""
    reader = editor.database.raw_reader()
    try:
        store_id = editor.store.store_id
        placements = PlacementsAndBundles.load(reader, store_id, 99)
        return RunningExperiments.load(reader, store_id, placements)
    finally:
        reader.close()


def test_a_running_test_serves_its_variants_and_a_winner_becomes_the_placement(
    editor: ExperimentEditor,
) -> None:
    rules = RuleEditor(editor.database, editor.store, editor.clock, "anna")
    rule = rules.add(
        RuleContent(
            RuleAction.EXCLUDE,
            RuleTarget(items=("a",)),
            places=RuleListScope(placements=("cart:new",)),
        )
    )
    draft = editor.add("size", ExperimentContent(CART, (FOUR, NEW), Goal.ORDERS))
    assert (draft.state, served(editor)) == (ExperimentState.DRAFT, RunningExperiments())

    started = editor.act("size", "start")

    arms = served(editor).by_placement["cart"].placements
    assert started.started_at == 2_000
    assert draft.content.shares == {"control": 40, "four": 30, "new": 30}
    assert [arms[name].content.num for name in ("control", "four", "new")] == [8, 4, 8]
    assert arms["new"].content.filters == ("price:..50",)
    assert arms["new"].name_for_rules == "cart:new"
    with pytest.raises(PlacementError, match="stop it first"):
        placements_of(editor).change("cart", num=5)
    with pytest.raises(PlacementError, match="stop it first"):
        placements_of(editor).remove("cart")
    editor.act("size", "pause")
    assert served(editor) == RunningExperiments()
    assert editor.act("size", "start").state is ExperimentState.RUNNING

    chosen = editor.act("size", "choose", "new")

    assert (chosen.state, chosen.winner, chosen.ended_at) == (
        ExperimentState.ENDED,
        "new",
        2_000,
    )
    assert placements_of(editor).find("cart").content == PlacementContent(
        Strategy.NEW, filters=("price:..50",), num=8
    )
    (moved,) = rules.all()
    assert moved.rule_id == rule.rule_id
    assert moved.content.places.placements == ("cart",)
    with pytest.raises(ExperimentError, match="chosen already"):
        editor.act("size", "choose", "four")
    editor.act("size", "remove")
    with pytest.raises(UnknownExperimentError, match="none yet"):
        editor.find("size")


def test_a_winner_of_search_becomes_the_stores_settings(editor: ExperimentEditor) -> None:
    last = Treatment("last", 50, {"search_sold_out": "last", "search_meaning": False})
    editor.add("sold-out", ExperimentContent(SEARCH, (last,)))
    editor.act("sold-out", "start")
    running = served(editor).search
    assert running is not None
    assert running.settings["last"] == last.changes

    editor.act("sold-out", "choose", "last")

    settings = find_store(editor.database, "shop.example").settings
    assert (settings.search_sold_out, settings.search_meaning) == ("last", False)


@ON_SQLITE
@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("Cart", {}, "lower-case"),
        ("x" * 65, {}, "1 to 64"),
        ("a", {"variants": ()}, "1 to 4 variants"),
        ("a", {"variants": (FOUR,) * 5}, "1 to 4 variants"),
        ("a", {"variants": (FOUR, FOUR)}, "name each variant once"),
        ("a", {"variants": (Treatment("control", 50, {"num": 1}),)}, "none control"),
        ("a", {"variants": (Treatment("toolongname", 50, {"num": 1}),)}, "1 to 8"),
        ("a", {"variants": (Treatment("b", 0.5, {"num": 1}),)}, "from 1 to 99"),
        ("a", {"variants": (Treatment("b", math.nan, {"num": 1}),)}, "from 1 to 99"),
        ("a", {"variants": (Treatment("b", 99, {"num": 1}), FOUR)}, "for the control"),
        ("a", {"variants": (Treatment("b", 50, {"num": 8}),)}, "say what it changes"),
        ("a", {"variants": (Treatment("b", 50, {"num": 21}),)}, "b: num must be"),
        ("a", {"variants": (Treatment("b", 50, {"num": "many"}),)}, "b: Expected"),
        ("a", {"variants": (Treatment("b", 50, {"strategy": "x"}),)}, "b: Invalid"),
        ("a", {"variants": (Treatment("b", 50, {"nums": 4}),)}, "no 'nums' to change"),
        ("a", {"variants": (Treatment("b", 50, {"title": "\ud800"}),)}, "b: "),
        ("a", {"variants": (Treatment("b", 50, {"filters": ["price:x"]}),)}, "b: "),
        (
            "a",
            {"variants": (FOUR, Treatment("same", 10, {"num": 4}))},
            "same is the same as another",
        ),
        (
            "a",
            {"subject": SEARCH, "variants": (Treatment("b", 50, {"rec_num": 4}),)},
            "there are search_meaning, search_sold_out",
        ),
        (
            "a",
            {"subject": SEARCH, "variants": (Treatment("b", 50, {"search_meaning": 7}),)},
            "true or false",
        ),
    ],
)
def test_an_impossible_test_says_what_to_change(
    editor: ExperimentEditor, name: str, changes: dict[str, Any], said: str
) -> None:
    fields = {"subject": CART, "variants": (FOUR,)} | changes

    with pytest.raises(ExperimentError, match=said):
        editor.add(name, ExperimentContent(**fields))

    assert editor.all() == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("before", "action", "said"),
    [
        ((), "pause", "pause needs a test that is running"),
        ((), "stop", "is draft"),
        ((), "choose", "is draft"),
        (("start",), "start", "is running"),
        (("start",), "remove", "draft or ended"),
        (("start", "stop"), "start", "is ended"),
        (("start",), "restart", "an action is one of"),
    ],
)
def test_an_action_needs_its_state(
    editor: ExperimentEditor, before: tuple[str, ...], action: str, said: str
) -> None:
    editor.add("a", ExperimentContent(CART, (FOUR,)))
    for one in before:
        editor.act("a", one)

    with pytest.raises(ExperimentError, match=said):
        editor.act("a", action, "four")


def test_a_subject_has_one_open_test_and_names_are_not_taken_twice(
    editor: ExperimentEditor,
) -> None:
    content = ExperimentContent(CART, (FOUR,))
    first, second = editor.add("a", content), editor.add("b", content)
    editor.act("a", "start")

    assert first.split != second.split
    with pytest.raises(ExperimentError, match="the test a of the same placement"):
        editor.act("b", "start")
    with pytest.raises(ExperimentError, match="choose another name"):
        editor.add("a", content)
    with pytest.raises(UnknownPlacementError, match="there are: cart"):
        editor.add("c", ExperimentContent(f"{PLACEMENT}page", (FOUR,)))
    with pytest.raises(ExperimentError, match="there are control, four"):
        editor.act("a", "choose", "five")


def test_a_store_knows_only_its_own_tests(
    editor: ExperimentEditor, database: Database
) -> None:
    other = new_store(database, "other.example")
    others = ExperimentEditor(database, other, editor.clock, "eve")
    editor.add("a", ExperimentContent(CART, (FOUR,)))

    assert others.all() == []
    assert served(others) == RunningExperiments()
    for action in ("start", "remove"):
        with pytest.raises(UnknownExperimentError):
            others.act("a", action)
