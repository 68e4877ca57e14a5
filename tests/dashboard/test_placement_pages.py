"""Placements: the form, its preview, its errors, and what each is served as."""

import pytest

from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, text_of
from tests.support.filled_store import Filled

PAGE = "/dashboard/placements"
FORM = f"{PAGE}/placement"
PREVIEW = f"{PAGE}/preview"
WHOLE = {
    "placement": "home-hero",
    "strategy": "new",
    "title": "More than {product}",
    "filters": "price:..15\ncategories:Lamps",
    "num": "3",
    "minimum": "2",
    "fallback": "trending",
}


def test_a_placement_is_made_changed_and_removed(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    assert "No placements yet" in text_of(member.get(PAGE))

    made = member.post(FORM, **WHOLE)

    assert (made.status, made.header("location")) == (303, PAGE)
    page = text_of(member.get(PAGE))
    assert "home-hero" in page
    assert '<product-recs placement="home-hero"></product-recs>' in page
    reply = shop.merchant.recommend(placement="home-hero", item_id="lamp-1")
    assert len(reply.ids) == 3
    assert reply.json["placement"]["title"] == "More than Lamp 1"
    changed = member.post(FORM, **(WHOLE | {"stored": "home-hero", "num": "2"}))
    assert changed.status == 303
    assert len(shop.merchant.recommend(placement="home-hero").ids) == 2
    form = member.get(f"{FORM}?placement=home-hero").body.decode()
    assert 'value="More than {product}"' in form
    assert "price:..15\ncategories:Lamps" in form
    assert member.post(f"{PAGE}/remove", placement="home-hero").status == 303
    assert shop.merchant.recommend(placement="home-hero").status == 404
    assert member.get(f"{FORM}?placement=home-hero").status == 404
    assert member.post(f"{PAGE}/remove", placement="home-hero").status == 404


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"placement": "†"}, "A placement's name has 1 to 64"),
        ({"num": "many"}, "Write a whole number."),
        ({"num": "99"}, "Products must be a whole number from 1 to 20."),
        ({"minimum": "9"}, "The minimum (9) is above the number of products (3)"),
        ({"filters": "colour"}, "A filter is categories:NAME"),
        ({"fallback": "new"}, "The fallback must be another strategy"),
    ],
)
def test_an_error_is_shown_at_its_field_and_in_the_preview(
    office: Office, shop: Filled, changes: dict[str, str], said: str
) -> None:
    member = office.member(shop.store)

    reply = member.post(FORM, **(WHOLE | changes))

    assert reply.status == 422
    assert said in text_of(reply)
    if "placement" not in changes:
        assert said in text_of(member.post(PREVIEW, **(WHOLE | changes)))


def test_a_name_in_words_becomes_one_that_pages_can_call(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)

    saved = member.post(FORM, **(WHOLE | {"placement": "Große Müsli-Seite, unten"}))

    assert saved.status == 303
    assert shop.merchant.recommend(placement="grosse-musli-seite-unten").status == 200
    member.post(f"{PAGE}/remove", placement="grosse-musli-seite-unten")


def test_a_placement_that_a_test_uses_stays_and_offers_no_undo(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    assert member.post(FORM, **(WHOLE | {"placement": "tested"})).status == 303
    test = {"subject": "placement:tested", "variant": "b", "share": "50", "num": "2"}
    assert member.post("/dashboard/tests/new", test="sizes", **test).status == 303
    started = member.post("/dashboard/tests/test", test="sizes", then="start")
    assert started.status == 303

    refused = member.post(f"{PAGE}/remove", placement="tested")

    assert refused.status == 409
    assert "stop it first" in text_of(refused)
    assert "Undo" not in text_of(member.get(PAGE))
    assert "Removed a placement" not in text_of(member.get("/dashboard/audit"))
    member.post("/dashboard/tests/test", test="sizes", then="stop")
    member.post("/dashboard/tests/test", test="sizes", then="remove")
    member.post(f"{PAGE}/remove", placement="tested")


def test_filters_that_match_nothing_are_saved_after_a_yes_only(
    office: Office, shop: Filled
) -> None:
    member, empty = office.member(shop.store), {"filters": "categories:Lamps\nbrand:Nobody"}

    reply = member.post(FORM, **(WHOLE | empty))

    assert reply.status == 422
    assert "No product in your catalog matches these filters" in text_of(reply)
    assert shop.merchant.recommend(placement="home-hero").status == 404
    assert member.post(FORM, **(WHOLE | empty), anyway="on").status == 303
    assert shop.merchant.recommend(placement="home-hero").ids == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "New: "),
        ({"on": "lamp-1"}, "More than Lamp 1"),
        ({"on": "nothing"}, "There is no product with this id."),
        ({"strategy": "recently_viewed", "fallback": ""}, "it has fewer than 2 products"),
        (
            {"strategy": "similar", "fallback": "", "minimum": "0"},
            "This list is empty here.",
        ),
    ],
)
def test_the_preview_shows_the_list_or_why_there_is_none(
    office: Office, shop: Filled, changes: dict[str, str], said: str
) -> None:
    reply = office.member(shop.store).post(PREVIEW, **(WHOLE | changes))

    assert reply.status == 200
    assert said in text_of(reply)


def test_a_rule_keeps_its_placements_when_it_is_changed(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    member.post(FORM, **WHOLE)
    rule = {"action": "exclude", "item": "lamp-1", "enabled": "on", "priority": "0"}

    member.post("/dashboard/merchandising/rule", **rule, placement="home-hero")

    page = text_of(member.get("/dashboard/merchandising"))
    assert "All lists in home-hero" in page
    assert "lamp-1" not in shop.merchant.recommend(placement="home-hero", num=20).ids
    assert "lamp-1" in shop.merchant.recommend(num=20).ids


def test_a_viewer_sees_placements_and_changes_none(office: Office, shop: Filled) -> None:
    office.member(shop.store).post(FORM, **WHOLE)
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop.store, Role.VIEWER))

    page = viewer.get(PAGE).body.decode()

    assert "home-hero" in page
    assert "New placement" not in page
    assert viewer.send(FORM, WHOLE).status == 403
