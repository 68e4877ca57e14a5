"""Admission: the fast path and the dispatcher reach the same verdict on every request.

Each request is asked both ways, of one process that limits rates and sheds load on demand.
"""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest

from productrecs.http.dispatch import dispatcher, list_fast_path
from productrecs.http.dispatch.admission import Admission, AdmissionRequest, admit
from productrecs.http.dispatch.dispatcher import Dispatcher
from productrecs.http.limits.load_shedding import (
    MIN_SERVED,
    SERVE_SECONDS,
    LoadShedder,
    OverloadedError,
)
from productrecs.http.limits.rate_limits import TooManyRequestsError
from productrecs.http.pipeline.authentication import (
    MissingKeyError,
    SecretKeyInUrlError,
    UnknownKeyError,
)
from productrecs.http.pipeline.route_context import ProcessContext
from productrecs.services import Services, build_services
from productrecs.settings import Settings
from productrecs.storage.sql.migrations.schema_upgrade import migrate
from productrecs.tenancy.accounts.key_misuse.repository import MisuseKind
from productrecs.tenancy.accounts.store_management import (
    Registration,
    change_origins,
    register_store,
)
from productrecs.tenancy.billing.plans_and_subscriptions import TRIAL, Plan
from tests.api.inside import Inside, of_our_own
from tests.support.service import Reply

SPENT: Final = Plan("spent", monthly_calls=0, catalog_items=10)
NUMBERS: Final = itertools.count(1)
OWN, FOREIGN = "https://shop.example", "https://other.example"
TRIES: Final = 30  # ten or twenty may come at once


@dataclass(frozen=True)
class Case:
    """A request that is not simply answered, and what is decided about it."""

    name: str
    verdict: object
    key: str | None = "the publishable key"
    headers: dict[str, str] = field(default_factory=dict)
    over: str = ""  # the rate limit that is used up
    plan: Plan = TRIAL
    is_overloaded: bool = False


CASES: Final = (
    Case("no key", MissingKeyError, key=None),
    Case("an unknown key", UnknownKeyError, key="pk_of_nobody"),
    Case("a secret key in the URL", SecretKeyInUrlError, key="sk_of_nobody"),
    Case("an unknown secret key", UnknownKeyError, None, {"x-api-key": "sk_of_nobody"}),
    Case("a foreign page", MisuseKind.FOREIGN_ORIGIN, headers={"origin": FOREIGN}),
    Case("an address over its rate", TooManyRequestsError, over="address"),
    Case("a key over its rate", TooManyRequestsError, over="key"),
    Case("overload", OverloadedError, is_overloaded=True),
    Case("a used-up plan", "cut off", plan=SPENT),
    # The first check that fails refuses.
    Case(
        "the address before the key", TooManyRequestsError, "pk_of_nobody", over="address"
    ),
    Case("the key before overload", UnknownKeyError, "pk_no", is_overloaded=True),
    Case("the rate before overload", TooManyRequestsError, over="key", is_overloaded=True),
    Case("overload before the plan", OverloadedError, plan=SPENT, is_overloaded=True),
)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    """Return services that limit a key to two calls a second, and an address to one."""
    folder = tmp_path_factory.mktemp("admission")
    plans = {plan.name: plan for plan in (TRIAL, SPENT)}
    return build_services(
        Settings(data=folder, rate_per_key=2, rate_per_address=1, plans=plans)
    )


@pytest.fixture(scope="module")
def application(services: Services) -> Iterator[tuple[Dispatcher, Inside]]:
    """Run a process of them."""
    migrate(services.database)
    gate = of_our_own(services)
    with Inside(gate) as inside:
        yield gate, inside


@pytest.fixture
def admissions(monkeypatch: pytest.MonkeyPatch) -> list[Admission]:
    """Return the decisions of the test, in their order."""
    made: list[Admission] = []

    def recorded(
        context: ProcessContext, pressure: LoadShedder, arrival: AdmissionRequest
    ) -> Admission:
        made.append(admit(context, pressure, arrival))
        return made[-1]

    for module in (dispatcher, list_fast_path):
        monkeypatch.setattr(module, "admit", recorded)
    return made


@pytest.fixture(autouse=True)
def frozen(application: tuple[Dispatcher, Inside], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of the rate limits: a limit that is used up stays so."""
    rates = getattr(application[0], "_context").rates  # noqa: B009 - of the process alone
    now = time.monotonic()
    for name in ("_of_key", "_of_address"):
        monkeypatch.setattr(getattr(rates, name), "_seconds", lambda: now)


@contextmanager
def overload(gate: Dispatcher, store_id: str) -> Iterator[None]:
    """Let the process shed the requests of a store."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gate.load_shedder, "record_probe", lambda *_: None)
        patched.setattr(gate.load_shedder, "is_overloaded", True)
        time.sleep(SERVE_SECONDS)  # the turn grows old, and is the last
        for _ in range(MIN_SERVED):
            gate.load_shedder.count_and_decide_rejection(store_id)
        yield


def verdict(admission: Admission) -> tuple[object, ...]:
    """Return all of a decision that does not change from call to call."""
    if admission.refusal is not None:
        decided: object = type(admission.refusal)
    else:
        decided = "cut off" if admission.is_cut_off else admission.misuse
    names = [name for name, _ in admission.limit_headers]
    return decided, str(admission.refusal), admission.cors_headers, names


def somebody() -> dict[str, str]:
    """Return the headers of a call that a proxy passes on for a new public address."""
    return {"x-forwarded-for": f"9.9.9.{next(NUMBERS)}"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_ways_decide_alike(
    application: tuple[Dispatcher, Inside],
    services: Services,
    admissions: list[Admission],
    case: Case,
) -> None:
    gate, inside = application
    wanted = Registration(f"admission-{next(NUMBERS)}.example", plan=case.plan)
    store, _ = register_store(services.database, wanted, services.clock)
    change_origins(services.database, store, add=[OWN])
    # It may have read the store between the two; else it would look again a moment later.
    getattr(gate, "_context").accounts.refresh()  # noqa: B009 - of the process alone
    target = f"/v1/recommendations?key={store.publishable_key}"
    tested = "/v1/recommendations"
    if case.key is not None:
        tested = f"{tested}?key={case.key if '_' in case.key else store.publishable_key}"
    headers = {**somebody(), **case.headers}
    inside.ask("GET", target, headers=somebody())  # opens the meter
    used_up = ({"address": headers}.get(case.over) or somebody() for _ in range(TRIES))
    replies = (inside.ask("GET", target, headers=one) for one in used_up)
    if case.over:
        assert any(reply.status == 429 for reply in replies)
    admissions.clear()

    def both() -> tuple[Reply | None, Reply]:
        return inside.fast_reply(tested, headers), inside.ask(
            "GET", tested, headers=headers
        )

    if case.is_overloaded:
        with overload(gate, store.store_id):
            fast, full = both()
    else:
        fast, full = both()

    assert verdict(admissions[0]) == verdict(admissions[-1])
    assert len(admissions) >= 2  # an unknown key twice if the accounts changed just now
    assert verdict(admissions[0])[0] == case.verdict
    if case.verdict is OverloadedError:  # the fast path refuses nothing else
        assert fast is not None
        assert fast.status == full.status == 503
    else:
        assert fast is None


def test_a_quota_warning_is_the_same_both_ways(
    application: tuple[Dispatcher, Inside], services: Services
) -> None:
    _, inside = application
    wanted = Registration(f"admission-{next(NUMBERS)}.example", plan=TRIAL)
    store, _ = register_store(services.database, wanted, services.clock)
    target = f"/v1/recommendations?key={store.publishable_key}"
    assert inside.ask("GET", target, headers=somebody()).status == 200
    context = getattr(inside.application, "_context")  # noqa: B009 - of the process alone
    meter = context.metering.meters.get(store.store_id)
    for _ in range(8_000):  # 80 % of the trial's calls
        meter.count_call()

    full = inside.ask("GET", target, headers=somebody())
    fast = inside.fast_reply(target, somebody())

    assert fast is not None
    names = ["x-billing-status", "x-quota-limit"]
    assert [fast.header(name) for name in names] == ["warn", "10000"]
    assert [full.header(name) for name in names] == ["warn", "10000"]
    assert int(fast.header("x-quota-used") or 0) > int(full.header("x-quota-used") or 0)
    assert [name for name, _ in fast.headers] == [name for name, _ in full.headers]
