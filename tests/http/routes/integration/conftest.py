"""Fixtures of the integration routes: one API process, over SQLite unless a test says more.

`test_isolation` calls every route over PostgreSQL too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from productrecs.application import create_application
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from tests.api.inside import Inside
from tests.support.service import Merchant, Reply, Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support import postgres


@dataclass(frozen=True)
class System:
    """A merchant's own system, and the pages of its shop."""

    merchant: Merchant
    inside: Inside
    services: Services

    def call(self, method: str, path: str, body: object = ..., **query: str) -> Reply:
        """Make an integration call with the secret key; `...` sends no body."""
        sent = None if body is ... else json.dumps(body).encode()
        target = path + "?" + "&".join(f"{name}={value}" for name, value in query.items())
        return self.inside.ask(method, "/integration/" + target, sent, self.merchant.server)

    def get(self, path: str, **query: str) -> Any:
        """Return what a call answers that must succeed."""
        reply = self.call("GET", path, **query)
        assert reply.status == 200, reply.body
        return reply.json

    def put(self, path: str, body: object, **query: str) -> Any:
        """Return what a change answers that must succeed."""
        reply = self.call("PUT", path, body, **query)
        assert reply.status == 200, reply.body
        return reply.json

    def post(self, path: str, body: object = ..., **query: str) -> Any:
        """Return what a call answers that must succeed."""
        reply = self.call("POST", path, body, **query)
        assert reply.status in {200, 202}, reply.body
        return reply.json

    def widget(self, **query: str) -> Any:
        """Return the settings that a page's widget gets."""
        reply = self.inside.ask("GET", self.merchant.target("/v1/widget-config", **query))
        assert reply.status == 200, reply.body
        return reply.json


@dataclass(frozen=True)
class Process:
    """One API process over a database of its own."""

    service: Service
    services: Services
    inside: Inside

    def register(self, **settings: str) -> System:
        """Return a new store's system."""
        merchant = self.service.register(**settings).through(self.inside)
        return System(merchant, self.inside, self.services)


@pytest.fixture(scope="package")
def process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    """Give a started API process without a worker."""
    folder = tmp_path_factory.mktemp("integration")
    databases: postgres.MigratedDatabases | None = None
    url = None
    if getattr(request, "param", "sqlite") == "postgres":
        databases = request.getfixturevalue("migrated_databases")
        url = databases.take()
    service = Service(folder, url).prepare()
    services = build_services(Settings(data=folder, database_url=url))
    with Inside(create_application(services, draining=False)) as inside:
        yield Process(service, services, inside)
    if databases is not None and url is not None:
        databases.give_back(url)


@pytest.fixture
def system(process: Process) -> System:
    """Return a fresh store's system."""
    return process.register()


@pytest.fixture
def other(process: Process) -> System:
    """Return another fresh store's system."""
    return process.register()
