"""Every page and form of the dashboard on PostgreSQL: its queries run there too."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from productrecs.application import create_application
from productrecs.core.clock import system_ms
from productrecs.dashboard.page_registry import PAGES
from productrecs.services import build_services
from productrecs.settings import Settings
from tests.api.inside import Inside
from tests.dashboard.conftest import Office
from tests.support.dashboard_calls import address_of, fields_of
from tests.support.filled_store import fill, open_store

INNER = [page for page in PAGES if not page.is_public]


@pytest.fixture
def there(migrated_url: str, tmp_path: Path) -> Iterator[Office]:
    """Give an API process on PostgreSQL."""
    services = build_services(Settings(data=tmp_path, database_url=migrated_url))
    services = replace(services, clock=system_ms)
    with Inside(create_application(services, draining=[])) as inside:
        yield Office(services, inside, system_ms())


@pytest.mark.postgres
def test_every_page_and_form_answers_on_postgresql(there: Office) -> None:
    services = there.services
    made = open_store(services.database, services.clock, there.inside, "zqpg.example")
    filled = fill(made, ["red lamp", "blue chair", "green table"])
    member = there.member(filled.store)

    shown = {
        page.path: member.get(address_of(page, filled)).status
        for page in INNER
        if page.show is not None
    }
    sent = {
        page.path: member.post(
            page.path, **(fields_of(page, filled) | {"page": "/dashboard/account"})
        ).status
        for page in INNER
        if page.change is not None and not page.path.startswith("/dashboard/security")
    }

    assert {path: one for path, one in shown.items() if one not in {200, 303}} == {}
    assert {path: one for path, one in sent.items() if one >= 500 or one == 403} == {}
    assert min(map(len, (shown, sent))) > 20
