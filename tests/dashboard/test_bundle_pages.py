"""Bundles pages: proposals accepted, changed and rejected, errors, and two merchants."""

import re

import pytest

from productrecs.records.placements.bundle_editor import BundleEditor
from productrecs.tenancy.users.dashboard_user import Role
from productrecs.training.training_inputs import TrainingInputs
from productrecs.training.training_run import TrainingDeps, train_store
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, text_of
from tests.support.filled_store import Filled, open_store
from tests.support.service import Reply

PAGE = "/dashboard/bundles"
FORM = f"{PAGE}/bundle"
CAMP = [("part", "tent"), ("part", "mat"), ("proposed", "tent"), ("proposed", "mat")]


@pytest.fixture(scope="module")
def shop(office: Office) -> Filled:
    """Return a store that sold tents with mats, and lamps with mugs."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"bundles-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    items = [
        {"id": one, "title": one.title(), "price": 10 * n, "cost": 4 * n}
        for n, one in enumerate(("tent", "mat", "lamp", "mug", "boat"), 1)
    ]
    sold = [("tent", "mat")] * 12 + [("lamp", "mug")] * 10 + [("boat",)] * 60
    for number, items_of_order in enumerate(sold):
        assert made.merchant.order(f"o-{number}", *items_of_order).status == 200
    deps = TrainingDeps(services.database, services.models, services.clock)
    train_store(deps, made.store, TrainingInputs(), lambda _: None)
    assert made.merchant.push(*items).status == 200  # the process follows at once
    return made


def send(member: Member, path: str, *fields: tuple[str, str]) -> Reply:
    """Send a form whose names may be repeated, with its token."""
    token = re.search(r'name="csrf" value="(\w+)"', member.get(FORM).body.decode())
    assert token is not None
    return member.send(path, [("csrf", token[1]), *fields])


def editor_of(office: Office, shop: Filled) -> BundleEditor:
    return BundleEditor(office.services.database, shop.store, office.services.clock)


def test_a_proposal_is_accepted_edited_removed_and_rejected(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    page = " ".join(text_of(member.get(PAGE)).split())
    assert "Tent + Mat" in page
    assert "Your shop applies the discount." in page
    assert "Set up" in page
    assert "Sum" not in page  # a proposal has no discount
    form = text_of(member.get(f"{FORM}?part=tent&part=mat"))
    assert "Accept bundle" in form

    accepted = [("bundle_name", "Night"), ("discount", "percent"), ("value", "10"), *CAMP]
    reply = send(member, FORM, *accepted)

    assert (reply.status, reply.header("location")) == (303, PAGE)
    page = " ".join(text_of(member.get(PAGE)).split())
    assert "Night" in page
    assert "Shown" in page
    assert "Sum" in page
    assert "27.00" in page  # price
    assert "15.00" in page  # margin
    made = editor_of(office, shop).all()[0]
    assert made.content.items == ("tent", "mat")
    assert made.content.proposed == ()
    edit = [("bundle", str(made.bundle_id)), ("bundle_version", str(made.version))]
    edit += [("part", "tent"), ("part", "boat"), ("discount", "amount"), ("value", "2,5")]
    assert send(member, FORM, *edit).status == 303
    changed = editor_of(office, shop).find(made.bundle_id)
    assert (changed.content.items, changed.content.discount_amount) == (
        ("tent", "boat"),
        2.5,
    )
    shown = member.get(f"{FORM}?bundle={made.bundle_id}").body.decode()
    assert 'value="2.5"' in shown
    assert send(member, FORM, *edit).status == 409
    assert "was changed since you read it" in text_of(send(member, FORM, *edit))
    assert member.post(f"{PAGE}/remove", bundle=str(made.bundle_id)).status == 303
    assert member.post(f"{PAGE}/remove", bundle=str(made.bundle_id)).status == 404
    assert member.get(f"{FORM}?bundle={made.bundle_id}").status == 404
    assert send(member, f"{PAGE}/reject", *CAMP).status == 303
    page = " ".join(text_of(member.get(PAGE)).split())
    assert "Rejected sets: 1" in page
    assert "Lamp + Mug" in page or "Mug + Lamp" in page


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([], "A bundle has 2 to 4 products; this one has 1"),
        ([("part", "nothing")], "The catalog has no product 'nothing'"),
        ([("part", "mat"), ("discount", "percent"), ("value", "much")],
         "Write the discount as a number"),
        ([("part", "mat"), ("discount", "percent"), ("value", "100")],
         "above 0 and below 100 percent"),
        ([("part", "mug"), ("discount", "amount"), ("value", "50")],
         "is not below the sum"),
        ([("part", one) for one in ("mat", "mug", "lamp", "boat", "x")], "2 to 4 products"),
    ],
)  # fmt: skip
def test_an_error_is_shown_at_its_field(
    office: Office, shop: Filled, sent: list[tuple[str, str]], said: str
) -> None:
    before = editor_of(office, shop).all()

    reply = send(office.member(shop.store), FORM, ("part", "tent"), *sent)

    assert reply.status == 422
    assert said in text_of(reply)
    assert editor_of(office, shop).all() == before


def test_a_bundle_that_pages_would_not_show_is_saved_only_after_a_question(
    office: Office, shop: Filled
) -> None:
    sold_out = {"id": "canoe", "title": "Canoe", "price": 9, "availability": "out of stock"}
    assert shop.merchant.push(sold_out).status == 200
    member, before = office.member(shop.store), editor_of(office, shop).all()
    sent = [("part", "canoe\ntent"), ("bundle_name", "River")]  # as the page's field sends

    reply = send(member, FORM, *sent)

    assert reply.status == 422
    assert "would not show this bundle now: Canoe cannot be bought" in text_of(reply)
    assert 'data-guard="changed"' in reply.body.decode()
    assert editor_of(office, shop).all() == before
    assert send(member, FORM, *sent, ("anyway", "on")).status == 303
    (made,) = [one for one in editor_of(office, shop).all() if one not in before]
    assert made.content.items == ("canoe", "tent")
    editor_of(office, shop).remove(made.bundle_id)


def test_the_preview_shows_the_price_and_the_margin(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)

    def preview(*sent: tuple[str, str]) -> str:
        reply = send(member, f"{PAGE}/preview", ("part", "tent"), *sent)
        assert reply.status == 200
        return text_of(reply)

    found = preview(("part", "mat"), ("discount", "percent"), ("value", "10"))
    assert "30.00" in found
    assert "27.00" in found
    assert "(56\N{NO-BREAK SPACE}% of the price)" in found
    assert "sells below its cost" in preview(
        ("part", "mat"), ("discount", "amount"), ("value", "29")
    )
    assert "this one has 1" in preview()
    assert "would not show it now" in preview(("part", "none"))


def test_a_viewer_sees_bundles_and_changes_none(office: Office, shop: Filled) -> None:
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop.store, Role.VIEWER))

    page = viewer.get(PAGE).body.decode()

    assert "Tent" in page
    assert "New bundle" not in page
    assert f"{PAGE}/reject" not in page
    assert viewer.send(FORM, CAMP).status == 403
