"""What the tests of the dashboard can ask for: one API process and its clock."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import argon2
import pytest

from productrecs.application import create_application
from productrecs.core.clock import system_ms
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.tenancy.accounts.store import Store
from productrecs.tenancy.users import passwords
from tests.api.inside import Inside
from tests.support.dashboard import Member, add_store
from tests.support.feeds import HOST as FEED_HOST
from tests.support.filled_store import Filled, open_store
from tests.support.service import Service


@dataclass
class Office:
    """A service with its dashboard; `now_ms` is its time.

    The machine's clock is `ahead_ms` ahead of it, as beside a frozen `PRODUCTRECS_NOW`.
    """

    services: Services
    inside: Inside
    now_ms: int
    ahead_ms: int = 0

    def member(self, store: Store) -> Member:
        """Return the owner of a store, logged in."""
        member = Member(self.inside)
        reply = member.log_in(f"owner@{store.domain}")
        assert reply.status == 303, reply.body
        return member


@pytest.fixture(scope="module", autouse=True)
def quick_password_hashes() -> Iterator[None]:
    """Hash passwords with the least cost; what services pay is 30 ms for each login."""
    quick = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passwords, "_HASHER", quick)
        yield


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Give an API process whose clock the test sets."""
    place = Service(tmp_path_factory.mktemp("office")).prepare()
    services = build_services(
        Settings(data=place.folder, registration="open", feed_hosts=frozenset({FEED_HOST}))
    )
    found = Office(services, None, system_ms())  # type: ignore[arg-type]  # it follows
    found.services = replace(
        services,
        clock=lambda: found.now_ms,
        system_clock=lambda: found.now_ms + found.ahead_ms,
    )
    with Inside(create_application(found.services, draining=[])) as inside:
        found.inside = inside
        yield found


@pytest.fixture
def store(office: Office) -> Store:
    """Return the one store of a test; its domain is of the time."""
    office.now_ms += 3_600_000
    return add_store(office.services, f"shop-{office.now_ms}.example")


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store of twelve lamps."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"lamps-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    lamps = [
        {"id": f"lamp-{n}", "title": f"Lamp {n}", "price": 10 + n, "categories": ["Lamps"]}
        for n in range(12)
    ]
    assert made.merchant.push(*lamps).status == 200
    assert made.merchant.recommend(item_id="lamp-1").status == 200
    return made
