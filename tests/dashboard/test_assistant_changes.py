"""The merchant's assistant changes a store: after a dry run, once, and logged."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from productrecs.dashboard.audited_changes import run_audited_change
from productrecs.features.search.search_rule_editor import SearchRuleEditor
from productrecs.features.search.search_rules import SearchRule, SearchRuleAction
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.records.placements.placement import PlacementContent
from productrecs.records.placements.placement_editor import PlacementEditor
from productrecs.storage.sql.audit_log import AuditEntry, AuditLogRepository
from productrecs.tenancy.accounts.account_directory import AccountDirectory
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.training.search.indexer import Indexer
from tests.dashboard.conftest import Office
from tests.support.assistant import Assistant
from tests.support.dashboard import text_of
from tests.support.filled_store import Filled, open_store

EXCLUDE: dict[str, Any] = {"action": "exclude", "products": ["sofa-1"]}
MINUTE = 60_000


@dataclass
class Shop:
    """A store of sofas with an assistant that may change it."""

    office: Office
    filled: Filled
    assistant: Assistant

    @property
    def _rules(self) -> RuleEditor:
        services = self.office.services
        return RuleEditor(services.database, self.filled.store, services.clock, "test")

    @property
    def search(self) -> SearchRuleEditor:
        """The synonyms and search rules."""
        services = self.office.services
        return SearchRuleEditor(services.database, self.filled.store, services.clock)

    @property
    def places(self) -> PlacementEditor:
        """The placements."""
        services = self.office.services
        return PlacementEditor(services.database, self.filled.store, services.clock)

    def settings(self) -> tuple[Any, ...]:
        """Return everything that a tool can change."""
        return (
            [rule.content for rule in self._rules.all()],
            dict(self.search.synonyms()),
            dict(self.search.rules()),
            [(one.name, one.content) for one in self.places.all()],
        )

    def ids(self) -> dict[str, Any]:
        """Return the numbers that tools take, with the names of their arguments."""
        return {
            "rule": self._rules.all()[0].rule_id,
            "synonym": next(iter(self.search.synonyms())),
            "search_rule": next(iter(self.search.rules())),
        }

    def add_some(self) -> None:
        """Store one of each kind."""
        self.assistant.change("add_rule", **EXCLUDE, name="No sofa 1", ends="2030-01-31")
        self.search.add_synonym("divan", "couch")
        self.search.add_rule(SearchRule(SearchRuleAction.PIN, "sofa", ("sofa-2",)))
        self.places.add("home", PlacementContent(title="For you"))

    def log(self) -> list[AuditEntry]:
        """Return the audit log, the newest first."""
        with self.office.services.database.reading() as connection:
            return AuditLogRepository(connection, self.filled.store.store_id).page(50)


@pytest.fixture
def shop(office: Office) -> Shop:
    """Return a store of five sofas whose search is ready."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"change-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    sofas = [{"id": f"sofa-{n}", "title": f"Sofa number {n}", "price": 9} for n in range(5)]
    assert made.merchant.push(*sofas).status == 200
    folder = services.settings.data / "search"
    indexer = Indexer(folder, AccountDirectory(services.database))
    reader = services.database.raw_reader()
    while indexer.run_next_batches(reader):
        pass
    indexer.close()
    reader.close()
    return Shop(office, made, Assistant.of(office, made.store, Role.EDITOR, "Helper"))


CHANGES: list[tuple[str, dict[str, object], str, str]] = [
    # the tool, its arguments, what the dry run says, the action in the audit log
    ("add_rule", EXCLUDE, "'products_selected': 1", "Saved a rule"),
    (
        "add_rule",
        {"action": "pin", "products": ["sofa-3"], "position": 2},
        "sofa-3",
        "Saved",
    ),
    (
        "add_rule",
        {"action": "boost", "title_words": "sofa", "price_min": 1.5, "strength": 2.5},
        "'products_selected': 5",
        "Saved a rule",
    ),
    ("change_rule", {"rule": 0, "enabled": False}, "products_selected", "Saved a rule"),
    ("remove_rule", {"rule": 0}, "No sofa 1", "Removed a rule"),
    ("add_synonym", {"query": "davenport", "texts": ["sofa"]}, "sofa-0", "synonym"),
    ("pin_search", {"query": "sofa", "products": ["sofa-4"]}, "sofa-4", "search rule"),
    ("remove_synonym", {"synonym": 0}, "divan", "Removed a synonym"),
    (
        "remove_search_rule",
        {"search_rule": 0},
        "sofa-2",
        "Removed a synonym or search rule",
    ),
    (
        "change_placement",
        {"placement": "home", "strategy": "trending", "num": 4, "fallback": "new"},
        "products",
        "Saved a placement",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "words", "action"), CHANGES)
def test_a_change_is_made_only_with_its_confirmation_and_is_logged(
    shop: Shop, tool: str, arguments: dict[str, object], words: str, action: str
) -> None:
    shop.add_some()
    arguments = {**arguments, **{k: v for k, v in shop.ids().items() if k in arguments}}
    before, lines = shop.settings(), shop.log()

    proposed = shop.assistant.call(tool, **arguments)

    assert proposed["changed"] is False
    assert words in str(proposed["would_change"])
    assert shop.settings() == before
    assert shop.log() == lines
    confirmed = {**arguments, "confirmation": proposed["confirmation"]}
    done = shop.assistant.call(tool, **confirmed)
    assert done["changed"] is True
    assert done["message"]
    after = shop.settings()
    assert after != before
    (line,) = shop.log()[: -len(lines)]
    assert line.actor == "assistant “Helper”"
    assert action in line.action
    assert line.detail
    assert proposed["confirmation"] not in line.detail
    # Once only.
    assert "confirmed already" in shop.assistant.refusal(tool, **confirmed)
    assert shop.settings() == after


def test_what_is_not_given_stays(shop: Shop) -> None:
    shop.add_some()
    (rule,), (placement,) = shop.settings()[0], shop.settings()[3]

    shop.assistant.change("change_rule", rule=shop.ids()["rule"], priority=7)
    shop.assistant.change("change_placement", placement="home", minimum=2)

    rules, _, _, places = shop.settings()
    assert rules == [replace(rule, priority=7)]
    assert places == [("home", replace(placement[1], minimum=2))]


def test_a_removed_rule_can_be_brought_back_in_the_dashboard(shop: Shop) -> None:
    shop.add_some()
    before = shop.settings()
    shop.assistant.change("remove_rule", rule=shop.ids()["rule"])
    entry = shop.log()[0]
    member = shop.office.member(shop.filled.store)

    assert "assistant “Helper”" in text_of(member.get("/dashboard/audit"))
    assert "assistant “Helper”" in text_of(member.get("/dashboard/merchandising"))
    undone = member.post(
        "/dashboard/audit/undo", page="/dashboard/merchandising", entry=entry.entry_id
    )
    assert undone.status == 303
    assert shop.settings() == before


@pytest.mark.parametrize(
    "other",
    [
        {"action": "exclude", "products": ["sofa-2"]},
        {"action": "bury", "products": ["sofa-1"]},
        {"action": "exclude", "products": ["sofa-1"], "name": "x"},
        {"action": "exclude", "products": ["sofa-1"], "shown_on": "sofa-2"},
    ],
)
def test_a_confirmation_is_of_exactly_one_change(
    shop: Shop, other: dict[str, object]
) -> None:
    confirmation = shop.assistant.call("add_rule", **EXCLUDE)["confirmation"]
    before = shop.settings()

    refusal = shop.assistant.refusal("add_rule", **other, confirmation=confirmation)

    assert "not of this call" in refusal
    assert "without `confirmation`" in refusal
    assert shop.settings() == before


def test_a_confirmation_of_another_token_store_or_tool_is_refused(shop: Shop) -> None:
    shop.add_some()
    office, store = shop.office, shop.filled.store
    colleague = Assistant.of(office, store, Role.EDITOR)
    neighbour_store = open_store(
        office.services.database, office.services.clock, office.inside, f"n-{store.domain}"
    )
    for number in (1, 2, 3):
        neighbour_store.merchant.push({"id": f"sofa-{number}", "title": "Sofa", "price": 1})
    neighbour = Assistant.of(office, neighbour_store.store, Role.EDITOR)
    before = shop.settings()

    for stranger in (colleague, neighbour):
        foreign = stranger.call("add_rule", **EXCLUDE)["confirmation"]
        refusal = shop.assistant.refusal("add_rule", **EXCLUDE, confirmation=foreign)
        assert "not of this call and token" in refusal
    number = shop.ids()["synonym"]
    of_tool = shop.assistant.call("remove_synonym", synonym=number)["confirmation"]
    assert "not of this call" in shop.assistant.refusal(
        "remove_search_rule", search_rule=number, confirmation=of_tool
    )
    assert shop.settings() == before


def test_a_confirmation_expires_after_five_minutes(shop: Shop) -> None:
    confirmation = shop.assistant.call("add_rule", **EXCLUDE)["confirmation"]
    before = shop.settings()
    shop.office.now_ms += 5 * MINUTE

    assert "expired" in shop.assistant.refusal(
        "add_rule", **EXCLUDE, confirmation=confirmation
    )

    later, _, rest = confirmation.partition(".")
    forged = f"{int(later) + 10 * MINUTE}.{rest}"
    assert "not of this call" in shop.assistant.refusal(
        "add_rule", **EXCLUDE, confirmation=forged
    )
    assert shop.settings() == before


def test_a_dry_run_is_outdated_by_another_change(shop: Shop) -> None:
    confirmation = shop.assistant.call("add_rule", **EXCLUDE)["confirmation"]
    member = shop.office.member(shop.filled.store)
    member.post("/dashboard/merchandising/rule", action="bury", item="sofa-2", enabled="on")
    before = shop.settings()

    refusal = shop.assistant.refusal("add_rule", **EXCLUDE, confirmation=confirmation)

    assert "something else was changed" in refusal
    assert shop.settings() == before


def test_of_two_simultaneous_calls_with_one_confirmation_one_acts(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmation = shop.assistant.call("add_rule", **EXCLUDE)["confirmation"]
    raced: list[bool] = []

    def race(*arguments: Any) -> Any:
        if not raced:  # both have read the same position before either writes
            raced.append(True)
            shop.assistant.call("add_rule", **EXCLUDE, confirmation=confirmation)
        return run_audited_change(*arguments)

    monkeypatch.setattr(
        "productrecs.dashboard.assistant_tools.dry_run_and_apply.run_audited_change", race
    )

    refusal = shop.assistant.refusal("add_rule", **EXCLUDE, confirmation=confirmation)

    assert "confirmed already" in refusal
    assert len(shop.settings()[0]) == 1
    assert sum(line.action == "Saved a rule" for line in shop.log()) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("add_rule", {"action": "exclude"}, "items"),
        ("add_rule", {"action": "exclude", "products": ["no-such"]}, "No product"),
        ("add_rule", {"action": "hide", "products": ["sofa-1"]}, "action"),
        ("add_rule", {"products": ["sofa-1"]}, "action"),
        ("add_rule", {**EXCLUDE, "starts": "tomorrow"}, "starts"),
        ("add_rule", {**EXCLUDE, "starts": "2030-02-01", "ends": "2030-01-01"}, "ends"),
        ("add_rule", {**EXCLUDE, "price_min": 5, "price_max": 1}, "price"),
        ("add_rule", {**EXCLUDE, "priority": 10**30}, "priority"),
        ("add_rule", {**EXCLUDE, "name": "x" * 300}, "name"),
        ("add_rule", {**EXCLUDE, "only_in": ["admin"]}, "only_in"),
        ("add_rule", {**EXCLUDE, "csrf": "x"}, "csrf"),
        ("add_rule", {**EXCLUDE, "confirmation": 5}, "str"),
        ("add_rule", {**EXCLUDE, "confirmation": ""}, "not of this call"),
        ("add_rule", {**EXCLUDE, "confirmation": "9" * 5000}, "not of this call"),
        ("add_rule", {**EXCLUDE, "confirmation": "١.٢.3"}, "not of this call"),
        ("change_rule", {"rule": 999_999, "enabled": True}, "list_rules"),
        ("remove_rule", {"rule": 999_999}, "rule"),
        ("remove_rule", {"rule": -1}, "rule"),
        ("remove_rule", {"rule": "1 OR 1=1"}, "rule"),
        ("add_synonym", {"query": "", "texts": ["sofa"]}, ""),
        ("add_synonym", {"query": "sofa", "texts": []}, "texts"),
        ("pin_search", {"query": "sofa", "products": ["no-such"]}, "no longer"),
        ("remove_synonym", {"synonym": 999_999}, "removed already"),
        ("change_placement", {"placement": "none"}, "no placement"),
        ("change_placement", {"placement": "home", "num": 99}, "num"),
        (
            "change_placement",
            {"placement": "home", "filters": ["brand:Nobody"]},
            "No product",
        ),
    ],
)
def test_an_impossible_change_is_refused_by_its_dry_run(
    shop: Shop, tool: str, arguments: dict[str, object], words: str
) -> None:
    shop.add_some()
    before, lines = shop.settings(), shop.log()

    assert words in shop.assistant.refusal(tool, **arguments)

    assert shop.settings() == before
    assert shop.log() == lines


def test_a_token_that_may_only_read_changes_nothing(shop: Shop) -> None:
    reader = Assistant.of(shop.office, shop.filled.store, Role.VIEWER)
    confirmation = shop.assistant.call("add_rule", **EXCLUDE)["confirmation"]
    before = shop.settings()

    for extra in ({}, {"confirmation": confirmation}):
        assert "may only read" in reader.refusal("add_rule", **EXCLUDE, **extra)

    assert shop.settings() == before
    listed = {tool["name"] for tool in reader.tools()}
    changing = {
        tool["name"]: tool
        for tool in shop.assistant.tools()
        if not tool["annotations"]["readOnlyHint"]
    }
    assert len(changing) >= 8
    assert listed.isdisjoint(changing)
    for tool in changing.values():
        schema = tool["inputSchema"]
        assert "confirmation" in schema["properties"]
        assert "$ref" not in str(schema)
        assert all(one["description"] for one in schema["properties"].values())


def test_another_stores_rules_cannot_be_seen_or_removed(shop: Shop) -> None:
    shop.add_some()
    services = shop.office.services
    domain = f"x-{shop.filled.store.domain}"
    other = open_store(services.database, services.clock, shop.office.inside, domain)
    stranger = Assistant.of(shop.office, other.store, Role.EDITOR)
    before = shop.settings()

    for tool, name in (
        ("remove_rule", "rule"),
        ("change_rule", "rule"),
        ("remove_synonym", "synonym"),
        ("remove_search_rule", "search_rule"),
    ):
        stranger.refusal(tool, **{name: shop.ids()[name]})
    stranger.refusal("change_placement", placement="home", title="Mine")

    assert shop.settings() == before
    assert stranger.call("list_placements") == {"placements": []}
