"""Confirmation: what a dry run gives, and its change needs. It is bound to exactly that.

It names the token, the tool, its arguments, the time until which it is valid and how often
the store's rules were changed before. So it works once, and not after another change.
"""

import hmac
import re
from dataclasses import dataclass
from typing import Final

from productrecs.core.clock import MINUTE_MS
from productrecs.dashboard.assistant_tools.tool import ToolError
from productrecs.tenancy.users.access_tokens.repository import AccessToken

VALID_MS: Final = 5 * MINUTE_MS
_FORM: Final = re.compile(r"([0-9]{1,15})\.([0-9]{1,15})\.([0-9a-f]{64})")
_REMEDY: Final = "call again without `confirmation` for a new dry run"


class ConfirmationError(ToolError):
    """A confirmation is not that of this change, or no longer valid."""


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A change that a token proposes; `position` counts the changes before it."""

    tool: str
    arguments: bytes
    position: int

    def sign_confirmation(self, token: AccessToken, now_ms: int) -> str:
        """Return the confirmation of this change."""
        expires_ms = now_ms + VALID_MS
        return f"{expires_ms}.{self.position}.{self._signature(token, expires_ms)}"

    def check_confirmation(self, token: AccessToken, sent: str, now_ms: int) -> None:
        """Check the confirmation of this change.

        Raises:
            ConfirmationError: when it is of another change or token, expired, or older
                than another change of the same settings.
        """
        found = _FORM.fullmatch(sent)
        expires_ms, position = (int(found[1]), int(found[2])) if found else (0, 0)
        proposed = ProposedChange(self.tool, self.arguments, position)
        signature = proposed._signature(token, expires_ms)
        if found is None or not hmac.compare_digest(found[3], signature):
            message = f"this confirmation is not of this call and token; {_REMEDY}"
            raise ConfirmationError(message)
        if now_ms >= expires_ms:
            message = f"this confirmation has expired, after five minutes; {_REMEDY}"
            raise ConfirmationError(message)
        if position != self.position:
            raise outdated_confirmation_error()

    def _signature(self, token: AccessToken, expires_ms: int) -> str:
        text = f"{self.tool}\n{expires_ms}\n{self.position}\n".encode()
        key = token.confirmation_key.encode()
        return hmac.digest(key, text + self.arguments, "sha256").hex()


def outdated_confirmation_error() -> ConfirmationError:
    """Return the error of a confirmation that was used, or is older than a change."""
    message = f"this was confirmed already, or something else was changed since; {_REMEDY}"
    return ConfirmationError(message)
