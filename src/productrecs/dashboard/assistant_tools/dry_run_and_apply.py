"""Dry run of a tool, which is its form rolled back, and the confirmed change.

Both send the form to the handler of its page, so checks, limits and texts are the page's.
"""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from productrecs.dashboard.assistant_tools.confirmation import (
    VALID_MS,
    ProposedChange,
    outdated_confirmation_error,
)
from productrecs.dashboard.assistant_tools.tool import (
    ChangingTool,
    Result,
    ToolArguments,
    ToolError,
)
from productrecs.dashboard.audited_changes import run_audited_change
from productrecs.dashboard.cookies import FLASH, UNDO_MARK
from productrecs.dashboard.page import Handler, Page, Reply, SubmittedFields, Visit
from productrecs.dashboard.page_registry import BY_PATH
from productrecs.storage.sql.store_counters_and_versions import head_fields
from productrecs.tenancy.users.access_tokens.repository import AccessToken

_REDIRECT: Final = 303  # of a form that was accepted
_NEXT_STEP: Final = (
    "Nothing has changed. Tell the merchant what would change. When they agree, make the "
    "same call again with this confirmation within five minutes."
)


class _DryRunEndError(Exception):
    """The transaction of a dry run reached its end, and is rolled back."""


def dry_run_or_apply(
    visit: Visit,
    token: AccessToken,
    tool: ChangingTool,
    arguments: ToolArguments,
    confirmation: str | None,
) -> Result:
    """Return the dry run of a change; with its confirmation, make the change.

    Raises:
        ToolError: when the change is impossible, or the confirmation is not its own.
    """
    page = BY_PATH[tool.page]
    visit = replace(visit, page=page)
    if not visit.may_change or page.change is None:
        message = "this token may only read; an owner can make one that may change too"
        raise ToolError(message)
    with visit.database.reading() as connection:
        position = _read_change_count(connection, visit, tool)
    proposed = ProposedChange(tool.name, msgspec.json.encode(arguments), position)
    sending = replace(visit, form=SubmittedFields(tool.fields(visit, arguments)))
    if confirmation is not None:
        proposed.check_confirmation(token, confirmation, visit.system_ms)
        return _apply_if_unchanged(sending, page, page.change, tool, position)
    _dry_run(sending, page.change)
    return {
        "changed": False,
        "would_change": tool.preview(sending),
        "confirmation": proposed.sign_confirmation(token, visit.system_ms),
        "valid_seconds": VALID_MS // 1000,
        "next_step": _NEXT_STEP,
    }


def _dry_run(visit: Visit, change: Handler) -> None:
    """Let a handler make its change, and roll it back.

    Raises:
        ToolError: when the handler refuses it.
    """

    def stop(_transaction: object) -> None:
        raise _DryRunEndError

    database = visit.database.with_extra_write(stop)
    try:
        reply = change(replace(visit, services=replace(visit.services, database=database)))
    except _DryRunEndError:
        return
    raise ToolError(_problem_text_of(reply))


def _apply_if_unchanged(
    visit: Visit, page: Page, change: Handler, tool: ChangingTool, position: int
) -> Result:
    def check_unchanged(transaction: Any) -> None:
        if _read_change_count(transaction, visit, tool) != position + 1:
            raise outdated_confirmation_error()

    reply = run_audited_change(visit, page, change, check_unchanged)
    if reply.status != _REDIRECT:
        raise ToolError(_problem_text_of(reply))
    message, _, _ = (reply.cookies.get(FLASH) or "").partition(UNDO_MARK)
    return {"changed": True, "message": unquote(message)}


def _read_change_count(connection: Any, visit: Visit, tool: ChangingTool) -> int:
    """Return how often the settings that a tool changes were changed."""
    found = head_fields(connection, visit.store.store_id, tool.counter)
    return 0 if found is None else int(found[0])


def _problem_text_of(reply: Reply) -> str:
    """Return why a page shows its form again."""
    errors = reply.values.get("errors")
    if isinstance(errors, dict) and errors:
        return " ".join(f"{field}: {text}" for field, text in errors.items())
    if reply.values.get("matches_nothing"):
        return "No product of the catalog matches these conditions."
    if reply.values.get("hidden"):
        return "It hides most of the catalog. Add such a rule in the dashboard."
    return str(reply.values.get("error") or "This change is not possible.")
