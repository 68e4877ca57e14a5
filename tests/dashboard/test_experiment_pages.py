"""Tests pages: from a draft to a chosen variant, with errors that keep what was typed."""

import pytest

from productrecs.features.experiments.experiment_measurement import (
    design_of_experiment,
    measure_and_store_test,
)
from productrecs.records.experiments.arm_assignment import Exposure, draw_arm
from productrecs.records.experiments.experiment_editor import ExperimentEditor
from productrecs.records.experiments.exposures.repository import store_exposures
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, text_of
from tests.support.filled_store import Filled, open_store

PAGE = "/dashboard/tests"
NEW = f"{PAGE}/new"
TEST = f"{PAGE}/test"
DRAFT = {
    "subject": "placement:cart",
    "test": "cart-size",
    "goal": "orders",
    "variant": "four",
    "share": "50",
    "num": "4",
    "fallback": "none",
}


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store with the placement `cart` of six lamps."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"tests-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    lamps = [{"id": f"lamp-{n}", "title": f"Lamp {n}"} for n in range(9)]
    assert made.merchant.push(*lamps).status == 200
    cart = {"placement": "cart", "strategy": "new", "num": "6", "fallback": "trending"}
    saved = office.member(made.store).post("/dashboard/placements/placement", **cart)
    assert saved.status == 303
    return made


def measure(office: Office, shop: Filled, names: list[str]) -> None:
    """Store who got what, and compute the result, as the background does."""
    database, store = office.services.database, shop.store
    (experiment,) = ExperimentEditor(database, store, shop.clock, "").all()
    exposures = [
        Exposure(
            store.store_id,
            name,
            experiment.split.name,
            draw_arm(store.store_id, experiment.split, name),
            name,
            office.now_ms,
        )
        for name in names
    ]
    with database.transaction() as transaction:
        store_exposures(transaction, exposures)
    measure_and_store_test(database, store, design_of_experiment(experiment), office.now_ms)


def test_a_test_is_made_started_and_its_winner_chosen(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    assert "No tests yet" in text_of(member.get(PAGE))
    assert "Placement cart" in text_of(member.get(NEW))
    form = member.get(f"{NEW}?subject=placement:cart&variants=2").body.decode()
    assert form.count('name="share" value="33"') == 2

    made = member.post(NEW, **DRAFT)

    assert (made.status, made.header("location")) == (303, f"{TEST}?test=cart-size")
    rule = member.get("/dashboard/merchandising/rule").body.decode()
    assert 'name="placement" value="cart:four"' in rule
    assert member.post(TEST, test="cart-size", then="start").status == 303
    names = [f"s_{n}" for n in range(20)]
    lists = [shop.merchant.recommend(placement="cart", user_id=name) for name in names]
    found = {(one.json["placement"]["variant"], len(one.ids)) for one in lists}
    assert found == {("control", 6), ("four", 4)}
    page = text_of(member.get(f"{TEST}?test=cart-size"))
    assert "Products: 4; Fill up with: Nothing" in page
    assert "Running" in page
    assert "against the control" not in page
    measure(office, shop, names)
    page = text_of(member.get(f"{TEST}?test=cart-size"))
    assert "four against the control" in page
    assert "Go on: there is too little data yet." in page
    removed = member.post("/dashboard/placements/remove", placement="cart")
    assert removed.status == 409
    assert "cart" in text_of(member.get("/dashboard/placements"))
    chosen = member.post(TEST, test="cart-size", then="choose", variant="four")
    assert chosen.status == 303
    page = " ".join(text_of(member.get(f"{TEST}?test=cart-size")).split())
    assert "You chose four" in page
    assert len(shop.merchant.recommend(placement="cart").ids) == 4
    assert member.post(TEST, test="cart-size", then="remove").header("location") == PAGE


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"test": "†"}, "lower-case letters"),
        ({"share": "half"}, "a number of per cent"),
        ({"share": "100"}, "from 1 to 99"),
        ({"num": "21"}, "four: num must be"),
        ({"num": "6", "fallback": ""}, "say what it changes"),
        ({"subject": "placement:page"}, "there is no placement"),
    ],
)
def test_an_error_keeps_what_was_typed(
    office: Office, shop: Filled, wrong: dict[str, str], said: str
) -> None:
    member = office.member(shop.store)

    reply = member.post(NEW, **(DRAFT | wrong))

    assert reply.status == 422
    assert said.casefold() in text_of(reply).casefold()
    if "subject" not in wrong:
        assert f'value="{wrong.get("share", "50")}"' in reply.body.decode()
    assert "No tests yet" in text_of(member.get(PAGE))


def test_a_viewer_and_another_store_change_nothing(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    member.post(NEW, **DRAFT)
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop.store, Role.VIEWER))

    assert "Start the test" not in text_of(viewer.get(f"{TEST}?test=cart-size"))
    assert viewer.send(TEST, {"test": "cart-size", "then": "start"}).status == 403
    assert member.post(TEST, test="cart-size", then="pause").status == 422
    assert member.get(f"{TEST}?test=nothing").status == 404


def test_a_draft_and_a_running_test_say_when_they_decide(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    form = " ".join(text_of(member.get(f"{NEW}?subject=placement:cart")).split())
    assert "With these shares: No visitors in the last 28 days." in form
    for n in range(60):
        seen: dict[str, object] = {"widget": "cart", "session_id": f"s_{n}"}
        events = [{**seen, "event": "rec-impression", "item_ids": ["lamp-1"]}]
        if n % 2:
            events.append({**seen, "event": "rec-click", "item_id": "lamp-1"})
        assert all(shop.merchant.track(event).status == 200 for event in events)
    member.post(NEW, **(DRAFT | {"goal": "clicks"}))

    draft = " ".join(text_of(member.get(f"{TEST}?test=cart-size")).split())
    member.post(TEST, test="cart-size", then="start")
    running = " ".join(text_of(member.get(f"{TEST}?test=cart-size")).split())

    assert "About 60 visitors a day saw this list in the last 28 days; 50.0 %" in draft
    # At 1,776 visitors the interval and the power are 4.214 standard errors.
    assert "one of 20 % after about 30 days." in draft
    assert "Day 1; with today's traffic (60 visitors a day) a difference of 20 %" in running
    assert "would be clear by about" in running
