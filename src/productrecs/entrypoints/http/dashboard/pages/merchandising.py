"""Merchandising page: a store's rules, their status, and the history of changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from productrecs.entrypoints.http.dashboard.page import (
    Group,
    NotFoundError,
    Page,
    Reply,
    Visit,
)
from productrecs.entrypoints.http.dashboard.rule_drafts import ACTIONS, PLACES
from productrecs.records.merchandising.rule import Rule, RuleState, describe_rule
from productrecs.records.merchandising.rule_editor import (
    RuleChange,
    RuleEditor,
    UnknownRuleError,
)

MERCHANDISING_PATH: Final = "/dashboard/merchandising"
AT_ONCE: Final = "Every list follows within a second."
_STATES: Final = MappingProxyType(
    {
        RuleState.ON: ("In force", "good"),
        RuleState.WAITING: ("Scheduled", ""),
        RuleState.OVER: ("Ended", ""),
        RuleState.OFF: ("Off", "warn"),
    }
)
_CHANGES: Final = 20


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule in the table."""

    rule: Rule
    action: str
    description: str
    places: str
    schedule: str
    state: str
    tone: str
    selected: int | None  # how many products it selects; None while inactive


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One line of the history."""

    change: RuleChange
    description: str
    can_undo: bool  # the last change of its rule


def editor_of(visit: Visit) -> RuleEditor:
    """Return the editor of the store's rules, which records who changes them."""
    who = visit.user.email or visit.user.role.label
    return RuleEditor(visit.database, visit.store, visit.context.clock, who)


def rule_id_of(text: str) -> int:
    """Return the id of a rule that a form or query names.

    Raises:
        NotFoundError: when it cannot be one.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 16):  # noqa: PLR2004 - digits that a database can hold
        raise NotFoundError
    return int(text)


def show_rules(visit: Visit) -> Reply:
    """Show every rule and the newest changes."""
    editor = editor_of(visit)
    stored = sorted(editor.all(), key=lambda one: (-one.content.priority, one.rule_id))
    return visit.render(
        "merchandising.html",
        rows=[_row(visit, rule) for rule in stored],
        changes=_history(editor),
        actions=list(ACTIONS.items()),
    )


def switch_rule(visit: Visit) -> Reply:
    """Switch a rule on or off."""
    on = visit.form["to"] == "on"
    with _known_rule():
        rule = editor_of(visit).change(rule_id_of(visit.form["rule"]), enabled=on)
    visit.refresh_store()
    done = "is on" if on else "is off"
    return visit.redirect(MERCHANDISING_PATH, f"“{rule.title}” {done}. {AT_ONCE}")


def remove_rule(visit: Visit) -> Reply:
    """Remove a rule; the history can bring it back."""
    with _known_rule():
        rule = editor_of(visit).remove(rule_id_of(visit.form["rule"]))
    visit.refresh_store()
    message = f"“{rule.title}” is removed. {AT_ONCE} The history can bring it back."
    return visit.redirect(MERCHANDISING_PATH, message)


def undo_change(visit: Visit) -> Reply:
    """Undo the last change of a rule."""
    with _known_rule():
        rule = editor_of(visit).undo(rule_id_of(visit.form["change"]))
    visit.refresh_store()
    message = f"Undone: “{rule.title}”. {AT_ONCE}"
    return visit.redirect(f"{MERCHANDISING_PATH}#history", message)


@contextmanager
def _known_rule() -> Iterator[None]:
    """Convert the error of an unknown rule into `NotFoundError`."""
    try:
        yield
    except UnknownRuleError as error:
        text = str(error)
        raise NotFoundError(f"{text[:1].upper()}{text[1:]}.") from error


def _row(visit: Visit, rule: Rule) -> RuleRow:
    content, zone = rule.content, visit.store.settings.zone
    book = visit.opened.shop.book
    selected = None if book is None else book.selected.get(rule.rule_id)
    state, tone = _STATES[content.state(visit.now_ms, zone)]
    return RuleRow(
        rule=rule,
        action=ACTIONS[content.action.value][0],
        description=describe_rule(content),
        places=_places(rule),
        schedule=_schedule(visit, rule),
        state=state,
        tone=tone,
        selected=None if selected is None else len(selected),
    )


def _places(rule: Rule) -> str:
    places = rule.content.places
    only = ", ".join(PLACES[one.value] for one in places.only_in)
    without = ", ".join(PLACES[one.value] for one in places.not_in)
    named = f" in {', '.join(places.placements)}" if places.placements else ""
    if only and without:
        return f"{only}{named}, not {without}"
    if without:
        return f"All except {without}{named}"
    return f"{only or 'All lists'}{named}"


def _schedule(visit: Visit, rule: Rule) -> str:
    starts, ends = rule.content.starts, rule.content.ends
    parts = [
        f"from {_moment(visit, starts)}" if starts else "",
        f"until {_moment(visit, ends)}" if ends else "",
    ]
    return " ".join(part for part in parts if part) or "Always"


def _moment(visit: Visit, text: str) -> str:
    day, _, time = text.partition("T")
    return f"{visit.formats.day(day)} {time[:5]}".strip()


def _history(editor: RuleEditor) -> list[ChangeRow]:
    seen: set[int] = set()
    found = []
    for change in editor.history(_CHANGES):
        is_last = change.rule.rule_id not in seen
        seen.add(change.rule.rule_id)
        found.append(ChangeRow(change, describe_rule(change.rule.content), is_last))
    return found


PAGES: Final = (
    Page(MERCHANDISING_PATH, "Merchandising", show_rules, group=Group.CATALOG),
    Page(
        f"{MERCHANDISING_PATH}/switch",
        "Merchandising",
        None,
        switch_rule,
        action="Switched a rule on or off",
    ),
    Page(
        f"{MERCHANDISING_PATH}/remove",
        "Merchandising",
        None,
        remove_rule,
        action="Removed a rule",
    ),
    Page(
        f"{MERCHANDISING_PATH}/undo",
        "Merchandising",
        None,
        undo_change,
        action="Undid a change of a rule",
    ),
)
