"""Looks: uploaded, corrected, published, archived and removed, without a browser."""

import re

import pytest

from productrecs.features.looks.look import Hotspot, Look, LookContent, LookState
from productrecs.features.looks.look_editor import LookEditor
from productrecs.tenancy.users.dashboard_user import Role
from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, add_user, text_of
from tests.support.filled_store import Filled, open_store
from tests.support.pictures import drawn, encoded

PAGE = "/dashboard/looks"
EDIT = f"{PAGE}/edit"
SPOT = {
    "spot_item": "tent",
    "spot_label": "Tent",
    "spot_x": "10",
    "spot_y": "20.5",
    "spot_width": "30",
    "spot_height": "40",
}


@pytest.fixture
def shop(office: Office) -> Filled:
    """Return a store of two products."""
    office.now_ms += 3_600_000
    services = office.services
    domain = f"looks-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    goods = [{"id": "tent", "title": "Green tent"}, {"id": "mug", "title": "Tin mug"}]
    assert made.merchant.push(*goods).status == 200
    return made


def stored(office: Office, shop: Filled) -> list[Look]:
    services = office.services
    return LookEditor(services.database, shop.store, services.clock).all()


def draft_of(office: Office, shop: Filled) -> str:
    """Make a draft of a picture in the shop; return its id."""
    editor = LookEditor(office.services.database, shop.store, office.services.clock)
    content = LookContent("tent", "https://pictures.example/lake.jpg", "By the lake")
    return str(editor.add([content])[0].look_id)


def upload(member: Member, item: str = "tent", data: bytes | None = None) -> str:
    """Send a photo; return the id of its look."""
    photo = encoded(drawn("red", "disc")) if data is None else data
    reply = member.send_file(PAGE, photo, "a.jpg", page=PAGE, on=item, title="By the lake")
    assert reply.status == 303, text_of(reply)
    found = re.search(r"look=(\d+)&propose=1", reply.header("location") or "")
    assert found
    return found[1]


def test_a_photo_becomes_a_draft_and_is_shown(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    look = upload(member)

    (one,) = stored(office, shop)
    page = member.get(f"{EDIT}?look={look}&propose=1")
    address = f"/look-pictures/{shop.store.domain}/{one.content.picture_id}.jpg"

    assert one.state is LookState.DRAFT
    assert one.content.title == "By the lake"
    assert address in page.body.decode()
    assert office.inside.ask("GET", address, None, {}).status == 200
    assert "No product of your catalog was recognised" in text_of(page)
    assert "By the lake" in text_of(member.get(PAGE))


def test_a_published_look_says_which_newer_one_is_shown(
    office: Office, shop: Filled
) -> None:
    editor = LookEditor(office.services.database, shop.store, lambda: office.now_ms)
    picture = "https://pictures.example/lake.jpg"
    spot = Hotspot("A mug", (0.1, 0.1, 0.5, 0.5), "mug")
    contents = [LookContent("tent", picture, title, (spot,)) for title in ("Old", "New")]
    old, new = (one.look_id for one in editor.add(contents))
    for look_id in (new, old):
        editor.publish(look_id)
        office.now_ms += 1000
    member = office.member(shop.store)

    text = " ".join(text_of(member.get(PAGE)).split())
    assert text.count("Not shown:") == 1
    assert "Not shown: “Old” was published later on the same page" in text
    editor.unpublish(old)
    assert "Not shown:" not in text_of(member.get(PAGE))


@pytest.mark.parametrize(
    ("data", "item", "message"),
    [
        (b"no picture", "tent", "JPEG"),
        (b"", "tent", "Choose a photo"),
        (None, "unknown", "Choose the product on whose page"),
    ],
)
def test_an_error_in_an_upload_is_shown_and_nothing_is_lost(
    office: Office, shop: Filled, data: bytes | None, item: str, message: str
) -> None:
    photo = encoded(drawn("red", "disc")) if data is None else data

    reply = office.member(shop.store).send_file(
        PAGE, photo, "a.jpg", page=PAGE, on=item, title="Lake"
    )

    assert reply.status == 422
    assert message in text_of(reply)
    assert 'value="Lake"' in reply.body.decode()
    assert f'value="{item}"' in reply.body.decode()
    assert stored(office, shop) == []


def test_hotspots_are_saved_and_published_and_shoppers_see_them(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    look = draft_of(office, shop)
    address = shop.merchant.target("/v1/looks", item_id="tent")

    saved = member.post(
        EDIT, page=f"{EDIT}?look={look}", look=look, on="tent", then="save", **SPOT
    )
    draft = office.inside.ask("GET", address, None, {}).json
    published = member.post(
        EDIT, page=f"{EDIT}?look={look}", look=look, on="tent", then="publish", **SPOT
    )
    seen = office.inside.ask("GET", address, None, {}).json

    assert saved.status == published.status == 303
    assert draft != seen
    (one,) = stored(office, shop)
    assert one.state is LookState.PUBLISHED
    assert one.content.hotspots[0].box == pytest.approx((0.1, 0.205, 0.3, 0.4))
    assert "Tent" in str(seen)
    assert "Published. Your shop follows within a second." in text_of(
        member.get(f"{EDIT}?look={look}")
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("spot_item", "gone", "there is no product gone"),
        ("spot_item", "", "Choose a product of your catalog"),
        ("spot_x", "left", "needs four numbers"),
        ("spot_width", "0", "must be [x, y, width, height]"),
        ("spot_x", "nan", "needs four numbers"),
        ("on", "gone", "Choose the product on whose page"),
        ("spot_label", "x" * 81, "at most 80 characters"),
    ],
)
def test_an_error_is_shown_beside_its_hotspot_and_nothing_is_lost(
    office: Office, shop: Filled, field: str, value: str, message: str
) -> None:
    member = office.member(shop.store)
    look = draft_of(office, shop)
    fields = {"on": "tent", **SPOT} | {field: value, "title": "New title"}

    reply = member.post(EDIT, page=f"{EDIT}?look={look}", look=look, then="save", **fields)

    assert reply.status == 422
    assert message.lower() in text_of(reply).lower()
    assert 'value="New title"' in reply.body.decode()
    assert f'value="{value}"' in reply.body.decode()
    assert stored(office, shop)[0].content.hotspots == ()


def test_without_a_script_hotspots_are_added_and_removed_by_the_form(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    look = draft_of(office, shop)
    page = f"{EDIT}?look={look}"

    more = member.post(f"{EDIT}/add", page=page, look=look, on="tent", **SPOT)
    member.post(EDIT, page=page, look=look, on="tent", then="save", **SPOT)
    member.post(EDIT, page=page, look=look, on="mug", then="save", spot_remove="0", **SPOT)

    assert (
        more.body.decode().count("data-spot ") + more.body.decode().count("data-spot>") == 3
    )
    (one,) = stored(office, shop)
    assert (one.content.item_id, one.content.hotspots) == ("mug", ())


def test_a_look_that_would_show_no_product_is_published_only_after_a_question(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    gone = {"id": "oar", "title": "Oar", "price": 9, "availability": "discontinued"}
    assert shop.merchant.push(gone).status == 200
    look = draft_of(office, shop)
    fields = {"page": f"{EDIT}?look={look}", "look": look, "on": "tent"}
    fields |= {**SPOT, "spot_item": "oar"}

    reply = member.post(EDIT, then="publish", **fields)

    assert reply.status == 422
    assert "Shoppers would not see this look now" in text_of(reply)
    assert stored(office, shop)[0].state is LookState.DRAFT
    assert member.post(EDIT, then="save", **fields).status == 303  # a draft is not shown
    assert member.post(EDIT, then="publish", anyway="on", **fields).status == 303
    assert stored(office, shop)[0].state is LookState.PUBLISHED


def test_a_look_without_hotspots_is_not_published(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    look = draft_of(office, shop)

    reply = member.post(
        EDIT, page=f"{EDIT}?look={look}", look=look, on="tent", then="publish"
    )

    assert reply.status == 422
    assert "Add at least one hotspot" in text_of(reply)
    assert stored(office, shop)[0].state is LookState.DRAFT


def test_a_look_is_archived_made_a_draft_again_and_removed(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    look = draft_of(office, shop)
    page = f"{EDIT}?look={look}"

    def to(state: str) -> None:
        assert member.post(f"{PAGE}/state", page=page, look=look, to=state).status == 303

    to("archive")
    assert stored(office, shop)[0].state is LookState.ARCHIVED
    to("draft")
    assert stored(office, shop)[0].state is LookState.DRAFT
    to("remove")
    assert stored(office, shop) == []
    assert member.get(page).status == 404


def test_a_photo_is_replaced_and_the_look_before_can_be_seen_and_restored(
    office: Office, shop: Filled
) -> None:
    member = office.member(shop.store)
    look = upload(member)
    page = f"{EDIT}?look={look}"
    first = stored(office, shop)[0].content
    member.post(EDIT, page=page, look=look, on="tent", then="publish", **SPOT)
    other = encoded(drawn("blue", "square"))

    bad = member.send_file(f"{EDIT}/photo", b"no", "a.jpg", page=page, look=look)
    done = member.send_file(f"{EDIT}/photo", other, "b.jpg", page=page, look=look)

    assert (bad.status, done.status) == (422, 303)
    assert "JPEG" in text_of(bad)
    (one,) = stored(office, shop)
    assert one.content.picture_id != first.picture_id
    assert len(one.content.hotspots) == 1
    shown = member.get(page)
    numbers = re.findall(r'name="version" value="(\d+)"', shown.body.decode())
    assert len(numbers) == 2
    assert f"owner@{shop.store.domain}" in text_of(shown)
    seen = member.get(f"{EDIT}/preview?look={look}&version={numbers[-1]}").body.decode()
    assert first.picture_id in seen
    restored = member.post(f"{EDIT}/restore", page=page, look=look, version=numbers[-1])

    assert restored.status == 303
    (one,) = stored(office, shop)
    assert (one.content, one.state) == (first, LookState.PUBLISHED)
    assert member.post(f"{EDIT}/restore", page=page, look=look, version="999").status == 404
    address = f"/look-pictures/{shop.store.domain}/{first.picture_id}.jpg"
    assert office.inside.ask("GET", address, None, {}).status == 200


def test_a_draft_is_previewed_with_what_is_not_saved(office: Office, shop: Filled) -> None:
    member = office.member(shop.store)
    look = draft_of(office, shop)
    page = f"{EDIT}?look={look}"
    unfinished = {**SPOT, "spot_x": "left"}

    saved = member.get(f"{EDIT}/preview?look={look}").body.decode()
    draft, part = (
        member.post(
            f"{EDIT}/preview", page=page, look=look, on="tent", title="New", **fields
        )
        for fields in (SPOT, unfinished)
    )

    assert '"title": "By the lake"' in saved
    assert '"title": "New"' in draft.body.decode()
    assert "Green tent" in draft.body.decode()
    assert (part.status, '"hotspots": []' in part.body.decode()) == (200, True)
    assert stored(office, shop)[0].content.hotspots == ()


def test_a_viewer_sees_looks_and_no_way_to_change_them(
    office: Office, shop: Filled
) -> None:
    look = draft_of(office, shop)
    viewer = Member(office.inside)
    viewer.log_in(add_user(office.services, shop.store, Role.VIEWER))

    assert "New look" not in text_of(viewer.get(PAGE))
    page = viewer.get(f"{EDIT}?look={look}")
    assert page.status == 200
    assert "Save and publish" not in text_of(page)
    assert viewer.send(EDIT, {"look": look, "on": "tent", **SPOT}).status == 403


def test_a_look_of_another_store_is_not_there(office: Office, shop: Filled) -> None:
    look = draft_of(office, shop)
    office.now_ms += 1
    services, domain = office.services, f"else-{office.now_ms}.example"
    other = open_store(services.database, services.clock, office.inside, domain)

    member = office.member(other.store)

    assert member.get(f"{EDIT}?look={look}").status == 404
    page = member.post(f"{PAGE}/state", page=PAGE, look=look, to="remove")
    assert page.status == 404
    assert len(stored(office, shop)) == 1
