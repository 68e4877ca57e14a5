"""Change descriptions: the audit log says what changed, from what to what."""

import html
import re

import pytest

from tests.dashboard.conftest import Office
from tests.support.dashboard import Member, text_of
from tests.support.filled_store import open_store

RULE = "/dashboard/merchandising/rule"
PLACEMENT = "/dashboard/placements/placement"
SEARCH = "/dashboard/search/improve"
SHOP = {
    "currency": "EUR",
    "language": "en",
    "timezone": "UTC",
    "price_format": "",
    "week_start": "monday",
    "contact_email": "",
}
BOOST = {"action": "boost", "item": "lamp", "name": "Lamps first", "enabled": "on"}
HERO = {"placement": "hero", "strategy": "new", "minimum": "1"}


@pytest.fixture
def member(office: Office) -> Member:
    office.now_ms += 3_600_000
    services = office.services
    domain = f"audit-{office.now_ms}.example"
    made = open_store(services.database, services.clock, office.inside, domain)
    items = [
        {"id": one, "title": f"The {one}", "price": 10, "categories": ["Light"]}
        for one in ("lamp", "candle", "torch")
    ]
    assert made.merchant.push(*items).status == 200
    return office.member(made.store)


def last_detail(member: Member) -> str:
    body = member.get("/dashboard/audit").body.decode()
    found = re.search(r'<td class="detail">(.*?)(?:<form|</td>)', body, re.DOTALL)
    assert found
    return html.unescape(found[1]).strip()


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        (
            RULE,
            BOOST,
            "“Lamps first”: Action: Boost; Name: Lamps first; Products: The lamp",
        ),
        (
            RULE,
            BOOST
            | {
                "rule": "1",
                "item": "candle",
                "title_words": "candle",
                "priority": "5",
                "starts": "2030-05-01",
            },
            (
                "“Lamps first”: Products: The lamp → The candle; Priority: 0 → 5; "
                "Words in the title: nothing → candle; First day: nothing → 1 May 2030"
            ),
        ),
        ("/dashboard/merchandising/switch", {"rule": "1", "to": "off"}, "State: on → off"),
        ("/dashboard/merchandising/remove", {"rule": "1"}, "Products: The lamp"),
        (PLACEMENT, HERO, "“hero”: Show: New products"),
        (
            PLACEMENT,
            HERO | {"stored": "hero", "strategy": "mix", "filters": "categories:Light"},
            (
                "“hero”: Show: New products → Mix of everything: the usual choice; "
                "Only these products: nothing → Category: Light"
            ),
        ),
        (
            "/dashboard/settings",
            {**SHOP, "currency": "CHF", "week_start": "sunday"},
            "Currency: EUR → CHF; First day of the week: monday → sunday",
        ),
        (
            SEARCH,
            {"action": "pin", "q": "light", "pin": "torch"},
            "Search: light; Products that come first: The torch",
        ),
    ],
)
def test_a_change_is_described_with_old_and_new_values_and_titles(
    member: Member, path: str, fields: dict[str, str], said: str
) -> None:
    member.post("/dashboard/settings", **SHOP)
    member.post(RULE, **BOOST)
    if "stored" in fields:
        member.post(PLACEMENT, **HERO)

    reply = member.post(path, page="/dashboard", **fields)

    assert reply.status == 303, text_of(reply)
    assert said in last_detail(member)


def test_what_was_refused_is_not_in_the_log(member: Member) -> None:
    member.post(RULE, **BOOST)
    before = last_detail(member)

    assert member.post(RULE, **(BOOST | {"priority": "high"})).status == 422

    assert last_detail(member) == before


def test_a_withdrawn_invitation_is_named_by_its_address(member: Member) -> None:
    member.post("/dashboard/team/invite", email="zoe@shop.example", role="viewer")
    team = member.get("/dashboard/team").body.decode()
    invitation = re.search(r'name="invitation" value="(\w+)"', team)
    assert invitation

    member.post("/dashboard/team/withdraw", page="/dashboard", invitation=invitation[1])

    assert "zoe@shop.example: Invited as:" in last_detail(member)
    assert invitation[1] not in last_detail(member)


def test_a_removed_calendar_entry_is_named_by_its_name_and_days(member: Member) -> None:
    page = "/dashboard/demand/calendar"
    sale = {"kind": "campaign", "name": "Spring sale", "entry_category": ""}
    days = {"first_day": "2030-05-01", "last_day": "2030-05-03", "expected_change": ""}
    added = member.post(f"{page}/add", page=page, **sale, **days)
    assert added.status == 303, text_of(added)

    member.post(f"{page}/remove", page=page, number="1")

    assert last_detail(member) == "“Spring sale”: Days: 1 May 2030 to 3 May 2030"
