"""How does a test call the store as a merchant's assistant?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from productrecs.core.ids import random_text
from productrecs.services import Services
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users.access_tokens.access_token import create_access_token
from productrecs.tenancy.users.access_tokens.repository import (
    AccessToken,
    AccessTokenRepository,
)
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.service import Reply, Requester


@dataclass
class Assistant:
    """A client with a token; `services` and `store` are those of a token made by `of`."""

    client: Requester
    token: str
    services: Services | None = None
    store: Store | None = None
    token_id: str = ""

    @classmethod
    def of(cls, office: Office, store: Store, role: Role, name: str = "") -> "Assistant":
        """Return an assistant with a new token of a store."""
        services = office.services
        token, text = create_access_token(
            services.database,
            store.store_id,
            name or random_text(8),
            role,
            "owner",
            services.system_clock(),
        )
        return cls(office.inside, text, services, store, token.token_id)

    def ask(
        self, method: str, headers: Mapping[str, str] | None = None, **params: object
    ) -> Reply:
        """Send a message, and return the reply as it is."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        sent = {"authorization": f"Bearer {self.token}", **(headers or {})}
        return self.client.ask("POST", "/dashboard/mcp", json.dumps(message).encode(), sent)

    def rpc(
        self, method: str, headers: Mapping[str, str] | None = None, **params: object
    ) -> Any:
        """Send a message, and return the reply's JSON."""
        reply = self.ask(method, headers, **params)
        assert reply.status == 200, reply.body
        return reply.json

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools that the token may use."""
        found: list[dict[str, Any]] = self.rpc("tools/list")["result"]["tools"]
        return found

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Return the structured result of a tool."""
        result = self.rpc("tools/call", name=tool, arguments=arguments)["result"]
        assert not result.get("isError"), result["content"][0]["text"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def change(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Make a change: its dry run, then the same call with the confirmation."""
        confirmation = self.call(tool, **arguments)["confirmation"]
        return self.call(tool, **arguments, confirmation=confirmation)

    def refusal(self, tool: str, **arguments: object) -> str:
        """Return why a tool refuses a call."""
        result = self.rpc("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"] is True, result
        text: str = result["content"][0]["text"]
        return text

    def stored(self) -> AccessToken:
        """Return the token as it is stored."""
        assert self.services is not None
        assert self.store is not None
        with self.services.database.reading() as connection:
            tokens = AccessTokenRepository(connection, self.store.store_id).all()
        return next(token for token in tokens if token.token_id == self.token_id)
