"""Merchandising: rules, their preview, their history, and undo, without a browser."""

import re

import pytest

from productrecs.records.merchandising.rule import Rule
from productrecs.records.merchandising.rule_editor import RuleEditor
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, flat_text, text_of
from tests.support.filled_store import Filled

PAGE = "/dashboard/merchandising"
RULE = f"{PAGE}/rule"


def stored(office: Office, shop: Filled) -> list[Rule]:
    services = office.services
    return RuleEditor(services.database, shop.store, services.clock, "test").all()


def served(shop: Filled) -> list[str]:
    return shop.merchant.recommend(item_id="lamp-1", num=8).ids


def test_a_saved_rule_is_in_force_at_once_and_says_so(office: Office, shop: Filled) -> None:
    member, first = office.member(shop.store), served(shop)[0]

    reply = member.post(RULE, action="exclude", item=first, enabled="on", priority="0")

    assert reply.status == 303
    assert reply.header("location") == PAGE
    page = text_of(member.get(PAGE))
    assert "is saved. Every list follows within a second." in page
    assert "In force" in page
    assert first not in served(shop)


def test_a_preview_shows_the_list_before_and_after_and_stores_nothing(
    office: Office, shop: Filled
) -> None:
    member, first = office.member(shop.store), served(shop)[0]

    reply = member.post(
        f"{PAGE}/preview", page=RULE, action="exclude", item=first, on="lamp-1"
    )
    before, after = reply.body.decode().split('aria-label="After"')
    title = f"Lamp {first[5:]}"

    assert f"{title} " in before
    assert "leaves" in before
    assert f"<div>{title} " not in after
    assert "new here" in after
    assert "The rule is about 1 product." in text_of(reply)
    assert stored(office, shop) == []
    assert served(shop)[0] == first


def test_a_preview_without_a_page_shows_one_that_the_rule_changes(
    office: Office, shop: Filled
) -> None:
    member, listed = (
        office.member(shop.store),
        shop.merchant.recommend(item_id="lamp-1").ids,
    )
    fields = {"action": "exclude", "on": ""}

    for item in listed:
        reply = member.post(f"{PAGE}/preview", page=RULE, item=item, **fields)
        assert "The page of Lamp" in text_of(reply)
        assert "leaves" in reply.body.decode(), item


def test_a_preview_counts_the_products_of_a_category_and_a_price(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    fields = {"action": "boost", "categories": "lamps", "price_min": "18", "on": "lamp-1"}

    reply = text_of(member.post(f"{PAGE}/preview", page=RULE, **fields))
    titled = {"action": "bury", "title_words": "Lamp", "on": "lamp-1"}
    by_title = text_of(member.post(f"{PAGE}/preview", page=RULE, **titled))

    assert "The rule is about 4 products." in reply
    assert "The rule is about 12 products." in by_title


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"action": "exclude"}, "in every list and in search, not only on this page"),
        ({"action": "exclude", "only_in": "product"}, ""),
        ({"action": "boost"}, ""),
        ({"action": "boost", "only_in": "trending"}, "does not apply to this list"),
        ({"action": "boost", "only_in": "trending", "source": "trending"}, ""),
    ],
)
def test_a_preview_says_where_else_a_rule_acts(
    office: Office, shop: Filled, fields: dict[str, str], sentence: str
) -> None:
    sent = {"item": "lamp-3", "on": "lamp-1", "source": "mix", "priority": "0", **fields}
    text = text_of(office.member(shop.store).post(f"{PAGE}/preview", page=PAGE, **sent))

    assert "The rule is about 1 product." in text
    sentences = ("not only on this page", "does not apply to this list")
    assert [part for part in sentences if part in text] == (
        [sentence.rpartition("search, ")[2]] if sentence else []
    )


def test_a_rule_that_will_begin_later_is_previewed_as_if_it_had_begun(
    office: Office, shop: Filled
) -> None:
    member, first = office.member(shop.store), served(shop)[0]
    fields = {"action": "exclude", "item": first, "starts": "2099-01-01", "on": "lamp-1"}

    reply = member.post(f"{PAGE}/preview", page=RULE, **fields)

    assert "leaves" in reply.body.decode()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("price_min", "cheap", "is not a clear number"),
        ("price_min", "1.234", "is not a clear number; write it as 1234 or 19.90"),
        ("price_max", "1", "is above the highest"),
        ("strength", "0.5", "must be a number above 1"),
        ("priority", "1e9", "is not a clear number"),
        ("ends", "2020-01-01", "before it starts"),
        ("starts", "soon", "write a date such as 2026-03-01"),
    ],
)
def test_an_error_is_shown_beside_its_field_and_nothing_is_lost(
    office: Office, shop: Filled, field: str, value: str, message: str
) -> None:
    fields = {
        "action": "boost",
        "item": "lamp-2",
        "price_min": "5",
        "starts": "2026-01-01",
        "name": "My rule",
    }

    reply = office.member(shop.store).post(RULE, **(fields | {field: value}))
    body = reply.body.decode()

    assert reply.status == 422
    assert message in text_of(reply)
    assert f'id="d-{field}"' in body
    assert f'value="{value}"' in body
    assert 'value="My rule"' in body
    assert ">lamp-2</textarea>" in body
    assert stored(office, shop) == []


def test_a_rule_without_products_is_refused(office: Office, shop: Filled) -> None:
    reply = office.member(shop.store).post(RULE, action="exclude")

    assert reply.status == 422
    assert "Choose products, categories" in text_of(reply)


def test_a_rule_is_changed_switched_removed_and_every_change_undone(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    member.post(RULE, action="bury", item="lamp-3", enabled="on", name="First")
    number = str(stored(office, shop)[0].rule_id)

    member.post(
        RULE, rule=number, action="bury", item="lamp-3", enabled="on", name="Second"
    )
    assert stored(office, shop)[0].content.name == "Second"
    member.post(f"{PAGE}/switch", page=PAGE, rule=number, to="off")
    assert not stored(office, shop)[0].content.enabled
    member.post(f"{PAGE}/remove", page=PAGE, rule=number)
    assert stored(office, shop) == []

    undo(member)
    assert not stored(office, shop)[0].content.enabled
    assert str(stored(office, shop)[0].rule_id) == number
    page = text_of(member.get(PAGE))
    assert f"Restored by owner@{shop.store.domain}" in page
    assert f"Added by owner@{shop.store.domain}" in page


def undo(member: Member) -> None:
    found = re.search(r'name="change" value="(\d+)"', member.get(PAGE).body.decode())
    assert found
    reply = member.post(f"{PAGE}/undo", page=PAGE, change=found[1])
    assert reply.status == 303


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "boost", "categories": "Boats"},
        {"action": "bury", "having": "brand: Nobody"},
        {"action": "exclude", "title_words": "kayak"},
        {"action": "pin", "item": "gone", "position": "1"},
        {"action": "boost", "item": "lamp-1", "price_min": "900"},
    ],
)
def test_a_rule_that_matches_nothing_is_saved_after_a_yes_only(
    office: Office, shop: Filled, fields: dict[str, str]
) -> None:
    member = office.member(shop.store)

    reply = member.post(RULE, **fields, enabled="on", ends="2020-05-01")

    assert reply.status == 422
    assert "No product in your catalog matches this rule" in text_of(reply)
    assert 'data-guard="changed"' in reply.body.decode()
    assert stored(office, shop) == []
    saved = member.post(RULE, **fields, enabled="on", ends="2020-05-01", anyway="on")
    assert saved.status == 303
    assert len(stored(office, shop)) == 1


@pytest.mark.parametrize(
    ("typed", "shown"), [("1234567.5", "1234567.5"), ("12.3450", "12.345")]
)
def test_a_price_of_a_rule_is_shown_with_all_its_digits_and_read_back(
    office: Office, shop: Filled, typed: str, shown: str
) -> None:
    member = office.member(shop.store)
    fields = {"action": "boost", "categories": "lamps", "enabled": "on"}
    member.post(RULE, **fields, price_max=typed)
    [rule] = stored(office, shop)

    form = member.get(f"{RULE}?rule={rule.rule_id}").body.decode()
    again = member.post(RULE, **fields, rule=str(rule.rule_id), price_max=typed)

    assert f'value="{typed}"' in form
    assert again.status == 303
    assert f"up to {shown}" in flat_text(member.get(PAGE))


def test_a_rule_that_hides_most_of_the_catalog_is_saved_after_a_yes_only(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    fields = {"action": "exclude", "title_words": "lamp", "enabled": "on"}

    reply = member.post(RULE, **fields)

    assert reply.status == 422
    assert re.search(r"This rule hides \d+ of your \d+ products\.", flat_text(reply))
    assert stored(office, shop) == []
    assert member.post(RULE, **fields, only_in="trending").status == 303
    assert member.post(RULE, **fields, anyway="on").status == 303
    *_, rule = stored(office, shop)
    named = {**fields, "rule": str(rule.rule_id), "name": "All"}
    assert member.post(RULE, **named).status == 303  # it hides no more than before
    off = {name: text for name, text in named.items() if name != "enabled"}
    assert member.post(RULE, **off).status == 303
    assert member.post(RULE, **named).status == 422


def test_a_rule_without_a_name_is_called_by_the_titles_of_its_products(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)

    saved = member.post(RULE, action="bury", item="lamp-2", enabled="on")

    page = text_of(member.get(PAGE))
    assert saved.status == 303
    assert "“bury Lamp 2” is saved" in page
    assert "bury lamp-2" not in page
    assert "bury Lamp 2" in text_of(member.get("/dashboard/find?q=bury"))


def test_several_products_of_a_rule_are_sent_one_a_line(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)

    member.post(RULE, action="bury", item="lamp-2\r\n lamp-5 \r\n\r\nlamp-2", enabled="on")

    (rule,) = stored(office, shop)
    assert rule.content.target.items == ("lamp-2", "lamp-5")
    form = member.get(f"{RULE}?rule={rule.rule_id}").body.decode()
    assert 'data-suggest="product"' in form
    assert ">lamp-2\nlamp-5</textarea>" in form


def test_a_stored_rule_is_shown_as_it_is(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    fields = {"action": "pin", "item": "lamp-4", "position": "3", "only_in": "cart"}
    member.post(RULE, **fields, enabled="on", ends="2030-05-01", priority="7")
    number = stored(office, shop)[0].rule_id

    body = member.get(f"{RULE}?rule={number}").body.decode()

    assert 'value="pin" checked' in body
    assert 'name="position" type="text" value="3"' in body
    assert 'name="only_in" value="cart" checked' in body
    assert 'type="date" value="2030-05-01"' in body
    assert 'name="priority" type="text" value="7"' in body


def test_a_viewer_sees_rules_and_no_way_to_change_them(
    office: Office, shop: Filled
) -> None:
    office.member(shop.store).post(RULE, action="bury", item="lamp-3", enabled="on")
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop.store, Role.VIEWER))

    page = viewer.get(PAGE).body.decode()

    assert "bury Lamp 3" in page
    assert "merchandising/switch" not in page
    assert "New rule" not in page
    assert viewer.send(RULE, {"action": "bury", "item": "lamp-4"}).status == 403
