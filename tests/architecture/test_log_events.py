"""Log events: every call uses an event of the table; each is logged and listed."""

import ast

import pytest

from productrecs.logs import LIBRARY_MESSAGE, LOG_EVENTS
from tests.support.project import ROOT, modules

LEVELS = frozenset(
    {"debug", "info", "warning", "error", "exception", "critical", "log", "fatal", "warn"}
)
LOGGING = rf"\.\s*({'|'.join(sorted(LEVELS))})\b"
"""What a module that logs has in it."""


def log_calls(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LEVELS
        and "log" in ast.unparse(node.func.value).lower()
    ]


def event_of(call: ast.Call) -> str | None:
    """Return the event that a call names alone, as text; None for anything else."""
    is_leveled = isinstance(call.func, ast.Attribute) and call.func.attr == "log"
    named = call.args[1:] if is_leveled else call.args
    if len(named) != 1 or not isinstance(named[0], ast.Constant):
        return None
    return str(named[0].value)


def nameless(path: str, tree: ast.Module) -> list[str]:
    return [
        f"{path}:{call.lineno}"
        for call in log_calls(tree)
        if event_of(call) not in LOG_EVENTS.keys() - {LIBRARY_MESSAGE}
    ]


def test_every_log_call_names_an_event_of_the_table() -> None:
    assert [
        place for path, tree in modules(having=LOGGING) for place in nameless(path, tree)
    ] == []


def test_every_event_of_the_table_is_logged() -> None:
    logged = {
        event_of(call) for _, tree in modules(having=LOGGING) for call in log_calls(tree)
    }

    assert LOG_EVENTS.keys() - logged == {LIBRARY_MESSAGE}


@pytest.mark.parametrize(
    "line",
    [
        '_log.info("it came to pass")',
        '_log.warning("job failed: %s", error)',
        '_log.error(f"{what} failed")',
        "_log.exception(message)",
        '_log.log(level, "it came to pass")',
        'logging.getLogger("x").error("it came to pass")',
    ],
)
def test_a_call_without_an_event_of_the_table_is_caught(line: str) -> None:
    assert nameless("a.py", ast.parse(line)) == ["a.py:1"]
    assert nameless("a.py", ast.parse('_log.log(level, "job failed", exc_info=True)')) == []


def test_the_operations_manual_lists_every_event_with_its_meaning() -> None:
    manual = (ROOT / "docs/operations.md").read_text("utf-8")

    assert [
        name
        for name, meaning in LOG_EVENTS.items()
        if f"| `{name}` | {meaning} |" not in manual
    ] == []
